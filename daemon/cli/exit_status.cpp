#include "daemon/cli/exit_status.hpp"

namespace rocklock::exit_status {

int of(const Error& error) {
    switch (error.code) {
        case ErrorCode::invalid_argument:
        case ErrorCode::malformed:
        case ErrorCode::kind_mismatch:
        case ErrorCode::parameter_mismatch:
        // The request exceeds a limit, so a retry does not help.
        case ErrorCode::limit_exceeded:
        // The caller named the wrong directory.
        case ErrorCode::not_a_store:
        case ErrorCode::resource_not_found:
            return usage;
        case ErrorCode::conflict:
        case ErrorCode::patience_expired:
        case ErrorCode::cancelled:
        case ErrorCode::deadlock:
        case ErrorCode::already_held:
        case ErrorCode::queue_full:
        case ErrorCode::class_draining:
        case ErrorCode::store_in_use:
        case ErrorCode::resource_in_use:
        case ErrorCode::transaction_in_progress:
        case ErrorCode::transaction_conflict:
        case ErrorCode::throttled:
        case ErrorCode::locked:
            return busy;
        case ErrorCode::session_expired:
        case ErrorCode::session_not_found:
        case ErrorCode::grant_ended:
        case ErrorCode::stale_token:
        case ErrorCode::precondition_failed:
        case ErrorCode::condition_failed:
        case ErrorCode::transaction_cancelled:
            return lost;
        case ErrorCode::not_owner:
        case ErrorCode::lock_required:
        case ErrorCode::steal_refused:
        case ErrorCode::access_denied:
        case ErrorCode::read_only:
            return not_allowed;
        case ErrorCode::closing:
        case ErrorCode::indeterminate:
        case ErrorCode::unreachable:
        case ErrorCode::not_the_manager:
            return unreachable;
        case ErrorCode::io_error:
        case ErrorCode::no_space:
        case ErrorCode::newer_format:
        case ErrorCode::corrupt:
            return internal;
    }
    return internal;
}

}  // namespace rocklock::exit_status
