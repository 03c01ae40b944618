// Implements TableService with a Storage. Each family of operations has a file:
//
//     table_store.cpp       opening; the loop that commits decisions
//     tables.cpp            CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables
//     time_to_live.cpp      UpdateTimeToLive, DescribeTimeToLive
//     sweep.cpp             the sweep of expired items
//     bindings.cpp          BindTable, UnbindTable, ListBindings
//     draft_operations.cpp  ListDrafts, TakeDraft, DiscardDraft
//     tag_operations.cpp    TagResource, UntagResource, ListTagsOfResource
//     write_item.cpp        PutItem, UpdateItem, DeleteItem
//     pending_write.cpp     PutItem, UpdateItem, DeleteItem for callers that must not block
//     get_item.cpp          GetItem
//     query.cpp, scan.cpp
//     batch_write.cpp       BatchWriteItem
//     multi_read.cpp        BatchGetItem, TransactGetItems
//     transact_write.cpp    TransactWriteItems
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>

#include "base/mutex.hpp"
#include "table/guard/drafts.hpp"
#include "table/guard/guards.hpp"
#include "table/read/page.hpp"
#include "table/read/system_rows.hpp"
#include "table/rehearsal/index_lag.hpp"
#include "table/schema/arns.hpp"
#include "table/schema/catalog.hpp"
#include "table/schema/item_counts.hpp"
#include "table/schema/layout.hpp"
#include "table/schema/user_data.hpp"
#include "table/schema/versions.hpp"
#include "table/write/multi_write.hpp"
#include "table/write/retry_queue.hpp"
#include "table/write/write_plan.hpp"

namespace rocklock::table {

// The progress of a sweep of all tables.
struct SweepRound {
    // The names of the tables that are still to be visited. The last element is visited next.
    std::vector<std::string> tables;
    // The key of the next draft to visit. An empty string means the first draft, and nullopt means
    // that all drafts were visited. Drafts are visited before the tables.
    std::optional<std::string> draft;
    // The key of the next row to visit in the table `tables.back()`. An empty string means the
    // first row.
    std::string row;
    std::unique_ptr<RowCounter> count;
    // The time, on the boot clock, at which the last round began. nullopt before the first round.
    std::optional<BootTime> began;
    // An item is expired if its expiry time, in seconds, is at least `oldest` and less than
    // `newest`.
    Number oldest;
    Number newest;
};

// An item that a sweep found to be expired.
struct ExpiredItem {
    std::string row;
    // The resource of the item if the table is bound.
    std::string resource;
};

// One TransactWriteItems request. Lifetime: borrows `actions`, `writes` and `from_drafts`.
struct Transaction {
    const std::vector<WriteItem>& actions;
    MultiWrite& writes;
    // Empty if the request has no token.
    std::string token;
    // Identifies the content of the request. Empty if the request has no token.
    std::string fingerprint;
    std::vector<WriteAnswer> answers;
    std::uint64_t version = 0;
    // Used only by a mutant (a build with a deliberate error, for tests). The mutant records the
    // token in this separate batch instead of in the batch of the transaction.
    Batch apart;
    AfterCommit after;
    const std::vector<DraftId>& from_drafts;
    // The error of a cancelled transaction. The commit then contains only drafts: copies of the
    // writes that were refused because their sessions had lost their locks.
    std::optional<Error> cancelled{};
    // If an earlier request with this token was executed, this request only reads each item. This
    // member is then the capacity that the reads consumed. Otherwise nullopt.
    std::optional<std::vector<ConsumedCapacity>> replayed{};
};

// A parsed GetItem, before the item is read.
struct ReadGet {
    expression::RequestExpressions expressions;
    SchemaPointer schema;
    std::string row;
};

class TableStore final : public TableService {
public:
    TableStore(Storage& storage, Clock& clock, const TableOptions& options)
        : storage_(storage),
          clock_(clock),
          options_(options),
          arns_(options.region, options.account),
          versions_(storage),
          draft_age_ms_(options.retention.draft_age.count()),
          drafts_per_principal_(options.retention.max_principal_drafts),
          users_(storage, options.user_limits, options.count_users),
          catalog_(storage, versions_, arns_, users_) {
        const auto lag = options.rehearsal.index_lag;
        if (lag.count() > 0) index_lag_ = std::make_unique<IndexLag>(storage, clock, lag);
    }
    TableStore(const TableStore&) = delete;
    TableStore& operator=(const TableStore&) = delete;
    ~TableStore() override;

