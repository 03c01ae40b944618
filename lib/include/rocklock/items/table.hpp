// Tables with items: the operations of DynamoDB on a Storage.
//
// An operation reads a snapshot of the store, decides from this snapshot alone, and commits its
// writes only if the data that it read has not changed. If the data has changed, the operation
// starts again with a new snapshot. Every write is therefore atomic, and no lock is held while the
// write is decided. The entries of secondary indexes are written in the same commit as the item, so
// an index is always up to date.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/batch_requests.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/items/rehearsal.hpp>
#include <rocklock/items/table_schema.hpp>
#include <rocklock/items/table_settings.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/retention.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/user_limits.hpp>

namespace rocklock {

class LockGate;
class SystemTables;

// The current usage of a user. Usage is counted if there is any limit (UserLimits), or if
// TableOptions::count_users is set.
struct UserTableUsage {
    // The uid; 2^32 - 1 is the user of all clients over TCP.
    UserId uid = 0;
    std::uint64_t drafts = 0;
    std::uint64_t table_bytes = 0;

    friend bool operator==(const UserTableUsage&, const UserTableUsage&) = default;
};

// A write that TableService::begin_write() has parsed and, if possible, decided and queued for its
// commit. If finish() was not called, the destructor waits for the commit. A PendingWrite must be
// destroyed before its TableService.
class PendingWrite {
public:
    PendingWrite() = default;
    PendingWrite(const PendingWrite&) = delete;
    PendingWrite& operator=(const PendingWrite&) = delete;
    virtual ~PendingWrite() = default;

    // Returns true if the write was decided: either it is queued, or its result is already known,
    // for example an error. Returns false if the write could not be decided from cached data; the
    // caller must then call write().
    virtual bool is_queued() const = 0;

    // Returns the result of the write. If the write was queued, first waits until it is committed;
    // the calling thread may also have to commit writes that other threads have queued. Must be
    // called at most once.
    //
    // Returns none if the write was not decided, or if another write changed the item first. The
    // write then has had no effect, and the caller must call write() to execute it.
    virtual std::optional<Result<WriteAnswer>> finish() = 0;

    // Decides and commits the write as TableService::write_item() does, without parsing the request
    // again. The request that was passed to begin_write() must still exist. Call write() at most
    // once, and only if is_queued() or finish() requires it.
    virtual Result<WriteAnswer> write() = 0;
};

// The operations on tables and items. An ARN (Amazon resource name) is accepted wherever the name
// of a table is.
//
// Threads:    thread-safe.
// Durability: when a call returns, its changes are as durable as TableOptions::durability requires.
// Errors:     with DynamoDB's messages:
//             invalid_argument    the request is invalid in itself, or for the table or the item
//             resource_not_found  the table does not exist
//             throttled, transaction_conflict  only if a Rehearsal injects them
//             closing             after close()
//             Also the errors of Storage.
class ROCKLOCK_API TableService {
public:
    TableService() = default;
    TableService(const TableService&) = delete;
    TableService& operator=(const TableService&) = delete;
    virtual ~TableService() = default;

    // Creates a table. Names that begin with "rocklock." are reserved for system tables such as
    // rocklock.locks, and are refused.
    //
    // Errors: resource_in_use  the table exists
    virtual Result<TableDescription> create_table(const CreateTable& request) = 0;
    // Returns the description of a table.
    virtual Result<TableDescription> describe_table(const std::string& table) = 0;
    // Changes a table and returns its new description. If the request creates an index, the index
    // is complete when the call returns; before that, queries of the index fail with
    // invalid_argument. If the request deletes an index, the returned description still contains
    // it, with the status `deleting`.
    //
    // Errors: limit_exceeded      the request creates or deletes more than one index
    //         resource_not_found  the index does not exist
    virtual Result<TableDescription> update_table(const UpdateTable& request) = 0;
    // Deletes a table and returns its last description. Errors: invalid_argument if the table has
    // deletion protection; resource_in_use if it is bound.
    virtual Result<TableDescription> delete_table(const std::string& table) = 0;
    // Returns a page of the names of tables, except system tables. Errors: invalid_argument (the
    // limit).
    virtual Result<TableNames> list_tables(const ListTables& request) = 0;

