#include "history/partial_order.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>

namespace rocklock::proof {

std::optional<std::vector<std::size_t>> Reasons::in_order() const {
    std::vector<std::size_t> reasons_left(count());
    for (const auto& afters : next_) {
        for (const std::size_t after : afters) ++reasons_left[after];
    }
    std::vector<std::size_t> order;
    for (std::size_t thing = 0; thing < count(); ++thing) {
        if (reasons_left[thing] == 0) order.push_back(thing);
    }
    // A topological sort: when the last predecessor of a node is done, the node is appended and
    // then visited in turn.
    std::size_t done = 0;
    while (done < order.size()) {
        for (const std::size_t after : next_[order[done++]]) {
            if (--reasons_left[after] == 0) order.push_back(after);
        }
    }
    if (order.size() < count()) return std::nullopt;
    return order;
}

std::vector<std::size_t> Reasons::circle(std::size_t count) const {
    std::vector<std::size_t> shortest;
    std::size_t longest = next_.size();
    for (std::size_t thing = 0; thing < count && longest > 2; ++thing) {
        auto found = path_back_to(thing, longest);
        if (found.empty()) continue;
        longest = found.size() - 1;
        shortest = std::move(found);
    }
    return shortest;
}

std::vector<std::size_t> Reasons::path_back_to(std::size_t thing, std::size_t longest) const {
    const std::size_t nobody = next_.size();
    std::vector<std::size_t> from(next_.size(), nobody);
    std::vector<std::size_t> steps(next_.size());
    std::deque<std::size_t> queue{thing};
    while (!queue.empty()) {
        const std::size_t here = queue.front();
        queue.pop_front();
        if (steps[here] + 1 > longest) break;
        for (const std::size_t after : next_[here]) {
            if (after == thing) {
                std::vector<std::size_t> path;
                for (std::size_t at = here; at != thing; at = from[at]) path.push_back(at);
                path.push_back(thing);
                std::reverse(path.begin(), path.end());
                return path;
            }
            if (from[after] != nobody) continue;
            from[after] = here;
            steps[after] = steps[here] + 1;
            queue.push_back(after);
        }
    }
    return {};
}

PartialOrder::PartialOrder(const Reasons& reasons, const std::vector<std::size_t>& in_order,
                           std::size_t count)
    : count_(count), words_((count + 63) / 64), rows_(reasons.count() * words_) {
    for (auto at = in_order.rbegin(); at != in_order.rend(); ++at) {
        std::uint64_t* const row = rows_.data() + *at * words_;
        for (const std::size_t after : reasons.after(*at)) {
            const std::uint64_t* const other = rows_.data() + after * words_;
            for (std::size_t word = 0; word < words_; ++word) row[word] |= other[word];
            if (after < count) row[after / 64] |= std::uint64_t{1} << (after % 64);
        }
    }
    rows_.resize(count_ * words_);
}

void PartialOrder::add(std::size_t one, std::size_t other) {
    const std::uint64_t* const row = rows_.data() + other * words_;
    for (std::size_t thing = 0; thing < count_; ++thing) {
        if (thing != one && !is_before(thing, one)) continue;
        if (is_before(thing, other)) continue;
        std::uint64_t* const before = rows_.data() + thing * words_;
        for (std::size_t word = 0; word < words_; ++word) before[word] |= row[word];
        before[other / 64] |= std::uint64_t{1} << (other % 64);
    }
}

std::vector<std::size_t> PartialOrder::in_order() const {
    // If A precedes B, it also precedes everything that B precedes. Sorting by the number of
    // successors therefore gives an allowed order.
    std::vector<std::size_t> before(count_);
    for (std::size_t thing = 0; thing < count_; ++thing) {
        for (std::size_t word = 0; word < words_; ++word) {
            before[thing] += static_cast<std::size_t>(std::popcount(rows_[thing * words_ + word]));
        }
    }
    std::vector<std::size_t> order(count_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return before[one] != before[other] ? before[one] > before[other] : one < other;
    });
    return order;
}

}  // namespace rocklock::proof
