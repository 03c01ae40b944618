// Whether what threads saw of a lock manager can be told as one story: each operation at one moment
// between its call and its return, in an order that a single thread could have lived.
//
// The search is that of Wing and Gong in Lowe's form, "just in time": walk through calls and
// returns in order of time, keep every state that the calls so far can have led to, and at a return
// order the pending ones in all ways that put this one among them. Equal states are kept once. Each
// resource is judged alone; a history is linearizable if those of its resources are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock::proof {

struct Operation {
    enum class Verb : std::uint8_t {
        acquire,
        convert,
        release,
        // Of a session, with all it holds.
        close,
        // Of a grant, by nobody's call: it expired. Called at its deadline, returned when told.
        expire,
    };
    enum class Result : std::uint8_t {
        // It did what it says.
        done,
        // Not granted, at once or after waiting, or for a deadlock: somebody must have been in the
        // way.
        refused,
        // The wait was taken back, or its session ended.
        withdrawn,
        // The session held the resource already.
        already_held,
        // The session did not hold that grant.
        not_held,
        // No reply: it took effect at some time after the call, or never.
        open,
    };

    Verb verb = Verb::acquire;
    Result result = Result::open;
    // Whether it queues when it can't be granted.
    bool waits = false;
    // Wanted, or what it is to be after a conversion.
    Mode mode = Mode::write;
    std::uint32_t resource = 0;
    std::uint32_t session = 0;
    // Given by an acquire that was done; named by the others.
    std::uint64_t grant = 0;
    // In the answer to an acquire or a conversion that was done.
    std::uint64_t token = 0;
    // Of one clock; equal times overlap.
    std::int64_t called = 0;
    std::int64_t returned = 0;
};

struct HistoryFigures {
    std::size_t operations = 0;
    // Possible states at one moment, at most, and all together.
    std::size_t max_states = 0;
    std::size_t states = 0;
};

// What is wrong with the history, or nothing. A refusal needs a reason at its moment: another
// session's hold in conflict, or its wait, that was itself held up.
std::optional<std::string> find_contradiction(std::span<const Operation> history,
                                              HistoryFigures* figures = nullptr);

// Without any search: no token is given twice, and of two grants of a resource that do not overlap
// the later has the higher one.
std::optional<std::string> find_token_disorder(std::span<const Operation> history);

// For messages: one line.
std::string describe(const Operation& operation);

}  // namespace rocklock::proof
