#include "table/rehearsal/rehearsed_tables.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "table/schema/request_limits.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::string_view throttled_text =
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning level with the UpdateTable API.";
constexpr std::string_view conflict_text = "Transaction is ongoing for the item";

Error throttled() { return {ErrorCode::throttled, std::string(throttled_text)}; }

// SplitMix64.
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t mixed = state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

std::size_t count_keys(const BatchGet& request) {
    std::size_t count = 0;
    for (const auto& table : request.tables) count += table.keys.size();
    return count;
}

// Returns the request's part for one table without its keys.
BatchGet::Keys without_keys(const BatchGet::Keys& table) {
    return {table.table, {}, table.consistent, table.expressions};
}

// Adds throttled keys to those that did not fit into the response.
void add_unprocessed(std::vector<BatchGet::Keys>& unprocessed, BatchGet::Keys keys) {
    const auto found = std::find_if(unprocessed.begin(), unprocessed.end(),
                                    [&](const auto& other) { return other.table == keys.table; });
    if (found == unprocessed.end()) {
        unprocessed.push_back(std::move(keys));
        return;
    }
    for (auto& key : keys.keys) found->keys.push_back(std::move(key));
}

}  // namespace

RehearsedTables::RehearsedTables(std::unique_ptr<TableService> tables, Clock& clock,
                                 const TableOptions& options)
    : tables_(std::move(tables)),
      clock_(clock),
      rehearsal_(options.rehearsal),
      arns_(options.region, options.account),
      random_(options.rehearsal.seed) {}

bool RehearsedTables::happens(std::uint32_t percent) {
    ROCKLOCK_ASSERT(percent <= 100);
    if (percent == 0) return false;
    MutexLock lock(mutex_);
    return next_random(random_) % 100 < percent;
}

Reasons RehearsedTables::reasons_against(std::size_t actions) {
    // If there are too many actions, the wrapped service refuses the transaction.
    Reasons reasons(actions <= max_actions ? actions : 0);
    for (CancellationReason& reason : reasons) {
        if (happens(rehearsal_.conflict_percent)) {
            reason.code = ErrorCode::transaction_conflict;
            reason.message = conflict_text;
        } else if (is_throttled()) {
            reason.code = ErrorCode::throttled;
            reason.message = throttled_text;
        }
    }
    return reasons;
}

Result<TableDescription> RehearsedTables::create_table(const CreateTable& request) {
    return tables_->create_table(request);
}

Result<TableDescription> RehearsedTables::describe_table(const std::string& table) {
    return tables_->describe_table(table);
}

Result<TableDescription> RehearsedTables::update_table(const UpdateTable& request) {
    return tables_->update_table(request);
}

Result<TableDescription> RehearsedTables::delete_table(const std::string& table) {
    auto deleted = tables_->delete_table(table);
    if (!deleted) return deleted;
    MutexLock lock(mutex_);
    changed_.erase(deleted->name);
    return deleted;
}

Result<TableNames> RehearsedTables::list_tables(const ListTables& request) {
    return tables_->list_tables(request);
}

Result<UpdateTimeToLive> RehearsedTables::update_time_to_live(const UpdateTimeToLive& request) {
    const std::string name(arns_.name_of(request.table).value_or(request.table));
    const BootTime now = clock_.now().boot;
    {
        MutexLock lock(mutex_);
        const auto found = changed_.find(name);
        if (found != changed_.end() && now - found->second < rehearsal_.time_to_live_pause) {
            return validation_error(
                "Time to live has been modified multiple times within a fixed interval");
        }
    }
    auto changed = tables_->update_time_to_live(request);
    if (!changed) return changed;
    MutexLock lock(mutex_);
    changed_[name] = now;
    return changed;
}

Result<TimeToLive> RehearsedTables::describe_time_to_live(const std::string& table) {
    return tables_->describe_time_to_live(table);
}

Result<SweepReport> RehearsedTables::sweep_expired(const SweepExpired& step) {
    SweepExpired later = step;
    later.spared += rehearsal_.time_to_live_lag;
    return tables_->sweep_expired(later);
}

Result<void> RehearsedTables::tag_resource(const TagResource& request) {
    return tables_->tag_resource(request);
}

Result<void> RehearsedTables::untag_resource(const UntagResource& request) {
    return tables_->untag_resource(request);
}

Result<TagPage> RehearsedTables::list_tags_of_resource(const ListTagsOfResource& request) {
    return tables_->list_tags_of_resource(request);
}

ServiceLimits RehearsedTables::describe_limits() const { return tables_->describe_limits(); }

