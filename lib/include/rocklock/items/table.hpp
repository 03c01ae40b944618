// Tables with items, as DynamoDB has them: the semantics of its operations over a Storage.
//
// Each request reads one moment of the store, is decided on that alone, and is committed on
// condition that what it rests on has not changed; if it has, it is decided anew. So every write
// is one step, and nothing is locked while it is decided. Secondary indexes are written in the same
// commit as the item, and never lag behind it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/items/batch_requests.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/items/item_requests.hpp>
#include <rocklock/items/rehearsal.hpp>
#include <rocklock/items/table_schema.hpp>
#include <rocklock/items/table_settings.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/user_limits.hpp>

namespace rocklock {

class LockGate;
class SystemTables;

// What the tables and drafts of one user take (UserLimits).
struct UserTableUsage {
    // The uid; 2^32 - 1 is the user of all clients over TCP.
    std::uint32_t uid = 0;
    std::uint64_t drafts = 0;
    std::uint64_t table_bytes = 0;

    friend bool operator==(const UserTableUsage&, const UserTableUsage&) = default;
};

// A write that is decided and queued. Its end waits for the commit, if finish() has not been
// called. It must end before its tables do.
class PendingWrite {
public:
    PendingWrite() = default;
    PendingWrite(const PendingWrite&) = delete;
    PendingWrite& operator=(const PendingWrite&) = delete;
    virtual ~PendingWrite() = default;

    // Waits until it is committed. Once; who waits may commit what others have begun.
    // Nothing: another write came between, and this one did not happen; write_item() decides anew.
    virtual std::optional<Result<WriteAnswer>> finish() = 0;
};

// Threads:    thread-safe.
// Durability: what a call changed is on the disk before it returns, as `TableOptions` says.
// Names:      wherever a table's name is asked for its ARN will do.
// Errors:     the texts of messages are DynamoDB's.
//             invalid_argument    the request is wrong in itself, or for this table or item
//             resource_not_found  no such table
//             throttled, transaction_conflict  in a rehearsal only
//             and those of Storage
class ROCKLOCK_API TableService {
public:
    TableService() = default;
    TableService(const TableService&) = delete;
    TableService& operator=(const TableService&) = delete;
    virtual ~TableService() = default;

    // Names that begin with "rocklock." are refused: those of rocklock.locks and its kin do.
    //
    // Errors: resource_in_use  the table is there already
    virtual Result<TableDescription> create_table(const CreateTable& request) = 0;
    virtual Result<TableDescription> describe_table(const std::string& table) = 0;
    // A new index is complete before it returns; who reads it meanwhile is told that it is not. Of
    // one that is deleted the answer still tells, as `deleting`.
    //
    // Errors: limit_exceeded      more than one index to make or to delete
    //         resource_not_found  no such index
    virtual Result<TableDescription> update_table(const UpdateTable& request) = 0;
    // Answers what the table was.
    virtual Result<TableDescription> delete_table(const std::string& table) = 0;
    virtual Result<TableNames> list_tables(const ListTables& request) = 0;

    // Answers what was asked for.
    virtual Result<UpdateTimeToLive> update_time_to_live(const UpdateTimeToLive& request) = 0;
    virtual Result<TimeToLive> describe_time_to_live(const std::string& table) = 0;
    // Removes items that have expired, by the rules of deletes: each on condition that it still has
    // as it goes, and its entries in indexes with it. A removal may be lost in a power cut, and is
    // then made again.
    //
    // Takes one step; `next` of the report tells when to call again. Any thread may do it, and
    // nobody has to. Where counts of items were lost in a crash, it counts them too.
    virtual Result<SweepReport> sweep_expired(const SweepExpired& step) = 0;

    // At most 50 tags a table; more are an invalid_argument, and so is a key that begins with
    // "aws:".
    virtual Result<void> tag_resource(const TagResource& request) = 0;
    virtual Result<void> untag_resource(const UntagResource& request) = 0;
    virtual Result<TagPage> list_tags_of_resource(const ListTagsOfResource& request) = 0;
    virtual ServiceLimits describe_limits() const = 0;

    // Binds the items of a table to resources, whatever it was bound to before: from then on a
    // write needs a LockProof of what covers its item, and a plain read is refused while another
    // session holds it in exclusive. A read that was under way is not disturbed, a write is decided
    // anew.
    //
    // Errors: invalid_argument    the template; the names of other things than the table's key
    //         resource_not_found
    virtual Result<TableBinding> bind_table(const TableBinding& request) = 0;
    // Answers with what it was bound to. Errors: invalid_argument when it is not bound.
    virtual Result<TableBinding> unbind_table(const std::string& table) = 0;
    // In order of tables.
    virtual Result<std::vector<TableBinding>> list_bindings() = 0;

