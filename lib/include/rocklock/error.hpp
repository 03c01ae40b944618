// What can go wrong, with its facts.
//
// An Error says what happened in three forms: a code for the program, a message for people that
// says what to do, and the facts of the decision as fields. The facts come from the same decision
// as the refusal: a conflict names the holders that were in the way at that very moment.
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
    // The request itself is wrong; the message says what is allowed.
    invalid_argument,
    // The request cannot be read: no JSON, a member of another kind of JSON, no base64.
    malformed,
    // A try that would have to wait. Facts: blockers, waiters, retry_after.
    conflict,
    // Waited in vain; the place in the queue is gone. Facts: blockers.
    patience_expired,
    // The caller withdrew the wait.
    cancelled,
    // The wait would have closed a cycle. Facts: cycle.
    deadlock,
    // The session holds the resource already, and `Held::refuse` was asked for. Facts: grant.
    already_held,
    // The session's lease ran out, or it was closed. Facts: ended.
    session_expired,
    // No such session, or one so old that it was forgotten.
    session_not_found,
    // The grant named has ended. Facts: ended.
    grant_ended,
    // Wrong secret, or somebody else's grant. Nothing was changed.
    not_owner,
    // The class of the resource does not allow it, or not yet. Facts: policy, retry_after,
    // blockers.
    steal_refused,
    // Too many waiters. Facts: limit.
    queue_full,
    // A fixed limit of the manager. Facts: limit.
    limit_exceeded,
    // The name is in use as another kind (permits against modes).
    kind_mismatch,
    // The request id was used before with other parameters.
    parameter_mismatch,
    // Something it needs to be untouched was touched (reacquire, a precondition of a batch).
    precondition_failed,
    // The table is bound to locks, and the request shows none that lets it in: no grant, one that
    // does not cover the item or only reads, or another session's. Facts: blockers.
    lock_required,
    // The grant that a write believes in has ended. Facts: ended, blockers.
    stale_token,
    // A plain read of what another holds in exclusive. Facts: blockers.
    locked,
    // The item is not as the condition of the write says. Facts: item, if it was asked for.
    condition_failed,
    // No such table, or no such index of it.
    resource_not_found,
    // The table is there already, or just being made, changed or deleted.
    resource_in_use,
    // Nothing of the transaction was done. Facts: reasons, one an action.
    transaction_cancelled,
    // A request with the same token is under way.
    transaction_in_progress,
    // A transaction is under way on the item; ask again.
    transaction_conflict,
    // More was asked than the table is said to bear; ask again later.
    throttled,
    // For the administrator only.
    access_denied,
    // The manager is shutting down.
    closing,
    // Nobody can say whether it happened; ask again with the same request id.
    indeterminate,
    // The daemon cannot be reached.
    unreachable,
    // Storage failed. Nothing more is granted until the store is opened again.
    io_error,
    // The disk is full; as io_error.
    no_space,
    // Another process has the store open. Facts: pid.
    store_in_use,
    // The directory holds something that is not a store.
    not_a_store,
    // The store cannot be written by this user, or lies on a read-only file system.
    read_only,
    // The store was written by a newer version.
    newer_format,
    // The store's contents contradict themselves; nothing is granted from it.
    corrupt,
};

// The code's name in snake_case, as above.
ROCKLOCK_API std::string_view to_string(ErrorCode code);

// A holder, as it is shown to others.
struct Holder {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    // How many permits, on a counting resource; else 0.
    std::uint32_t permits = 0;
    GrantId grant{};
    Token token{};
    std::string principal;
    SessionId session;
    // Who opened the session, as the server or the program that embeds us says.
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    WallTime acquired_at;
    // Until the earlier of its session's deadline and its own cap. Zero for one that has ended.
    std::chrono::milliseconds remaining{};
    WallTime deadline;
    // The grant's, or the session's where that has none; of metadata both, the grant's first.
    std::string note;
    Metadata metadata;
    // The resource whose editing caused this lock (dependants); else empty.
    std::string cause;
    // Whether it belongs to the principal who asked: "held by you, in another session".
    bool you = false;
};

// A request in a queue, as it is shown to others.
struct Waiter {
    std::string resource;
    Mode mode = Mode::write;
    // How many permits, of a counting resource; else 0.
    std::uint32_t permits = 0;
    std::string principal;
    SessionId session;
    WallTime since;
    // 1 is next.
    std::uint32_t position = 0;
};

// One step of a deadlock: this session waits for `resource`, which the next one holds or waits for
// earlier.
struct CycleStep {
    std::string principal;
    SessionId session;
    std::string resource;
};

// How a grant or a session ended.
struct Ending {
    Outcome outcome = Outcome::released;
    // The principal who ended it; empty when nobody did.
    std::string by;
    std::string reason;
    WallTime at;
};

// <rocklock/items/attribute_value.hpp>
class AttributeMap;

// Who wrote an item last, and when. Known where the write said whose it is: WriteItem::by.
struct LastWrite {
    std::string by;
    WallTime at;
    friend bool operator==(const LastWrite&, const LastWrite&) = default;
};

// An item that is not as it was when it was read.
struct ItemChange {
    std::string table;
    std::shared_ptr<const AttributeMap> key;
    // Nobody can say who deleted it.
    bool gone = false;
    std::optional<LastWrite> last_write;
};

// What an action had to do with the end of its transaction.
struct CancellationReason {
    // Nothing: it was not the cause. Else condition_failed, invalid_argument, transaction_conflict
    // or throttled.
    std::optional<ErrorCode> code;
    std::string message;
    // The item of a failed condition, if it was asked for and is there.
    std::shared_ptr<const AttributeMap> item;
    // Of a failed condition: the version of the item, 0 without one, and who wrote it.
    std::uint64_t item_version = 0;
    std::optional<LastWrite> last_write{};
    // Of lock_required, stale_token and locked: who holds it now, and how the grant ended that was
    // shown.
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
    // When asking again makes sense: a minimum hold or a lock delay ends then, or a steal may be
    // tried again.
    std::optional<std::chrono::milliseconds> retry_after;
    // Which policy refuses a steal.
    std::optional<StealPolicy> policy;
    std::optional<std::uint64_t> limit;
    // Of a refused request: how many of its writes were kept as drafts, for the principal of the
    // lost lock: <rocklock/items/drafts.hpp>.
    std::uint32_t drafts = 0;
    // The process that has the store open.
    std::optional<std::int64_t> pid;
    // The item of a failed condition as it is, if it was asked for and is there.
    std::shared_ptr<const AttributeMap> item;
    // Of a failed condition: the version of the item, 0 without one, and who wrote it.
    std::uint64_t item_version = 0;
    std::optional<LastWrite> last_write;
    // What has changed since a change set read it: <rocklock/items/change_set.hpp>.
    std::vector<ItemChange> changes;
    // Why a transaction was cancelled: one for each of its actions, in their order.
    std::vector<CancellationReason> reasons;

    Error() = default;
    Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}
};

}  // namespace rocklock
