// Errors: a code, a message, and the facts of the refusal.
//
// An Error consists of a code for programs, a message that tells people what to do, and the facts
// of the decision as members. The facts describe the state in which the request was refused. For
// example, the error `conflict` names the holders that conflicted at that moment.
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
#include <rocklock/identity.hpp>
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
    // queue. Facts: as for conflict.
    patience_expired,
    // The caller cancelled the wait.
    cancelled,
    // The wait would have completed a cycle of waiting sessions. Facts: cycle.
    deadlock,
    // The session already holds a requested resource. Either the request has Held::refuse, or no
    // single grant of the session covers the whole request. Facts: grant.
    already_held,
    // The session's lease has expired, or the session was closed. Facts: ended.
    session_expired,
    // The session does not exist, or it ended so long ago that its record was removed.
    session_not_found,
    // The named grant has ended. Facts: ended.
    grant_ended,
    // The secret is wrong; the grant belongs to another session or is unknown; or the caller does
    // not hold the lock that assert_held() requires. Nothing was changed.
    not_owner,
    // The class of the resource does not allow the steal, or does not allow it yet. Facts: policy,
    // retry_after, blockers.
    steal_refused,
    // The queue has too many waiters. Facts: limit.
    queue_full,
    // The class of a requested resource is drained, which means that no resource of the class is
    // granted. The message contains the reason. Retry after the class was resumed.
    class_draining,
    // The request exceeds a limit of the manager or of its user. Facts: limit.
    limit_exceeded,
    // The request names a mode for a resource that is counted in permits, or permits for a resource
    // that has modes. Also: the request would change a class between modes and permits, or give it
    // fewer permits, while a resource of the class is in use.
    kind_mismatch,
    // The request id was used before with other parameters.
    parameter_mismatch,
    // A condition of the request does not hold: a resource was granted again since the lock was
    // lost (Reacquire), or a precondition of a storage batch failed.
    precondition_failed,
    // The table is bound to resources, and the write does not present a grant of its session that
    // covers the item in mode `write` or `exclusive`. Facts: blockers.
    lock_required,
    // The grant on which a write relies has ended. Facts: ended, blockers.
    stale_token,
    // The request reads an item without a lock while another session holds the item's resource in
    // mode `exclusive`. Facts: blockers.
    locked,
    // The condition of the write is false for the item. Facts: item, if it was requested.
    condition_failed,
    // The table, the index of the table, or the draft does not exist.
    resource_not_found,
    // The table already exists; it cannot be deleted because it is bound; or its binding was
    // changed while its items were being locked.
    resource_in_use,
    // The transaction was cancelled and changed nothing. Facts: reasons, one for each action.
    transaction_cancelled,
    // Another transaction with the same idempotency token is in progress.
    transaction_in_progress,
    // Another transaction on the item is in progress. Retry. Occurs only if
    // DatabaseOptions::rehearsal injects it.
    transaction_conflict,
    // The requests exceed the throughput of the table. Retry later. Occurs only if
    // DatabaseOptions::rehearsal injects it.
    throttled,
    // The caller does not have the rights that the request requires, such as administrator rights
    // or a right of a class (LockClass::steal_by).
    access_denied,
    // The manager is shutting down.
    closing,
    // The response of a daemon is missing, so it is unknown whether the request took effect. Retry
    // with the same request id.
    indeterminate,
    // The daemon cannot be reached.
    unreachable,
    // The storage failed. No lock is granted until the store is opened again.
    io_error,
    // As io_error, because the disk is full.
    no_space,
    // Another process has the store open (facts: pid). Also: the object was created by the parent
    // of this process and is used after a fork, or another backup is running.
    store_in_use,
    // The store is on a cluster, and another node has become the manager of the cluster. It is
    // unknown whether a request that was in progress took effect: retry it, with the same request
    // id, at the new manager. Facts: manager, if it is known.
    not_the_manager,
    // The directory contains files but is not a store; the path names a file; or there is no store
    // and `create_if_missing` is false.
    not_a_store,
    // This user cannot write to the store, or the store is on a read-only file system.
    read_only,
    // The store was written by a newer version.
    newer_format,
    // Contents of the store are damaged. If the damage is in the lock state, no lock is granted.
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
    UserId uid = 0;
    std::int32_t pid = 0;
    WallTime acquired_at;
    // The time until the session's deadline or until the grant's max_hold ends, whichever is
    // earlier. Zero if the grant has ended.
    std::chrono::milliseconds remaining{};
    WallTime deadline;
    // The note of the grant, or the note of the session if the grant has none. `metadata` contains
    // the metadata of the session and of the grant; if both have a value for a name, the value of
    // the grant is used. For an ended grant, the note and the metadata of the session are omitted.
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
    // The position in the queue. The waiter at position 1 is served next.
    std::uint32_t position = 0;
    std::uint32_t priority = 0;
    // Whether the request waits for any one of several resources (Acquire::any). If another one of
    // these is granted, the request leaves this queue.
    bool any = false;
};

