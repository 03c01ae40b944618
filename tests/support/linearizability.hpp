// Checks the history of several threads that used a lock manager. The history is correct
// (linearizable) if a run with one thread can give the same results. In this run, each operation
// must take effect at one time between its call and its return in the history.
//
// The search is the algorithm of Wing and Gong in Lowe's "just in time" form. It visits calls and
// returns in order of time, and keeps every state that can result from the calls so far. At a
// return, it tries all orders of pending operations that contain the returning operation. Equal
// states are kept once. Each resource is checked separately. A history is linearizable if the
// histories of all its resources are linearizable.
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
        // Ends a session with all its grants.
        close,
        // A grant expires, without a call by a client. The operation counts as called at the
        // deadline. It returns when the expiry is reported.
        expire,
        // Writes data, and presents a grant and its token. Succeeds if the session holds the grant
        // with this token.
        write,
    };
    enum class Result : std::uint8_t {
        // The operation succeeded.
        done,
        // The request was refused, either immediately, after waiting, or because of a deadlock.
        // Another session must have blocked it.
        refused,
        // The wait was cancelled, or its session ended.
        withdrawn,
        // The session already held the resource.
        already_held,
        // The session did not hold the grant.
        not_held,
        // There was no reply. The operation took effect at some time after the call, or not at all.
        // If `returned` is not 0, it can take effect only before that time.
        open,
    };

    Verb verb = Verb::acquire;
    Result result = Result::open;
    // Whether the request waits if it is not granted immediately.
    bool waits = false;
    // The requested mode, or the mode after a conversion.
    Mode mode = Mode::write;
    std::uint32_t resource = 0;
    std::uint32_t session = 0;
    // The result of a successful acquire, and an argument of the other operations.
    std::uint64_t grant = 0;
    // For a successful acquire or conversion, the token in its answer. For a write, the token that
    // it presents.
    std::uint64_t token = 0;
    // The times of the call and of the return, measured with one clock. Operations with equal times
    // overlap.
    std::int64_t called = 0;
    std::int64_t returned = 0;
};

struct SearchCounts {
    std::size_t operations = 0;
    // The largest number of possible states at one time, and the sum of these numbers over all
    // times.
    std::size_t max_states = 0;
    std::size_t states = 0;
};

// Returns a description of the contradiction in the history, or nullopt if there is no
// contradiction. A refusal is correct only if another session had a conflicting grant at that time,
// or if there was a conflicting wait that was itself blocked.
std::optional<std::string> find_contradiction(std::span<const Operation> history,
                                              SearchCounts* counts = nullptr);

// Returns a description of one of these errors, or nullopt if there is none: a token was given
// twice; or of two grants of a resource that do not overlap, the later grant has the smaller token.
// Does not need a search.
std::optional<std::string> find_token_disorder(std::span<const Operation> history);

// Returns a one-line description for messages.
std::string describe(const Operation& operation);

}  // namespace rocklock::proof
