// Errors: the codes and the facts of each refusal.
//
// An Error consists of a code for programs, a message for people that says what to do, and the
// facts of the decision as members. The facts come from the same decision as the refusal: a
// conflict names the holders that conflicted at that moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/export.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

enum class ErrorCode : std::uint8_t {
    // The request is invalid; the message says what is allowed.
    invalid_argument,
    // The request cannot be parsed: it is not JSON, a member has the wrong JSON type, or a value is
    // not base64.
    malformed,
    // The request would have to wait, and its wait timeout (`patience`) is zero. Facts: blockers,
    // waiters, retry_after.
    conflict,
    // The wait timeout (`patience`) ended before the lock was granted. The request has left the
    // queue. Facts: blockers.
    patience_expired,
    // The caller cancelled the wait.
    cancelled,
    // The wait would have completed a cycle of waiting sessions. Facts: cycle.
    deadlock,
    // The session already holds the resource, and the request has `Held::refuse`. Facts: grant.
    already_held,
    // The session's lease has expired, or the session was closed. Facts: ended.
    session_expired,
    // The session does not exist, or it ended so long ago that its record was removed.
    session_not_found,
    // The named grant has ended. Facts: ended.
    grant_ended,
    // The secret is wrong, or the grant belongs to another session. Nothing was changed.
    not_owner,
    // The class of the resource does not allow the steal, or not yet. Facts: policy, retry_after,
    // blockers.
    steal_refused,
    // The queue has too many waiters. Facts: limit.
    queue_full,
    // The request exceeds a limit of the manager or of its user. Facts: limit.
    limit_exceeded,
    // The request is for a mode and the resource is counted in permits, or the other way round; or
    // a class would change one into the other while the resource is in use.
    kind_mismatch,
    // The request id was used before with other parameters.
    parameter_mismatch,
    // A condition of the request does not hold: the resource was granted again since the lock was
    // lost (Reacquire), or a precondition of a batch failed.
    precondition_failed,
    // The table is bound to locks, and the request presents no sufficient lock: no grant, a grant
    // that does not cover the item or has mode `read`, or a grant of another session. Facts:
    // blockers.
    lock_required,
    // The grant on which a write relies has ended. Facts: ended, blockers.
    stale_token,
    // A plain read of a resource that another session holds in mode `exclusive`. Facts: blockers.
    locked,
    // The condition of the write is false for the item. Facts: item, if it was requested.
    condition_failed,
    // The table, or the index of the table, does not exist.
    resource_not_found,
    // The table already exists, or it is being created, changed or deleted.
    resource_in_use,
    // The transaction was cancelled and changed nothing. Facts: reasons, one for each action.
    transaction_cancelled,
    // A request with the same token is in progress.
    transaction_in_progress,
    // A transaction on the item is in progress. Retry.
    transaction_conflict,
    // The requests exceed the throughput of the table. Retry later.
    throttled,
    // The request requires administrator rights.
    access_denied,
    // The manager is shutting down.
    closing,
    // It is unknown whether the request took effect. Retry with the same request id.
    indeterminate,
    // The daemon cannot be reached.
    unreachable,
    // The storage failed. No lock is granted until the store is opened again.
    io_error,
    // The disk is full. Otherwise as io_error.
    no_space,
    // Another process has the store open (Facts: pid). Also: the object belongs to the parent of
    // this process, or another backup is running.
    store_in_use,
    // The directory contains files but is not a store.
    not_a_store,
    // This user cannot write to the store, or the store is on a read-only file system.
    read_only,
    // The store was written by a newer version.
    newer_format,
    // Contents of the store are damaged. If they belong to the lock state, no lock is granted.
    corrupt,
};

// Returns the name of the code in snake_case, such as "patience_expired".
ROCKLOCK_API std::string_view to_string(ErrorCode code);