    // Changes the time-to-live setting of a table and returns the request. Errors: invalid_argument
    // if the request does not change the setting, if time to live is already enabled with another
    // attribute, or if the table is bound.
    virtual Result<UpdateTimeToLive> update_time_to_live(const UpdateTimeToLive& request) = 0;
    virtual Result<TimeToLive> describe_time_to_live(const std::string& table) = 0;
    // Executes one step of a sweep. A sweep deletes items that have expired and drafts that are too
    // old, and counts the items of tables whose counts were lost in a crash. Each delete follows
    // the rules of other deletes, including those about locks and indexes, and has no effect if the
    // item is no longer expired. If a power cut undoes a delete, a later sweep repeats it.
    //
    // SweepReport::next is the time until the next step is due. Calls are optional, but without
    // them, expired items are not deleted.
    virtual Result<SweepReport> sweep_expired(const SweepExpired& step) = 0;

    // Set, remove and return the tags of a table. Errors: invalid_argument if the table would have
    // more than 50 tags, if a key begins with "aws:", or if the resource is not the ARN of a table.
    virtual Result<void> tag_resource(const TagResource& request) = 0;
    virtual Result<void> untag_resource(const UntagResource& request) = 0;
    virtual Result<TagPage> list_tags_of_resource(const ListTagsOfResource& request) = 0;
    virtual ServiceLimits describe_limits() const = 0;

    // Binds the items of a table to resources; the binding replaces an earlier one. Later writes
    // require a LockProof whose grant covers the item. Later reads are refused while another
    // session holds the item's resource in mode `exclusive`. A read in progress is completed under
    // the old binding; a write in progress is decided again under the new one.
    //
    // Errors: invalid_argument    TableBinding::resource is invalid, or names an attribute that is
    //                             not in the key
    //         resource_not_found
    virtual Result<TableBinding> bind_table(const TableBinding& request) = 0;
    // Removes the binding of a table and returns it. Errors: invalid_argument if the table is not
    // bound.
    virtual Result<TableBinding> unbind_table(const std::string& table) = 0;
    // Returns all bindings, ordered by table.
    virtual Result<std::vector<TableBinding>> list_bindings() = 0;

    // Returns the drafts of a principal, oldest first. A server must authenticate the principal
    // before it calls this function. Errors: invalid_argument (the limit).
    virtual Result<DraftPage> list_drafts(const DraftsRequest& request) = 0;
    // Deletes a draft and returns it. If several clients take one draft at the same time, only one
    // of them gets it. If the client crashes after the call, the draft is lost. To avoid the loss,
    // read the draft with list_drafts() and write the item with WriteItem::from_draft. The commit
    // of the write then also deletes the draft.
    //
    // If `only_of` is set, the draft must have been kept for a session that this user opened, as
    // with DraftsRequest::only_of.
    //
    // Errors: resource_not_found  the principal does not have this draft
    virtual Result<Draft> take_draft(const std::string& principal, DraftId draft,
                                     std::optional<UserId> only_of = {}) = 0;
    // Deletes a draft. The errors are those of take_draft().
    virtual Result<void> discard_draft(const std::string& principal, DraftId draft,
                                       std::optional<UserId> only_of = {}) = 0;

    // Writes one item. Errors: condition_failed; error().item is the item if
    // WriteItem::return_item_on_failure is set.
    virtual Result<WriteAnswer> write_item(const WriteItem& request) = 0;
    // Returns one item. Errors for bound tables: locked if another session holds the item's
    // resource in mode `exclusive`; lock_required if TableBinding::strict requires a lock.
    virtual Result<GetAnswer> get_item(const GetItem& request) = 0;
    // Non-blocking get_item(), for threads that must not wait. Returns none if the item is large or
    // not cached in memory, or if a lock may forbid the read; call get_item() then.
    virtual std::optional<Result<GetAnswer>> get_cached_item(const GetItem& /*request*/) {
        return std::nullopt;
    }
    // Non-blocking first part of write_item(), for threads that must not wait. Decides the write
    // from data that is cached in memory, and queues it. One thread can therefore wait for the
    // commits of several writes. `request` must exist until the result is known.
    //
    // Returns null if the request cannot be executed in this way: if `proof`, `after` or
    // `from_draft` is set, if the request is a ConditionCheck, or if Rehearsal::index_lag is set.
    // Call write_item() then.
    virtual std::unique_ptr<PendingWrite> begin_write(const WriteItem& /*request*/) {
        return nullptr;
    }
    // Errors: invalid_argument if the index does not exist or is not complete yet.
    virtual Result<Page> query(const Query& request) = 0;
    virtual Result<Page> scan(const Scan& request) = 0;