Result<TableBinding> RehearsedTables::bind_table(const TableBinding& request) {
    return tables_->bind_table(request);
}

Result<TableBinding> RehearsedTables::unbind_table(const std::string& table) {
    return tables_->unbind_table(table);
}

Result<std::vector<TableBinding>> RehearsedTables::list_bindings() {
    return tables_->list_bindings();
}

Result<DraftPage> RehearsedTables::list_drafts(const DraftsRequest& request) {
    return tables_->list_drafts(request);
}

Result<Draft> RehearsedTables::take_draft(const std::string& principal, DraftId draft,
                                          std::optional<UserId> only_of) {
    return tables_->take_draft(principal, draft, only_of);
}

Result<void> RehearsedTables::discard_draft(const std::string& principal, DraftId draft,
                                            std::optional<UserId> only_of) {
    return tables_->discard_draft(principal, draft, only_of);
}

Result<WriteAnswer> RehearsedTables::write_item(const WriteItem& request) {
    if (is_throttled()) return throttled();
    if (happens(rehearsal_.conflict_percent)) {
        return Error(ErrorCode::transaction_conflict, std::string(conflict_text));
    }
    return tables_->write_item(request);
}

Result<GetAnswer> RehearsedTables::get_item(const GetItem& request) {
    if (is_throttled()) return throttled();
    return tables_->get_item(request);
}

Result<Page> RehearsedTables::query(const Query& request) {
    if (is_throttled()) return throttled();
    return tables_->query(request);
}

Result<Page> RehearsedTables::scan(const Scan& request) {
    if (is_throttled()) return throttled();
    return tables_->scan(request);
}

Result<BatchWriteAnswer> RehearsedTables::batch_write(const BatchWrite& request) {
    if (request.writes.empty() || request.writes.size() > max_batch_writes) {
        return tables_->batch_write(request);
    }
    BatchWrite rest = request;
    rest.writes.clear();
    std::vector<WriteItem> unprocessed;
    for (const WriteItem& write : request.writes) {
        (is_throttled() ? unprocessed : rest.writes).push_back(write);
    }
    ROCKLOCK_ASSERT(rest.writes.size() + unprocessed.size() == request.writes.size());
    if (rest.writes.empty()) return throttled();
    auto answer = tables_->batch_write(rest);
    if (answer) answer->unprocessed = std::move(unprocessed);
    return answer;
}

Result<BatchGetAnswer> RehearsedTables::batch_get(const BatchGet& request) {
    const bool whole = std::none_of(request.tables.begin(), request.tables.end(),
                                    [](const auto& table) { return table.keys.empty(); });
    if (!whole || count_keys(request) > max_batch_keys) return tables_->batch_get(request);
    BatchGet rest;
    rest.return_capacity = request.return_capacity;
    std::vector<BatchGet::Keys> unprocessed;
    for (const auto& table : request.tables) {
        BatchGet::Keys taken = without_keys(table);
        BatchGet::Keys left = without_keys(table);
        for (const auto& key : table.keys) (is_throttled() ? left : taken).keys.push_back(key);
        if (!left.keys.empty()) unprocessed.push_back(std::move(left));
        if (!taken.keys.empty()) rest.tables.push_back(std::move(taken));
    }
    if (rest.tables.empty() && !request.tables.empty()) return throttled();
    auto answer = tables_->batch_get(rest);
    if (!answer) return answer;
    for (auto& left : unprocessed) add_unprocessed(answer->unprocessed, std::move(left));
    // A table is in the answer, without items, even if all its keys were throttled.
    for (std::size_t i = 0; i < request.tables.size(); ++i) {
        const std::string& table = request.tables[i].table;
        const auto at = answer->tables.begin() + static_cast<std::ptrdiff_t>(i);
        if (at == answer->tables.end() || at->table != table)
            answer->tables.insert(at, {table, {}});
    }
    return answer;
}

Result<TransactWriteAnswer> RehearsedTables::transact_write(const TransactWrite& request) {
    auto reasons = reasons_against(request.actions.size());
    if (has_cause(reasons)) return cancelled(std::move(reasons));
    ROCKLOCK_ASSERT(reasons.empty() || reasons.size() == request.actions.size());
    return tables_->transact_write(request);
}

Result<TransactGetAnswer> RehearsedTables::transact_get(const TransactGet& request) {
    auto reasons = reasons_against(request.gets.size());
    if (has_cause(reasons)) return cancelled(std::move(reasons));
    return tables_->transact_get(request);
}

}  // namespace rocklock::table