// A holder, as other clients see it.
struct Holder {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    // The number of permits if the resource counts permits; otherwise 0.
    std::uint32_t permits = 0;
    GrantId grant{};
    Token token{};
    std::string principal;
    SessionId session;
    // The user and the process that opened the session, as given by the server or by the program
    // that embeds the library.
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    WallTime acquired_at;
    // The time until the session's deadline or until the end of max_hold, whichever is earlier.
    // Zero if the grant has ended.
    std::chrono::milliseconds remaining{};
    WallTime deadline;
    // The note of the grant, or that of the session if the grant has none. The metadata of the
    // session and of the grant are merged; if both have a name, the value of the grant is used. For
    // an ended grant, the note and the metadata of the session are not included.
    std::string note;
    Metadata metadata;
    // If this resource was locked as a dependant: the resource on which it depends. Otherwise
    // empty.
    std::string cause;
    // Whether the holder has the same principal as the caller ("held by you, in another session").
    bool you = false;
};

// A waiting request, as other clients see it.
struct Waiter {
    std::string resource;
    Mode mode = Mode::write;
    // The number of permits if the resource counts permits; otherwise 0.
    std::uint32_t permits = 0;
    std::string principal;
    SessionId session;
    WallTime since;
    // The position in the queue; 1 is the next to be granted.
    std::uint32_t position = 0;
};

// One step of a deadlock: this session waits for `resource`. The session of the next step holds it,
// or is ahead of this session in its queue.
struct CycleStep {
    std::string principal;
    SessionId session;
    std::string resource;
};

// The end of a grant or a session.
struct Ending {
    Outcome outcome = Outcome::released;
    // The principal that ended it; empty if no principal did.
    std::string by;
    std::string reason;
    WallTime at;
};

// Defined in <rocklock/items/attribute_value.hpp>.
class AttributeMap;

// The principal and the time of the last write of an item. Known only if that write named its
// principal: WriteItem::by.
struct LastWrite {
    std::string by;
    WallTime at;
    friend bool operator==(const LastWrite&, const LastWrite&) = default;
};

// An item that has changed since it was read.
struct ItemChange {
    std::string table;
    std::shared_ptr<const AttributeMap> key;
    // The item was deleted. The principal that deleted it is not known.
    bool gone = false;
    std::optional<LastWrite> last_write;
};

// The reason for which one action cancelled a transaction.
struct CancellationReason {
    // None if this action was not the cause. Otherwise condition_failed, invalid_argument,
    // lock_required, stale_token, locked, transaction_conflict or throttled.
    std::optional<ErrorCode> code;
    std::string message;
    // The item of a failed condition, if it was requested and exists.
    std::shared_ptr<const AttributeMap> item;
    // For a failed condition: the item's version (0 if there is no item) and its last write.
    std::uint64_t item_version = 0;
    std::optional<LastWrite> last_write{};
    // For lock_required, stale_token and locked: the current holders, and how the presented grant
    // ended.
    std::vector<Holder> blockers{};
    std::optional<Ending> ended{};
};

struct Error {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;

    std::vector<Holder> blockers;
    std::vector<Waiter> waiters;
    std::vector<CycleStep> cycle;
    std::optional<Ending> ended;
    std::optional<GrantId> grant;
    // The time after which a retry can succeed: a minimum hold or a lock delay ends, or a steal is
    // possible.
    std::optional<std::chrono::milliseconds> retry_after;
    // The policy that refuses a steal.
    std::optional<StealPolicy> policy;
    std::optional<std::uint64_t> limit;
    // For a refused request: how many of its writes were kept as drafts for the principal of the
    // lost lock. See <rocklock/items/drafts.hpp>.
    std::uint32_t drafts = 0;
    // The process that has the store open.
    std::optional<std::int64_t> pid;
    // The current item of a failed condition, if it was requested and exists.
    std::shared_ptr<const AttributeMap> item;
    // For a failed condition: the item's version (0 if there is no item) and its last write.
    std::uint64_t item_version = 0;
    std::optional<LastWrite> last_write;
    // The items that have changed since a change set read them. See
    // <rocklock/items/change_set.hpp>.
    std::vector<ItemChange> changes;
    // Why a transaction was cancelled: one reason for each action, in the order of the actions.
    std::vector<CancellationReason> reasons;

    Error() = default;
    Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}
};

}  // namespace rocklock