// One step of a deadlock: `session` waits for `resource`. The session of the next step holds the
// resource, or is ahead of `session` in its queue. The last step is followed by the first.
struct CycleStep {
    std::string principal;
    SessionId session;
    std::string resource;
};

// The end of a grant or a session.
struct Ending {
    Outcome outcome = Outcome::released;
    // The principal that stole or transferred the grant, or the name of the administrator that
    // broke it or ended the session. Otherwise empty.
    std::string by;
    std::string reason;
    WallTime at;
};

// Defined in <rocklock/items/attribute_value.hpp>.
class AttributeMap;

// The principal and the time of the last write of an item. Known only if the write named its
// principal (WriteItem::by).
struct LastWrite {
    std::string by;
    WallTime at;
    friend bool operator==(const LastWrite&, const LastWrite&) = default;
};

// An item that has changed since it was read.
struct ItemChange {
    std::string table;
    std::shared_ptr<const AttributeMap> key;
    // Whether the item was deleted. The principal that deleted an item is not known.
    bool gone = false;
    std::optional<LastWrite> last_write;
};

// The reason for which one action cancelled a transaction.
struct CancellationReason {
    // None if this action did not cause the cancellation. Otherwise condition_failed,
    // invalid_argument, lock_required, stale_token, locked, transaction_conflict or throttled.
    std::optional<ErrorCode> code;
    std::string message;
    // The item of a failed condition, if it was requested and exists.
    std::shared_ptr<const AttributeMap> item;
    // For a failed condition: the item's version (0 if there is no item) and its last write.
    std::uint64_t item_version = 0;
    std::optional<LastWrite> last_write{};
    // For lock_required, stale_token and locked: the current holders; and, if the presented grant
    // has ended, how it ended.
    std::vector<Holder> blockers{};
    std::optional<Ending> ended{};
};

// The node of a cluster that is the manager of a store.
struct ManagerNode {
    std::string name;
    // The address at which the node accepts other nodes, as "host:port". Empty if it accepts none.
    std::string address;
    friend bool operator==(const ManagerNode&, const ManagerNode&) = default;
};

struct Error {
    ErrorCode code = ErrorCode::invalid_argument;
    std::string message;

    std::vector<Holder> blockers;
    std::vector<Waiter> waiters;
    std::vector<CycleStep> cycle;
    std::optional<Ending> ended;
    std::optional<GrantId> grant;
    // The time after which a retry can succeed, because a minimum hold or a lock delay has ended, a
    // steal is allowed, or an overloaded daemon may accept the request.
    std::optional<std::chrono::milliseconds> retry_after;
    // The policy that refuses a steal.
    std::optional<StealPolicy> policy;
    std::optional<std::uint64_t> limit;
    // The number of writes of the refused request that were kept as drafts, for the principal of
    // the lost lock. See <rocklock/items/drafts.hpp>.
    std::uint32_t drafts = 0;
    // The process that has the store open.
    std::optional<std::int64_t> pid;
    // The node of the cluster that is the manager.
    std::optional<ManagerNode> manager;
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
