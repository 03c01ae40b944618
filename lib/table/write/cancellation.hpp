// The names of the reasons for which a transaction is cancelled, as in DynamoDB.
#pragma once

#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::table {

// Returns the name of the reason in CancellationReasons. The name is "None" for an action that did
// not cause the cancellation.
inline std::string_view reason_name(const CancellationReason& reason) {
    if (!reason.code) return "None";
    switch (*reason.code) {
        case ErrorCode::condition_failed:
            return "ConditionalCheckFailed";
        case ErrorCode::transaction_conflict:
            return "TransactionConflict";
        case ErrorCode::lock_required:
            return "LockRequired";
        case ErrorCode::stale_token:
            return "StaleToken";
        case ErrorCode::locked:
            return "Locked";
        case ErrorCode::throttled:
            return "ProvisionedThroughputExceeded";
        default:
            return "ValidationError";
    }
}

}  // namespace rocklock::table
