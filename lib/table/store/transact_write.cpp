// TransactWriteItems.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "item/capacity.hpp"
#include "table/guard/drafts.hpp"
#include "table/read/capacity_report.hpp"
#include "table/schema/request_limits.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"
#include "table/write/multi_write.hpp"
#include "table/write/request_token.hpp"

namespace rocklock::table {
namespace {

using Kind = WriteItem::Kind;

constexpr std::size_t max_token_bytes = 36;

// Collects the errors of all members in one message.
class Constraints {
public:
    void add(const std::string& value, const std::string& path, const std::string& rule) {
        ++count_;
        text_ += (count_ > 1 ? "; Value " : "Value ") + value + " at '" + path +
                 "' failed to satisfy constraint: " + rule;
    }
    std::optional<Error> validation_error() const {
        if (count_ == 0) return std::nullopt;
        return table::validation_error(std::to_string(count_) + " validation error" +
                                       (count_ > 1 ? "s" : "") + " detected: " + text_);
    }

private:
    int count_ = 0;
    std::string text_;
};

void check_action(const WriteItem& action, std::size_t position, Constraints& constraints) {
    const std::string path = "transactItems." + std::to_string(position) + ".member.";
    const bool checks = action.expressions.condition || action.expected_version;
    if (action.kind == Kind::check && !checks) {
        constraints.add("null", path + "conditionCheck.conditionExpression",
                        "Member must not be null");
    }
    if (action.kind == Kind::update && !action.expressions.update) {
        constraints.add("null", path + "update.updateExpression", "Member must not be null");
    }
}

std::optional<Error> check_members(const TransactWrite& request) {
    Constraints constraints;
    const std::size_t count = request.actions.size();
    if (count == 0) {
        constraints.add("'[]'", "transactItems",
                        "Member must have length greater than or equal to 1");
    }
    if (count > max_actions) {
        constraints.add("'" + std::to_string(count) + " actions'", "transactItems",
                        "Member must have length less than or equal to 100");
    }
    for (std::size_t i = 0; i < std::min(count, max_actions); ++i) {
        check_action(request.actions[i], i + 1, constraints);
    }
    if (request.from_drafts.size() > max_actions) {
        constraints.add("'" + std::to_string(request.from_drafts.size()) + " drafts'", "fromDrafts",
                        "Member must have length less than or equal to 100");
    }
    if (request.token && request.token->empty()) {
        constraints.add("''", "clientRequestToken",
                        "Member must have length greater than or equal to 1");
    }
    if (request.token && request.token->size() > max_token_bytes) {
        constraints.add("'" + *request.token + "'", "clientRequestToken",
                        "Member must have length less than or equal to 36");
    }
    return constraints.validation_error();
}

// Checks the size of the request: items, keys, and the values of updates. Stored items do not
// count.
std::optional<Error> check_size(const TransactWrite& request) {
    std::size_t bytes = 0;
    for (const WriteItem& action : request.actions) {
        bytes += size_bytes(action.item);
        const auto& values = action.expressions.placeholders.values;
        if (action.kind != Kind::update || !values) continue;
        for (const ValuePlaceholder& entry : *values) bytes += size_bytes(entry.value);
    }
    return check_transaction_size(bytes);
}

// Returns the actions with the options of the transaction; values of single items are not returned.
// ARNs are replaced by names, so that both forms have the same fingerprint.
std::vector<WriteItem> actions_of(const TransactWrite& request, const Arns& arns) {
    std::vector<WriteItem> actions = request.actions;
    for (WriteItem& action : actions) {
        if (const auto name = arns.name_of(action.table); name && *name != action.table) {
            action.table = std::string(*name);
        }
        action.return_values = ReturnValues::none;
        action.return_capacity = request.return_capacity;
        action.return_collection_metrics = request.return_collection_metrics;
    }
    return actions;
}

// Finds the tables and plans all actions, unless the current plans are still valid. The first
// action that does not fit its table cancels the transaction.
Result<void> bind_all(MultiWrite& writes, const Catalog& catalog) {
    if (is_bound(writes, catalog)) return {};
    if (auto found = find_tables(writes, catalog); !found) return found;
    if (auto error = check_together(
            writes, "Transaction request cannot include multiple operations on one item")) {
        return *std::move(error);
    }
    std::size_t at = 0;
    auto bound = bind_writes(writes, at);
    if (bound) return bound;
    Reasons reasons(writes.reads.size());
    auto reason = reason_of(bound.error());
    ROCKLOCK_ASSERT(at < reasons.size() && reason.has_value());
    reasons[at] = *std::move(reason);
    return cancelled(std::move(reasons));
}

// Two properties of condition checks, recorded from DynamoDB: the message of a failed check ends
// with a period, and a check of an absent item consumes no capacity.
void adjust_checks(const std::vector<WriteItem>& actions, DecidedWrites& decided) {
    ROCKLOCK_ASSERT(decided.reasons.size() == actions.size());
    ROCKLOCK_ASSERT(decided.found.size() == actions.size());
    const bool cancelled = has_cause(decided.reasons);
    for (std::size_t i = 0; i < actions.size(); ++i) {
        if (actions[i].kind != Kind::check) continue;
        auto& reason = decided.reasons[i];
        if (reason.code == ErrorCode::condition_failed) reason.message += ".";
        if (!cancelled && !decided.found[i]) decided.answers[i].consumed.reset();
    }
}

void append(Batch more, Batch& batch) {
    std::move(more.preconditions.begin(), more.preconditions.end(),
              std::back_inserter(batch.preconditions));
    std::move(more.writes.begin(), more.writes.end(), std::back_inserter(batch.writes));
}

// Returns the batch that stores the token: the transaction's own, except for a mutant.
Batch& with_token(Batch& own, Batch& apart) {
    if (!mutated(Mutant::token_behind)) return own;
    apart = {};
    return apart;
}

// Only for a mutant: commits the first write separately.
void tear(Batch& batch, Storage& storage) {
    if (!mutated(Mutant::transaction_torn) || batch.writes.size() < 2) return;
    Batch first;
    first.preconditions = batch.preconditions;
    first.writes = {batch.writes.front()};
    if (!storage.commit(std::move(first))) return;
    batch.preconditions.clear();
    batch.writes.erase(batch.writes.begin());
}

// Condition checks of items follow the rules of reads.
std::vector<GuardedRead> begin_checks(LockGate* gate, const std::vector<WriteItem>& actions) {
    std::vector<GuardedRead> reads;
    for (const WriteItem& action : actions) {
        reads.emplace_back(gate, action.proof).begin();
    }
    return reads;
}

// Returns the capacity for answering a repeated transaction: a read of each of its items.
Result<std::vector<ConsumedCapacity>> units_of_replay(const MultiWrite& writes,
                                                      const Snapshot& snapshot) {
    static const SystemRows none(nullptr);
    CapacitySum sum(transaction_factor);
    for (const PlannedWrite& plan : writes.plans) {
        const ReturnCapacity wanted = plan.read->request->return_capacity;
        if (wanted == ReturnCapacity::none || plan.schema->is_system()) continue;
        const auto stored = read_item(snapshot, none, *plan.schema, plan.row);
        if (!stored) return Error(stored.error());
        const std::size_t bytes = *stored ? size_bytes((*stored)->item) : 0;
        sum.add(report_read(*plan.schema, nullptr, wanted, read_units(bytes, true), 0));
    }
    return sum.take();
}

// Returns false if the locks have changed since begin_checks(). A refused check becomes a reason.
Result<bool> end_checks(std::vector<GuardedRead>& reads, const MultiWrite& writes,
                        DecidedWrites& decided) {
    ROCKLOCK_ASSERT(reads.size() == writes.reads.size());
    for (std::size_t i = 0; i < reads.size(); ++i) {
        const WriteItem& request = *writes.reads[i].request;
        if (request.kind != Kind::check) continue;
        reads[i].see(*writes.schemas[i], request.item);
        const auto unchanged_since = reads[i].end();
        if (unchanged_since && *unchanged_since) continue;
        if (unchanged_since) return false;
        auto reason = reason_of(unchanged_since.error());
        if (!reason) return Error(unchanged_since.error());
        decided.reasons[i] = *std::move(reason);
    }
    return true;
}

}  // namespace

Result<TransactWriteAnswer> TableStore::transact_write(const TransactWrite& request) {
    if (auto error = check_members(request)) return *std::move(error);
    const auto actions = actions_of(request, arns_);
    auto writes = read_writes(actions);
    if (!writes) return std::move(writes).error();
    if (auto error = check_size(request)) return *std::move(error);
    if (auto bound = bind_all(*writes, catalog_); !bound) return std::move(bound).error();

    std::vector<std::string> rows = writes->rows();
    Transaction transaction{actions,
                            *writes,
                            {},
                            {},
                            {},
                            0,
                            {},
                            AfterCommit(options_.gate, request.after),
                            request.from_drafts};
    if (request.token) {
        transaction.token = *request.token;
        transaction.fingerprint = fingerprint(actions, request.from_drafts);
        rows.push_back(token_key(*request.token));
    }
    const auto decide = [&]() -> Result<Decision> {
        while (true) {
            auto decision = decide_transaction(transaction);
            if (!decision) return std::move(decision).error();
            if (*decision) return **std::move(decision);
        }
    };
    if (auto committed = commit_decision(rows, options_.durability, decide); !committed) {
        return std::move(committed).error();
    }
    if (transaction.cancelled) return *std::move(transaction.cancelled);
    if (transaction.replayed) {
        return TransactWriteAnswer{0, *std::move(transaction.replayed), {}, true};
    }
    transaction.after.apply_after_save();
    // Ignores the error: a failure of the store also fails the next write.
    if (request.token) std::ignore = forget_old_tokens(storage_, clock_.now().wall);
    if (!transaction.apart.empty()) {
        static_cast<void>(storage_.commit(std::move(transaction.apart)));
    }
    return TransactWriteAnswer{transaction.version,
                               consumed_by(transaction.answers, transaction_factor),
                               collections_of(*writes, transaction.answers)};
}

Result<SystemRows> TableStore::read_checked_rows(const MultiWrite& writes) const {
    SystemRows rows(options_.system);
    for (const PlannedWrite& plan : writes.plans) {
        rows.want(*plan.schema, plan.row, plan.read->request->item);
    }
    if (auto found = rows.read(); !found) return std::move(found).error();
    return rows;
}

Result<std::optional<Decision>> TableStore::decide_transaction(Transaction& transaction) {
    MultiWrite& writes = transaction.writes;
    transaction.cancelled.reset();
    transaction.replayed.reset();
    if (auto bound = bind_all(writes, catalog_); !bound) return std::move(bound).error();
    auto checks = begin_checks(options_.gate, transaction.actions);
    const auto snapshot = storage_.snapshot();
    Batch token;
    if (!transaction.token.empty()) {
        const auto used = use_token(*snapshot, transaction.token, transaction.fingerprint,
                                    clock_.now().wall, token);
        if (!used) return Error(used.error());
        if (*used == TokenState::done) {
            auto units = units_of_replay(writes, *snapshot);
            if (!units) return std::move(units).error();
            transaction.replayed = *std::move(units);
            return std::optional(Decision{});
        }
    }
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    const auto system = read_checked_rows(writes);
    if (!system) return Error(system.error());
    auto decided = decide_writes(writes, {options_.gate, *snapshot, *version, clock_.now().wall,
                                          transaction.after, &*system});
    if (!decided) return std::move(decided).error();
    const auto unchanged_since = end_checks(checks, writes, *decided);
    if (!unchanged_since) return Error(unchanged_since.error());
    if (!*unchanged_since) return std::optional<Decision>();
    adjust_checks(transaction.actions, *decided);
    if (has_cause(decided->reasons)) {
        transaction.cancelled = cancelled(std::move(decided->reasons));
        auto kept = keep_instead(draft_moment(*snapshot), decided->late, transaction.cancelled);
        if (!kept) return std::move(kept).error();
        return std::optional(*std::move(kept));
    }
    if (auto checked = transaction.after.check(); !checked) return std::move(checked).error();
    Decision decision = std::move(decided->decision);
    auto complete = complete_decision(transaction.from_drafts, decided->writers, decision);
    if (!complete) return std::move(complete).error();
    append(std::move(token), with_token(decision.batch, transaction.apart));
    // If nothing is committed, no commit checks the preconditions, so they are checked here.
    if (system->any() && decision.batch.writes.empty()) {
        const auto so = still_holds(decision.batch, *storage_.snapshot(), clock_.now().boot);
        if (!so) return Error(so.error());
        if (!*so) return std::optional<Decision>();
    }
    tear(decision.batch, storage_);
    transaction.answers = std::move(decided->answers);
    ROCKLOCK_ASSERT(transaction.answers.size() == transaction.actions.size());
    transaction.version = *version;
    return std::optional(std::move(decision));
}

}  // namespace rocklock::table
