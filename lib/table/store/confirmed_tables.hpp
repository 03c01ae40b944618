// A TableService for stores that another process can take over (Storage::must_confirm()). Each
// answer that was made without a commit waits for a confirmation: the results of reads, and
// refusals of writes. If the store was taken over, the answer is replaced by the error
// not_the_manager.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock::table {

// Threads:  thread-safe.
// Lifetime: `storage` must outlive the object.
class ConfirmedTables final : public TableService {
public:
    ConfirmedTables(std::unique_ptr<TableService> tables, Storage& storage)
        : tables_(std::move(tables)), storage_(storage) {}

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
    ServiceLimits describe_limits() const override { return tables_->describe_limits(); }

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
    // Returns the answer of a call that may have made no commit, after a confirmation.
    template <typename T>
    Result<T> confirmed(Result<T> answer) const {
        if (auto done = storage_.confirm(); !done) return std::move(done).error();
        return answer;
    }
    // Returns the answer of a call that makes a durable commit if it succeeds. This commit is also
    // a confirmation, so only a refusal waits for one.
    template <typename T>
    Result<T> committed(Result<T> answer) const {
        return answer ? std::move(answer) : confirmed(std::move(answer));
    }

    const std::unique_ptr<TableService> tables_;
    Storage& storage_;
};

}  // namespace rocklock::table