    // What was kept of writes that came too late for their locks, oldest first. Whoever lets others
    // send requests checks who they are first. Errors: invalid_argument (the limit)
    virtual Result<DraftPage> list_drafts(const DraftsRequest& request) = 0;
    // Answers with the draft and removes it, in one commit: of two that take it one gets it. Who
    // must not lose it in a crash of its own lists it, saves, and discards it then.
    //
    // Errors: resource_not_found  the principal has no such draft, or not any more
    virtual Result<Draft> take_draft(const std::string& principal, DraftId draft) = 0;
    // Errors: as take_draft()
    virtual Result<void> discard_draft(const std::string& principal, DraftId draft) = 0;

    // Errors: condition_failed  error().item is the item, if it was asked for
    virtual Result<WriteAnswer> write_item(const WriteItem& request) = 0;
    virtual Result<GetAnswer> get_item(const GetItem& request) = 0;
    // The same where it takes next to no time: of an item that is small and lies in memory. For
    // threads that may not wait. Nothing: get_item() tells.
    virtual std::optional<Result<GetAnswer>> get_cached_item(const GetItem& /*request*/) {
        return std::nullopt;
    }
    // Decides a write of what lies in memory and queues it, so that one thread can wait for the
    // commits of many; for threads that may not wait. Nothing: write_item() tells.
    virtual std::unique_ptr<PendingWrite> begin_write(const WriteItem& /*request*/) {
        return nullptr;
    }
    // Errors: invalid_argument  no such index, or it is not complete yet
    virtual Result<Page> query(const Query& request) = 0;
    virtual Result<Page> scan(const Scan& request) = 0;

    // Nothing is written where one of the writes is wrong.
    virtual Result<BatchWriteAnswer> batch_write(const BatchWrite& request) = 0;
    virtual Result<BatchGetAnswer> batch_get(const BatchGet& request) = 0;

    // All of the actions in one step, or none.
    //
    // Errors: transaction_cancelled  error().reasons has one for each action
    //         parameter_mismatch     the token was used with another request
    virtual Result<TransactWriteAnswer> transact_write(const TransactWrite& request) = 0;
    // All of the items at one moment.
    //
    // Errors: transaction_cancelled  error().reasons has one for each key
    virtual Result<TransactGetAnswer> transact_get(const TransactGet& request) = 0;

    // Returns what the tables and drafts of each user take, in order of uids. Empty if no user has
    // a limit.
    virtual std::vector<UserTableUsage> user_usage() const { return {}; }

    // Stores the counts of items, so that the next one need not count; before the storage is
    // closed. Writes are answered with `closing` from then on. Once is enough.
    //
    // Errors: those of Storage; the counts are lost then
    virtual Result<void> close() = 0;
};

// Whether a text can be the region of an ARN: 1 to 63 lower-case letters, digits and hyphens.
ROCKLOCK_API bool is_region(std::string_view text);

struct TableOptions {
    Durability durability = Durability::durable;
    // Of ARNs. One with another region or account names no table of ours.
    std::string region = "local";
    std::string account = "000000000000";
    // From the beginning of one sweep of all tables to that of the next.
    std::chrono::milliseconds sweep_period{10'000};
    Rehearsal rehearsal;
    // Who answers for locks; `Database` has one. It must outlive the tables. Without one no bound
    // table can be written.
    LockGate* gate = nullptr;
    // Tables of the system's own beside the stored ones; `Database` has some. It must outlive them.
    SystemTables* system = nullptr;
    // Of these, `drafts` and `table_bytes` count here. A write beyond the limit fails with
    // limit_exceeded; a draft beyond it is not kept.
    UserLimits user_limits{};
};

// Finishes what an earlier run was interrupted at: tables that were being deleted, indexes that
// were being made.
//
// Lifetime: borrows `storage` and `clock`, which must outlive what it returns. Its end closes it.
// Errors:   invalid_argument: a percentage of the rehearsal, or the region; corrupt, newer_format;
// those of Storage
ROCKLOCK_API Result<std::unique_ptr<TableService>> open_tables(Storage& storage, Clock& clock,
                                                               const TableOptions& options = {});

}  // namespace rocklock
