#include <rocklock/error.hpp>

#include "base/assert.hpp"

namespace rocklock {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::malformed:
            return "malformed";
        case ErrorCode::conflict:
            return "conflict";
        case ErrorCode::patience_expired:
            return "patience_expired";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::deadlock:
            return "deadlock";
        case ErrorCode::already_held:
            return "already_held";
        case ErrorCode::session_expired:
            return "session_expired";
        case ErrorCode::session_not_found:
            return "session_not_found";
        case ErrorCode::grant_ended:
            return "grant_ended";
        case ErrorCode::not_owner:
            return "not_owner";
        case ErrorCode::steal_refused:
            return "steal_refused";
        case ErrorCode::queue_full:
            return "queue_full";
        case ErrorCode::limit_exceeded:
            return "limit_exceeded";
        case ErrorCode::kind_mismatch:
            return "kind_mismatch";
        case ErrorCode::parameter_mismatch:
            return "parameter_mismatch";
        case ErrorCode::precondition_failed:
            return "precondition_failed";
        case ErrorCode::condition_failed:
            return "condition_failed";
        case ErrorCode::resource_not_found:
            return "resource_not_found";
        case ErrorCode::resource_in_use:
            return "resource_in_use";
        case ErrorCode::transaction_cancelled:
            return "transaction_cancelled";
        case ErrorCode::transaction_in_progress:
            return "transaction_in_progress";
        case ErrorCode::transaction_conflict:
            return "transaction_conflict";
        case ErrorCode::throttled:
            return "throttled";
        case ErrorCode::access_denied:
            return "access_denied";
        case ErrorCode::closing:
            return "closing";
        case ErrorCode::indeterminate:
            return "indeterminate";
        case ErrorCode::unreachable:
            return "unreachable";
        case ErrorCode::io_error:
            return "io_error";
        case ErrorCode::no_space:
            return "no_space";
        case ErrorCode::store_in_use:
            return "store_in_use";
        case ErrorCode::not_a_store:
            return "not_a_store";
        case ErrorCode::read_only:
            return "read_only";
        case ErrorCode::newer_format:
            return "newer_format";
        case ErrorCode::corrupt:
            return "corrupt";
    }
    ROCKLOCK_ASSERT(false && "an error code");
}

}  // namespace rocklock
