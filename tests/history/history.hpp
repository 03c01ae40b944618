// The record of table clients: the operations, their start and end times, and their results.
//
// Every write adds the number of its operation to the item, and an update keeps the numbers that
// the item already has. Therefore, an item contains the numbers (the trail) of all operations that
// have written it since it was last put. An operation that reads an item knows which write created
// this version of the item, and which write preceded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rocklock::proof {

// The numbers of the operations that have written an item, with the latest at the end. Empty if the
// item does not exist.
using Trail = std::vector<std::uint64_t>;

enum class Effect : std::uint8_t { none, put, update, remove };

// A condition on an item. With `equals`, the latest operation of the item must have the number
// `number`.
struct Demand {
    enum class Kind : std::uint8_t { none, absent, present, equals };
    Kind kind = Kind::none;
    std::uint64_t number = 0;

    bool holds(std::uint64_t latest) const;
    bool operator==(const Demand&) const = default;
};

// The effect of an operation on one item. An operation affects all of its items at the same time.
struct Touch {
    std::uint32_t key = 0;
    Effect effect = Effect::none;
    // The item before the operation, or nullopt if the response did not contain it.
    std::optional<Trail> seen{};
    Demand demand{};
    // Whether the condition held, according to the response.
    bool met = true;
};

struct TableOperation {
    // Unique and not 0. Writes add this number to the item.
    std::uint64_t number = 0;
    // The times are those of one clock. Operations with equal times overlap.
    std::int64_t called = 0;
    std::int64_t returned = 0;
    // True if there was no response. In this case, the operation took effect between the two times,
    // or not at all.
    bool open = false;
    std::vector<Touch> touches;
    // If not 0, this operation was an attempt with the idempotency token of the operation
    // `attempt_of`, and was refused. Therefore, the operation `attempt_of` had not taken effect
    // before.
    std::uint64_t attempt_of = 0;
};

using TableHistory = std::vector<TableOperation>;

// Returns a one-line description for messages.
std::string describe(const TableOperation& operation);

}  // namespace rocklock::proof
