// Large batches of the engine; see stage.hpp.
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutant.hpp"
#include "storage/etcd/engine.hpp"

namespace rocklock::etcd {
namespace {

// The maximum time of a request for one part.
constexpr std::chrono::milliseconds read_timeout{10'000};

}  // namespace

// Stores the parts, which commits the batch, and applies it.
Result<void> EtcdEngine::write_in_parts(std::span<const Operation> operations) {
    auto parts = encode_parts(operations);
    auto next = next_record();
    next.batch = next.number;
    next.parts = static_cast<std::uint32_t>(parts.size());
    for (std::uint32_t i = 0; i < next.parts; ++i) {
        const bool last = i + 1 == next.parts;
        next.number = last_.number + 1;
        next.kind = last ? CommitRecord::Kind::staged : CommitRecord::Kind::staging;
        std::vector<Operation> part;
        part.emplace_back(Put{layout_.part(next.batch, i), std::move(parts[i])});
        if (auto done = commit(std::move(part), next); !done) return done;
    }
    return apply_parts(operations, 0);
}

// Applies the writes of the committed batch, except for the first `applied`.
Result<void> EtcdEngine::apply_parts(std::span<const Operation> operations, std::size_t applied) {
    auto next = last_;
    next.epoch = leadership_.epoch();
    while (true) {
        const auto count = count_fitting(operations.subspan(applied));
        const auto slice = operations.subspan(applied, count);
        std::vector<Operation> writes(slice.begin(), slice.end());
        applied += count;
        next.number = last_.number + 1;
        next.kind = CommitRecord::Kind::applying;
        next.applied = static_cast<std::uint32_t>(applied);
        const bool last = applied == operations.size();
        if (last) {
            const auto parts = layout_.parts(next.batch);
            writes.emplace_back(DeleteRange{parts, end_of_prefix(parts)});
            next = next_record();
        }
        auto done = commit(std::move(writes), next);
        if (!done || last) return done;
    }
}

// Continues where an earlier manager has ended.
Result<void> EtcdEngine::resume_parts() {
    const auto range = layout_.parts(last_.batch);
    const bool committed =
        last_.kind != CommitRecord::Kind::staging || mutated(Mutant::part_counts_as_batch);
    if (!committed) {
        return commit({DeleteRange{range, end_of_prefix(range)}}, next_record());
    }
    const auto parts = read_parts(last_.batch);
    if (!parts) return parts.error();
    const auto operations = decode_parts(*parts);
    if (!operations || operations->size() < last_.applied) {
        return Error(ErrorCode::corrupt, "the parts of a large batch below " + layout_.prefix() +
                                             "stage/ in etcd are damaged");
    }
    if (auto done = apply_parts(*operations, last_.applied); !done) return done;
    // The copy may show only some writes of the batch. It gets all of them in one step.
    std::vector<Write> writes;
    for (const Operation& operation : *operations) {
        const auto* const put = std::get_if<Put>(&operation);
        auto key = layout_.parse(put != nullptr ? put->key : std::get<DeleteRange>(operation).key);
        if (!key) continue;
        writes.push_back({key->first, std::move(key->second),
                          put != nullptr ? std::optional(put->value) : std::nullopt});
    }
    return copy_.write(std::move(writes), last_revision_, last_value_);
}

// Returns the concatenation of all parts. Each is read separately, because together they can exceed
// the size of a response.
Result<std::string> EtcdEngine::read_parts(std::uint64_t batch) const {
    std::string all;
    for (std::uint32_t i = 0; i < last_.parts; ++i) {
        Range range;
        range.key = layout_.part(batch, i);
        auto part = client_.range(range, read_timeout);
        if (!part) return std::move(part).error();
        if (const auto* const kv = part->first()) all += kv->value;
    }
    return all;
}

}  // namespace rocklock::etcd
