// What clients of tables saw: who asked for what, from when to when, and what they were answered.
//
// Every write leaves its operation's number in the item, and an update keeps those that it found
// there: an item is the trail of the operations that made it, since it was last put. So whoever
// sees an item knows which write it is of, and which came right before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rocklock::proof {

// Of an item, the numbers of the operations that made it, the latest last; empty: no item.
using Trail = std::vector<std::uint64_t>;

enum class Effect : std::uint8_t { none, put, update, remove };

// What must hold of an item; `equals` names its latest operation.
struct Demand {
    enum class Kind : std::uint8_t { none, absent, present, equals };
    Kind kind = Kind::none;
    std::uint64_t number = 0;

    bool holds(std::uint64_t latest) const;
    bool operator==(const Demand&) const = default;
};

// What an operation had to do with one item. It does so with all of its items at one moment.
struct Touch {
    std::uint32_t key = 0;
    Effect effect = Effect::none;
    // As the item was before; nothing where nobody was told.
    std::optional<Trail> seen{};
    Demand demand{};
    // Whether the demand held, as the answer says.
    bool met = true;
};

struct TableOperation {
    // Not 0, and its own: what its writes leave.
    std::uint64_t number = 0;
    // Of one clock; equal times overlap.
    std::int64_t called = 0;
    std::int64_t returned = 0;
    // No answer: it took effect between the two times, or never.
    bool open = false;
    std::vector<Touch> touches;
    // Was refused, with the token of that one: that one has not happened before.
    std::uint64_t attempt_of = 0;
};

using TableHistory = std::vector<TableOperation>;

// For messages: one line.
std::string describe(const TableOperation& operation);

}  // namespace rocklock::proof
