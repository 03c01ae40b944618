// Records the answer that a caller received in an operation of a history.
#pragma once

#include <cstdint>
#include <variant>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "support/linearizability.hpp"

namespace rocklock::proof {

// Returns the time on the boot clock, in nanoseconds.
std::int64_t moment();

// Returns the result of an operation that failed with `error`. Throws std::runtime_error for a code
// with which no operation of a history can fail.
Operation::Result result_of(const Error& error);

// Sets the time of the return and the result of the operation. The answer is a variant that can
// contain a Grant or a Released.
template <typename... Answers>
void enter(Operation& operation, const Result<std::variant<Answers...>>& answer) {
    operation.returned = moment();
    if (!answer) {
        operation.result = result_of(answer.error());
        // A deadlock is detected before the request is queued.
        if (answer.error().code == ErrorCode::deadlock) operation.waits = false;
        return;
    }
    operation.result = Operation::Result::done;
    if (const auto* grant = std::get_if<Grant>(&*answer)) {
        operation.grant = number(grant->id);
        operation.token = number(grant->token);
    }
    const auto* released = std::get_if<Released>(&*answer);
    if (released != nullptr && released->outcome != Outcome::released) {
        operation.result = Operation::Result::not_held;
    }
}

}  // namespace rocklock::proof