    Result<void> open();

    Result<TableDescription> create_table(const CreateTable& request) override;
    Result<TableDescription> describe_table(const std::string& table) override;
    Result<TableDescription> update_table(const UpdateTable& request) override;
    Result<TableDescription> delete_table(const std::string& table) override;
    Result<TableNames> list_tables(const ListTables& request) override;

    Result<UpdateTimeToLive> update_time_to_live(const UpdateTimeToLive& request) override;
    Result<TimeToLive> describe_time_to_live(const std::string& table) override;
    Result<SweepReport> sweep_expired(const SweepExpired& step) override;

    Result<void> tag_resource(const TagResource& request) override;
    Result<void> untag_resource(const UntagResource& request) override;
    Result<TagPage> list_tags_of_resource(const ListTagsOfResource& request) override;
    ServiceLimits describe_limits() const override { return {}; }

    Result<TableBinding> bind_table(const TableBinding& request) override;
    Result<TableBinding> unbind_table(const std::string& table) override;
    Result<std::vector<TableBinding>> list_bindings() override;

    Result<DraftPage> list_drafts(const DraftsRequest& request) override;
    Result<Draft> take_draft(const std::string& principal, DraftId draft,
                             std::optional<UserId> only_of = {}) override;
    Result<void> discard_draft(const std::string& principal, DraftId draft,
                               std::optional<UserId> only_of = {}) override;

    Result<WriteAnswer> write_item(const WriteItem& request) override;
    std::unique_ptr<rocklock::PendingWrite> begin_write(const WriteItem& request) override;
    Result<GetAnswer> get_item(const GetItem& request) override;
    std::optional<Result<GetAnswer>> get_cached_item(const GetItem& request) override;
    Result<Page> query(const Query& request) override;
    Result<Page> scan(const Scan& request) override;

    Result<BatchWriteAnswer> batch_write(const BatchWrite& request) override;
    Result<BatchGetAnswer> batch_get(const BatchGet& request) override;
    Result<TransactWriteAnswer> transact_write(const TransactWrite& request) override;
    Result<TransactGetAnswer> transact_get(const TransactGet& request) override;

    std::vector<UserTableUsage> user_usage() const override { return users_.all(); }
    std::uint64_t draft_count() const override { return users_.drafts(); }
    void set_user_limits(const UserLimits& limits) override { users_.set_limits(limits); }
    void set_retention(const Retention& retention) override {
        draft_age_ms_ = retention.draft_age.count();
        drafts_per_principal_ = retention.max_principal_drafts;
    }

    Result<void> close() override;

private:
    class Pending;

    // Returns the schema for an operation on items. An operation on tables must not use this
    // function, because its error has to name the table.
    //
    // Errors: resource_not_found
    Result<SchemaPointer> schema(const std::string& table) const;

    // Calls `decide` and commits the batch that it returns. If the commit fails because a
    // precondition does not hold, does both again, until the commit succeeds or another error
    // occurs. Before the third attempt, and before an earlier one if there is contention for one of
    // the rows, waits for a slot of the retry queue.
    //
    // If `decide` returns an empty batch, nothing is committed.
    // Errors: those of `decide`; those of Storage::commit() except precondition_failed; closing
    Result<void> commit_decision(const std::vector<std::string>& rows, Durability durability,
                                 const std::function<Result<Decision>()>& decide);

    // Errors: those of Storage; corrupt
    Result<std::optional<StoredItem>> read_row(const std::string& row) const;
    // As read_row(), but also for system tables. Errors: also those of SystemTables
    Result<std::optional<StoredItem>> read_one(const ReadGet& read, const AttributeMap& key) const;

    // Returns the snapshot for a query or a scan. For a system table, this is a snapshot of the
    // system tables. For other tables, it is the current snapshot of the store or, if fault
    // injection simulates an index lag and the plan reads a global index, an older snapshot. The
    // result borrows the plan.
    std::shared_ptr<const Snapshot> snapshot_for(const PagePlan& plan) const;

    // Errors: invalid_argument, resource_not_found
    Result<ReadGet> read_get(const GetItem& request) const;

    Result<WriteAnswer> write_planned(const ReadWrite& read);

