// A TableService with fault injection: throttling, conflicts, and a delayed effect of time-to-live
// settings, as in DynamoDB. Requests that are not refused are passed on to another TableService. A
// wrapper like this class cannot simulate lagging global indexes; see index_lag.hpp.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>

#include "base/mutex.hpp"
#include "table/schema/arns.hpp"
#include "table/write/multi_write.hpp"

namespace rocklock::table {

// Threads: thread-safe. If requests run concurrently, it is not defined which of them get the
// injected faults.
class RehearsedTables final : public TableService {
public:
    RehearsedTables(std::unique_ptr<TableService> tables, Clock& clock,
                    const TableOptions& options);

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
    ServiceLimits describe_limits() const override;

    Result<TableBinding> bind_table(const TableBinding& request) override;
    Result<TableBinding> unbind_table(const std::string& table) override;
    Result<std::vector<TableBinding>> list_bindings() override;

    Result<DraftPage> list_drafts(const DraftsRequest& request) override;
    Result<Draft> take_draft(const std::string& principal, DraftId draft,
                             std::optional<UserId> only_of = {}) override;
    Result<void> discard_draft(const std::string& principal, DraftId draft,
                               std::optional<UserId> only_of = {}) override;

    Result<WriteAnswer> write_item(const WriteItem& request) override;
    Result<GetAnswer> get_item(const GetItem& request) override;
    Result<Page> query(const Query& request) override;
    Result<Page> scan(const Scan& request) override;

    Result<BatchWriteAnswer> batch_write(const BatchWrite& request) override;
    Result<BatchGetAnswer> batch_get(const BatchGet& request) override;
    Result<TransactWriteAnswer> transact_write(const TransactWrite& request) override;
    Result<TransactGetAnswer> transact_get(const TransactGet& request) override;

    std::vector<UserTableUsage> user_usage() const override { return tables_->user_usage(); }
    std::uint64_t draft_count() const override { return tables_->draft_count(); }
    void set_user_limits(const UserLimits& limits) override { tables_->set_user_limits(limits); }
    void set_retention(const Retention& retention) override { tables_->set_retention(retention); }
    Result<void> close() override { return tables_->close(); }

private:
    // Returns whether a fault with the probability `percent` is to be injected now. If `percent` is
    // 0, draws no random number.
    bool happens(std::uint32_t percent);
    bool is_throttled() { return happens(rehearsal_.throttle_percent); }
    // Returns a reason of cancellation for each of the actions. If no reason has a code, the
    // transaction is passed on.
    Reasons reasons_against(std::size_t actions);

    const std::unique_ptr<TableService> tables_;
    Clock& clock_;
    const Rehearsal rehearsal_;
    const Arns arns_;
    // Not held during a call to the tables.
    Mutex mutex_;
    std::uint64_t random_ ROCKLOCK_GUARDED_BY(mutex_);
    // The time at which the time to live of a table was last changed, by the name of the table.
    std::map<std::string, BootTime, std::less<>> changed_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
