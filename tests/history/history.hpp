// The record of table clients: the operations, their start and end times, and their results.
//
// Every write adds the number of its operation to the item, and an update keeps the numbers that
// are already there. An item is thus the trail of the operations since it was last put. An
// operation that reads an item therefore knows which write created this version, and which write
// preceded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rocklock::proof {

// The numbers of the operations that made an item, the latest last. Empty: there is no item.
using Trail = std::vector<std::uint64_t>;

enum class Effect : std::uint8_t { none, put, update, remove };

// A condition on an item; with `equals`, `number` is the latest operation of the item.
struct Demand {
    enum class Kind : std::uint8_t { none, absent, present, equals };
    Kind kind = Kind::none;
    std::uint64_t number = 0;

    bool holds(std::uint64_t latest) const;
    bool operator==(const Demand&) const = default;
};

// The effect of an operation on one item. An operation touches all of its items at the same time.
struct Touch {
    std::uint32_t key = 0;
    Effect effect = Effect::none;
    // The item before the operation; none if the response did not contain it.
    std::optional<Trail> seen{};
    Demand demand{};
    // Whether the condition held, according to the response.
    bool met = true;
};

struct TableOperation {
    // Unique and not 0. Writes add this number to the item.
    std::uint64_t number = 0;
    // Times of the same clock. Operations with equal times overlap.
    std::int64_t called = 0;
    std::int64_t returned = 0;
    // There was no response: the operation took effect between the two times, or never.
    bool open = false;
    std::vector<Touch> touches;
    // The operation was refused with the idempotency token of that operation, which therefore had
    // not taken effect before.
    std::uint64_t attempt_of = 0;
};

using TableHistory = std::vector<TableOperation>;

// Returns one line for messages.
std::string describe(const TableOperation& operation);

}  // namespace rocklock::proof
