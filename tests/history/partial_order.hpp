// What comes before what: a graph of reasons, and the order that follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rocklock::proof {

// Reasons why one thing is before another.
class Reasons {
public:
    explicit Reasons(std::size_t count) : next_(count) {}

    std::size_t count() const { return next_.size(); }
    std::size_t add_thing() {
        next_.emplace_back();
        return next_.size() - 1;
    }
    void add(std::size_t before, std::size_t after) { next_[before].push_back(after); }
    const std::vector<std::size_t>& after(std::size_t thing) const { return next_[thing]; }

    // Things in an order that has every reason's first before its second; nothing when they go in a
    // circle.
    std::optional<std::vector<std::size_t>> in_order() const;
    // A shortest circle through one of the first `count` things.
    std::vector<std::size_t> circle(std::size_t count) const;

private:
    std::vector<std::size_t> path_back_to(std::size_t thing, std::size_t longest) const;

    std::vector<std::vector<std::size_t>> next_;
};

// A strict partial order, with all that follows: of two things one is before the other, or neither.
class PartialOrder {
public:
    // Of the first `count` of the things. `in_order` is that of the reasons.
    PartialOrder(const Reasons& reasons, const std::vector<std::size_t>& in_order,
                 std::size_t count);

    bool is_before(std::size_t one, std::size_t other) const {
        return ((rows_[one * words_ + other / 64] >> (other % 64)) & 1U) != 0;
    }
    // Only where the other is not before the one.
    void add(std::size_t one, std::size_t other);
    // All things, in one of the orders that it allows.
    std::vector<std::size_t> in_order() const;

private:
    std::size_t count_;
    std::size_t words_;
    // A row of bits for each thing: those that it is before.
    std::vector<std::uint64_t> rows_;
};

}  // namespace rocklock::proof
