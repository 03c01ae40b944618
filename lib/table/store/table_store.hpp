// TableService over a Storage. One file for each family of operations:
//
//     table_store.cpp       opening; the loop that commits decisions
//     tables.cpp            CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables
//     time_to_live.cpp      UpdateTimeToLive, DescribeTimeToLive
//     sweep.cpp             the sweep of expired items
//     bindings.cpp          BindTable, UnbindTable, ListBindings
//     draft_operations.cpp  ListDrafts, TakeDraft, DiscardDraft
//     tag_operations.cpp    TagResource, UntagResource, ListTagsOfResource
//     write_item.cpp        PutItem, UpdateItem, DeleteItem
//     begun_write.cpp       the same for callers that must not block
//     get_item.cpp          GetItem
//     query.cpp, scan.cpp
//     batch_write.cpp       BatchWriteItem
//     many_reads.cpp        BatchGetItem, TransactGetItems
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

// How far a sweep of all tables has come.
struct SweepRound {
    // Tables to be visited, the next one last.
    std::vector<std::string> tables;
    // Where to go on among the drafts, which come first; empty: at their beginning. None: they are
    // done.
    std::optional<std::string> draft;
    // In the next table: where to go on; empty: at its beginning.
    std::string row;
    std::unique_ptr<RowCounter> count;
    // When it began on the boot clock; none: no round ever did.
    std::optional<BootTime> began;
    // What is expired has a time from the first to before the second, in seconds.
    Number oldest;
    Number newest;
};

// As a sweep found it.
struct ExpiredItem {
    std::string row;
    // What it belongs to, of a bound table.
    std::string resource;
};

// One TransactWriteItems. Lifetime: borrows actions and writes.
struct Transaction {
    const std::vector<WriteItem>& actions;
    MultiWrite& writes;
    // Empty without one.
    std::string token;
    std::string print;
    std::vector<WriteAnswer> answers;
    std::uint64_t version = 0;
    // Of a mutant: what is committed by itself.
    Batch apart;
    AfterCommit after;
    const std::vector<DraftId>& from_drafts;
    // It is cancelled, and what came too late for its locks is kept.
    std::optional<Error> cancelled{};
    // It was done before, and this is what it cost to find that out.
    std::optional<std::vector<ConsumedCapacity>> replayed{};
};

// A GetItem, as far as it needs no item.
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
          users_(options.user_limits),
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
    Result<Draft> take_draft(const std::string& principal, DraftId draft) override;
    Result<void> discard_draft(const std::string& principal, DraftId draft) override;

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

    Result<void> close() override;

private:
    class Pending;

    // Of data; those of calls about tables name the table. Errors: resource_not_found
    Result<SchemaPointer> schema(const std::string& table) const;

    // Makes a batch, commits it, and makes another one as long as what it rests on changed
    // meanwhile. Whoever meets others at one of the rows has a turn after them.
    //
    // `decide` leaves the batch empty when there is nothing to write.
    // Errors: those of `decide`; those of Storage::commit() but precondition_failed
    Result<void> commit_decision(const std::vector<std::string>& rows, Durability durability,
                                 const std::function<Result<Decision>()>& decide);

    // Errors: those of Storage; corrupt
    Result<std::optional<StoredItem>> read_row(const std::string& row) const;
    // The same of whatever table. Errors: besides, those of SystemTables
    Result<std::optional<StoredItem>> read_one(const ReadGet& read, const AttributeMap& key) const;

    // What a query or a scan reads: the present, or in a rehearsal what global indexes were.
    // Borrows the plan.
    std::shared_ptr<const Snapshot> moment_for(const PagePlan& plan) const;

    // Errors: invalid_argument, resource_not_found
    Result<ReadGet> read_get(const GetItem& request) const;

    Result<WriteAnswer> write_planned(const ReadWrite& read);

    // Has the decision remove the drafts, which must be of its writers, those whose grants let it
    // in.
    //
    // Errors: invalid_argument  nobody's grant did; resource_not_found; those of Storage
    Result<void> save_from(const std::vector<DraftId>& drafts,
                           const std::vector<std::string>& writers, Decision& decision);
    // Has the decision remove the saved drafts, then checks all its changes against the limits of
    // the users. Called last, after the changes of the items were added.
    //
    // Errors: those of save_from(); limit_exceeded
    Result<void> complete_decision(const std::vector<DraftId>& drafts,
                                   const std::vector<std::string>& writers, Decision& decision);
    // Borrows the snapshot.
    DraftMoment draft_moment(const Snapshot& snapshot) {
        return {snapshot, versions_, users_, clock_.now().wall};
    }

    // Looks at the system's rows that are checked.
    //
    // Errors: those of SystemTables
    Result<SystemRows> read_checked_rows(const MultiWrite& writes) const;

    // Decides all actions on one moment; nothing where what it rests on has changed meanwhile.
    Result<std::optional<Decision>> decide_transaction(Transaction& transaction);

    // Replaces the definition by one that `change` has changed; again, if another came between.
    // False of `change` leaves it as it is.
    //
    // Errors: resource_not_found; those of `change`; those of Storage
    Result<void> change_schema(const std::string& table,
                               const std::function<Result<bool>(Schema&)>& change);

    // Stores the figures, as sound ones or as those of an earlier time.
    Result<void> store_item_counts(bool sound);
    // Counts a table whose figures are not sound, if it is small.
    Result<void> count_if_small(const SchemaPointer& schema);

    // One step in the next table of the round; true when the table is done.
    Result<bool> sweep_table(SweepRound& round, std::size_t& items_left, SweepReport& report);
    Result<bool> sweep_rows(SweepRound& round, const Schema& schema, std::size_t& items_left,
                            SweepReport& report);
    Result<std::size_t> remove_bound(const SweepRound& round, std::uint32_t table,
                                     std::span<const ExpiredItem> items);
    Result<std::size_t> remove_expired(const SweepRound& round, std::uint32_t table,
                                       std::span<const ExpiredItem> items,
                                       const std::optional<LockProof>& proof);

    // Makes the entries of all items that were there before the index, and opens it to readers.
    Result<TableDescription> see_to_indexes(const SchemaPointer& before, SchemaPointer schema);
    Result<SchemaPointer> fill_index(const std::string& table, std::uint16_t index);
    Result<void> fill_entries(const Schema& schema, const IndexSchema& index);
    Result<void> fill_entry(const Schema& schema, const IndexSchema& index, const std::string& row);

    Storage& storage_;
    Clock& clock_;
    const TableOptions options_;
    const Arns arns_;
    Versions versions_;
    UserData users_;
    Catalog catalog_;
    RetryQueue retry_queue_;
    // In a rehearsal of it.
    std::unique_ptr<IndexLag> index_lag_;
    // Held over a step. Taken before all others of the tables, and those of the locks.
    Mutex sweeping_;
    SweepRound round_ ROCKLOCK_GUARDED_BY(sweeping_);
    // Held by one that commits until its figures are changed too, and by close() alone.
    std::shared_mutex committing_;
    // close() has begun: nobody takes that any more.
    std::atomic<bool> closing_{false};
    // Whether there is something to be stored at the end.
    bool opened_ = false;
    // Writes that are queued, and whose figures are not changed yet.
    std::atomic<std::uint64_t> queued_{0};
};

}  // namespace rocklock::table
