#include <rocklock/error.hpp>

#include "base/assert.hpp"

namespace rocklock {

#define ROCKLOCK_NAMED(code) \
    case ErrorCode::code:    \
        return #code;

std::string_view to_string(ErrorCode code) {
    switch (code) {
        ROCKLOCK_NAMED(invalid_argument)
        ROCKLOCK_NAMED(malformed)
        ROCKLOCK_NAMED(conflict)
        ROCKLOCK_NAMED(patience_expired)
        ROCKLOCK_NAMED(cancelled)
        ROCKLOCK_NAMED(deadlock)
        ROCKLOCK_NAMED(already_held)
        ROCKLOCK_NAMED(session_expired)
        ROCKLOCK_NAMED(session_not_found)
        ROCKLOCK_NAMED(grant_ended)
        ROCKLOCK_NAMED(not_owner)
        ROCKLOCK_NAMED(steal_refused)
        ROCKLOCK_NAMED(queue_full)
        ROCKLOCK_NAMED(class_draining)
        ROCKLOCK_NAMED(limit_exceeded)
        ROCKLOCK_NAMED(kind_mismatch)
        ROCKLOCK_NAMED(parameter_mismatch)
        ROCKLOCK_NAMED(precondition_failed)
        ROCKLOCK_NAMED(lock_required)
        ROCKLOCK_NAMED(stale_token)
        ROCKLOCK_NAMED(locked)
        ROCKLOCK_NAMED(condition_failed)
        ROCKLOCK_NAMED(resource_not_found)
        ROCKLOCK_NAMED(resource_in_use)
        ROCKLOCK_NAMED(transaction_cancelled)
        ROCKLOCK_NAMED(transaction_in_progress)
        ROCKLOCK_NAMED(transaction_conflict)
        ROCKLOCK_NAMED(throttled)
        ROCKLOCK_NAMED(access_denied)
        ROCKLOCK_NAMED(closing)
        ROCKLOCK_NAMED(indeterminate)
        ROCKLOCK_NAMED(unreachable)
        ROCKLOCK_NAMED(io_error)
        ROCKLOCK_NAMED(no_space)
        ROCKLOCK_NAMED(store_in_use)
        ROCKLOCK_NAMED(not_the_manager)
        ROCKLOCK_NAMED(not_a_store)
        ROCKLOCK_NAMED(read_only)
        ROCKLOCK_NAMED(newer_format)
        ROCKLOCK_NAMED(corrupt)
    }
    ROCKLOCK_ASSERT(false && "an error code");
}

#undef ROCKLOCK_NAMED

}  // namespace rocklock