    // Executes all writes in one commit. If one of them is invalid, executes none.
    virtual Result<BatchWriteAnswer> batch_write(const BatchWrite& request) = 0;
    virtual Result<BatchGetAnswer> batch_get(const BatchGet& request) = 0;

    // Executes all actions in one atomic step, or none of them.
    //
    // Errors: transaction_cancelled  an action was refused; error().reasons has one element for
    //                                each action
    //         parameter_mismatch     the idempotency token was used with another request
    virtual Result<TransactWriteAnswer> transact_write(const TransactWrite& request) = 0;
    // Reads all items from one snapshot.
    //
    // Errors: transaction_cancelled  one of the gets is invalid for its table; error().reasons has
    //                                one element for each get
    virtual Result<TransactGetAnswer> transact_get(const TransactGet& request) = 0;

    // Returns the current usage of each user, ordered by uid. Empty if usage is not counted.
    virtual std::vector<UserTableUsage> user_usage() const { return {}; }
    // Returns the current number of drafts of all principals.
    virtual std::uint64_t draft_count() const { return 0; }

    // Change TableOptions::user_limits and TableOptions::retention while the tables are open.
    // set_user_limits() requires that usage is counted: TableOptions::count_users or a limit must
    // have been set when the tables were opened.
    virtual void set_user_limits(const UserLimits& /*limits*/) {}
    virtual void set_retention(const Retention& /*retention*/) {}

    // Stores the item counts of the tables, so that the items need not be counted again after the
    // next open. Must be called before the storage is closed. A second call has no effect. Later
    // writes fail with `closing`.
    //
    // Errors: those of Storage; the item counts are then lost
    virtual Result<void> close() = 0;
};

// Returns whether a text can be the region of an ARN: 1 to 63 lower-case letters, digits and
// hyphens.
ROCKLOCK_API bool is_region(std::string_view text);

struct TableOptions {
    Durability durability = Durability::durable;
    // The region and the account in the ARNs of tables. An ARN with another region or another
    // account matches no table.
    std::string region = "local";
    std::string account = "000000000000";
    // The time from the start of one sweep of all tables to the start of the next.
    std::chrono::milliseconds sweep_period{10'000};
    Rehearsal rehearsal;
    // Checks the locks for accesses to bound tables; provided by Database. Must outlive the tables.
    // If null, every write to a bound table fails with lock_required.
    LockGate* gate = nullptr;
    // The system tables, such as rocklock.locks; provided by Database. Must outlive the tables. If
    // null, there are no system tables.
    SystemTables* system = nullptr;
    // Only the members `drafts` and `table_bytes` are used. A write that would exceed a limit fails
    // with limit_exceeded. A refused write whose draft would exceed a limit is not kept as a draft.
    UserLimits user_limits{};
    // Whether the drafts and the bytes of each user are counted even if there is no limit.
    bool count_users = false;
    // Only the members about drafts are used.
    Retention retention{};
};

// Opens the tables in `storage`. First completes those deletions of tables and creations of indexes
// that an earlier run began and did not complete.
//
// Lifetime: borrows `storage` and `clock`, which must outlive the tables. The destructor of the
//           tables calls close().
// Errors:   invalid_argument (a percentage of the rehearsal, or the region), corrupt, newer_format,
//           and those of Storage
ROCKLOCK_API Result<std::unique_ptr<TableService>> open_tables(Storage& storage, Clock& clock,
                                                               const TableOptions& options = {});

}  // namespace rocklock
