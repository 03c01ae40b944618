#include "wire/error_names.hpp"

#include <array>
#include <utility>

namespace rocklock {
namespace {

constexpr std::array<std::pair<ErrorCode, std::string_view>, 40> error_words = {{
    {ErrorCode::invalid_argument, "ValidationException"},
    {ErrorCode::malformed, "SerializationException"},
    {ErrorCode::conflict, "LockConflictException"},
    {ErrorCode::patience_expired, "PatienceExpiredException"},
    {ErrorCode::cancelled, "CancelledException"},
    {ErrorCode::deadlock, "DeadlockException"},
    {ErrorCode::already_held, "AlreadyHeldException"},
    {ErrorCode::session_expired, "SessionExpiredException"},
    {ErrorCode::session_not_found, "SessionNotFoundException"},
    {ErrorCode::grant_ended, "GrantEndedException"},
    {ErrorCode::not_owner, "NotOwnerException"},
    {ErrorCode::steal_refused, "StealRefusedException"},
    {ErrorCode::queue_full, "QueueFullException"},
    {ErrorCode::class_draining, "ClassDrainingException"},
    {ErrorCode::limit_exceeded, "LimitExceededException"},
    {ErrorCode::kind_mismatch, "KindMismatchException"},
    {ErrorCode::parameter_mismatch, "IdempotentParameterMismatchException"},
    {ErrorCode::precondition_failed, "PreconditionFailedException"},
    {ErrorCode::lock_required, "LockRequiredException"},
    {ErrorCode::stale_token, "StaleTokenException"},
    {ErrorCode::locked, "LockedException"},
    {ErrorCode::condition_failed, "ConditionalCheckFailedException"},
    {ErrorCode::resource_not_found, "ResourceNotFoundException"},
    {ErrorCode::resource_in_use, "ResourceInUseException"},
    {ErrorCode::transaction_cancelled, "TransactionCanceledException"},
    {ErrorCode::transaction_in_progress, "TransactionInProgressException"},
    {ErrorCode::transaction_conflict, "TransactionConflictException"},
    {ErrorCode::throttled, "ProvisionedThroughputExceededException"},
    {ErrorCode::access_denied, "AccessDeniedException"},
    {ErrorCode::closing, "ManagerClosingException"},
    {ErrorCode::indeterminate, "IndeterminateException"},
    {ErrorCode::unreachable, "UnreachableException"},
    {ErrorCode::io_error, "StorageException"},
    {ErrorCode::no_space, "StorageException"},
    {ErrorCode::store_in_use, "StorageException"},
    {ErrorCode::not_the_manager, "NotTheManagerException"},
    {ErrorCode::not_a_store, "StorageException"},
    {ErrorCode::read_only, "StorageException"},
    {ErrorCode::newer_format, "StorageException"},
    {ErrorCode::corrupt, "StorageException"},
}};

}  // namespace

std::string_view error_name(ErrorCode code) {
    for (const auto& [known, name] : error_words) {
        if (known == code) return name;
    }
    return "InternalException";
}

std::optional<ErrorCode> error_code(std::string_view name, std::string_view cause) {
    std::optional<ErrorCode> found;
    for (const auto& [code, known] : error_words) {
        if (known != name) continue;
        if (!found || to_string(code) == cause) found = code;
    }
    return found;
}

std::optional<ErrorCode> error_code(std::string_view word) {
    for (const auto& [code, name] : error_words) {
        if (to_string(code) == word) return code;
    }
    return std::nullopt;
}

int http_status(ErrorCode code) {
    const auto name = error_name(code);
    if (code == ErrorCode::closing || code == ErrorCode::unreachable ||
        code == ErrorCode::not_the_manager) {
        return 503;
    }
    if (name == "StorageException" || code == ErrorCode::indeterminate) return 500;
    return 400;
}

}  // namespace rocklock