    // Adds the removal of `drafts` to the decision. These are the drafts that the request saves:
    // its commit writes their items and removes the drafts. Each draft must belong to one of
    // `writers`, the principals whose grants allow the writes of the request.
    //
    // Errors: invalid_argument if `writers` is empty; resource_not_found; those of Storage
    Result<void> save_from(const std::vector<DraftId>& drafts,
                           const std::vector<DraftAccess>& writers, Decision& decision);
    // Calls save_from(), and then checks all changes of the decision against the limits of the
    // users. Must be called last, after the changes of the items were added.
    //
    // Errors: those of save_from(); limit_exceeded
    Result<void> complete_decision(const std::vector<DraftId>& drafts,
                                   const std::vector<DraftAccess>& writers, Decision& decision);
    DraftRetention draft_retention() const {
        return {std::chrono::milliseconds{draft_age_ms_}, drafts_per_principal_};
    }
    // Borrows the snapshot.
    DraftMoment draft_moment(const Snapshot& snapshot) {
        return {snapshot, versions_, users_, clock_.now().wall, draft_retention()};
    }

    // Reads the rows of system tables that the transaction checks.
    //
    // Errors: those of SystemTables
    Result<SystemRows> read_checked_rows(const MultiWrite& writes) const;

    // Decides all actions on one snapshot. If locks or system rows have changed during the
    // decision, returns nullopt, and the caller must call this function again.
    Result<std::optional<Decision>> decide_transaction(Transaction& transaction);

    // Replaces the definition of a table with a copy that `change` has modified. If the definition
    // was replaced concurrently, tries again. If `change` returns false, the definition stays as it
    // is.
    //
    // Errors: resource_not_found; those of `change`; those of Storage
    Result<void> change_schema(const std::string& table,
                               const std::function<Result<bool>(Schema&)>& change);

    // Stores the counts, and whether they are exact.
    Result<void> store_item_counts(bool exact);
    // Counts the rows of a table if its counts are not exact and the table is small.
    Result<void> count_if_small(const SchemaPointer& schema);

    // Executes one step of the sweep in the next table of the round. Returns true if the table is
    // complete.
    Result<bool> sweep_table(SweepRound& round, std::size_t& items_left, SweepReport& report);
    Result<bool> sweep_rows(SweepRound& round, const Schema& schema, std::size_t& items_left,
                            SweepReport& report);
    // Removes expired items of a bound table, under locks that it acquires.
    Result<std::size_t> remove_from_bound_table(const SweepRound& round, std::uint32_t table,
                                                std::span<const ExpiredItem> items);
    Result<std::size_t> remove_expired(const SweepRound& round, std::uint32_t table,
                                       std::span<const ExpiredItem> items,
                                       const std::optional<LockProof>& proof);

    // Called after the definition of a table has changed. Removes the entries of deleted indexes,
    // fills a new index, and returns the description of the table.
    Result<TableDescription> update_index_entries(const SchemaPointer& before,
                                                  SchemaPointer schema);
    Result<SchemaPointer> fill_index(const std::string& table, std::uint16_t index);
    Result<void> fill_entries(const Schema& schema, const IndexSchema& index);
    Result<void> fill_entry(const Schema& schema, const IndexSchema& index, const std::string& row);

    Storage& storage_;
    Clock& clock_;
    const TableOptions options_;
    const Arns arns_;
    Versions versions_;
    std::atomic<std::int64_t> draft_age_ms_;
    std::atomic<std::uint32_t> drafts_per_principal_;
    UserData users_;
    Catalog catalog_;
    RetryQueue retry_queue_;
    // Null unless fault injection simulates an index lag.
    std::unique_ptr<IndexLag> index_lag_;
    // Held during a call of sweep_expired(). Must be locked before any other mutex of tables and
    // locks.
    Mutex sweeping_;
    SweepRound round_ ROCKLOCK_GUARDED_BY(sweeping_);
    // Held in shared mode from the start of a commit until its counts are updated, and in exclusive
    // mode by close().
    std::shared_mutex committing_;
    // Set when close() begins. Later commits fail before they lock committing_, so they cannot
    // delay close().
    std::atomic<bool> closing_{false};
    // True from the end of open() until close(). close() stores the counts only if this member is
    // true. A commit reads the member while it holds committing_.
    bool opened_ = false;
    // The number of queued writes whose counts have not been updated yet.
    std::atomic<std::uint64_t> queued_{0};
};

}  // namespace rocklock::table
