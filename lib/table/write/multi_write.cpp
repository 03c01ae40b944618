#include "table/write/multi_write.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "table/read/capacity_report.hpp"
#include "table/schema/validation.hpp"
#include "table/write/cancellation.hpp"

namespace rocklock::table {
namespace {

std::optional<Error> check_empty_keys(const Schema& schema, const WriteItem& request) {
    for (const KeyAttribute& part : schema.key.list()) {
        const auto* value = request.item.find(part.name);
        if (!value || value->type() != part.type || !is_empty_key(*value)) continue;
        if (auto checked = check_key_value(*value, part); !checked) {
            return std::move(checked).error();
        }
    }
    if (request.kind != WriteItem::Kind::put) return std::nullopt;
    for (const IndexSchema& index : schema.indexes) {
        for (const KeyAttribute& part : index.key.list()) {
            const auto* value = request.item.find(part.name);
            if (!value || value->type() != part.type || !is_empty_key(*value)) continue;
            if (auto checked = check_index_keys(schema, request.item, nullptr); !checked) {
                return std::move(checked).error();
            }
        }
    }
    return std::nullopt;
}

// Returns whether the item has the table's key, so that it can be compared with other items.
bool has_key(const Schema& schema, const Item& item) {
    const auto parts = schema.key.list();
    return std::all_of(parts.begin(), parts.end(), [&](const KeyAttribute& part) {
        const auto* value = item.find(part.name);
        return value && value->type() == part.type;
    });
}

// True only for mutants: the preconditions of this write are left out.
bool is_unguarded(const PlannedWrite& plan, const MultiWrite& writes) {
    if (plan.read->request->kind == WriteItem::Kind::check) return mutated(Mutant::check_unguarded);
    return mutated(Mutant::last_action_unguarded) && &plan == &writes.plans.back();
}

void note_writer(DraftAccess writer, std::vector<DraftAccess>& writers) {
    if (std::find(writers.begin(), writers.end(), writer) == writers.end()) {
        writers.push_back(std::move(writer));
    }
}

Result<std::optional<StoredItem>> read_current(const PlannedWrite& plan,
                                               const WriteMoment& moment) {
    if (plan.schema->is_system()) {
        ROCKLOCK_ASSERT(moment.system != nullptr);
        return moment.system->item_at(plan.row);
    }
    auto value = moment.snapshot.get(Family::items, plan.row);
    if (!value) return std::move(value).error();
    return decode_current(plan, *value);
}

// Decides one write. `all` already has an empty reason for it.
Result<void> decide_one(const MultiWrite& writes, const PlannedWrite& plan,
                        const WriteMoment& moment, DecidedWrites& all) {
    Batch& batch = all.decision.batch;
    const WriteItem& request = *plan.read->request;
    std::optional<LockGate::WriteTerms> terms;
    if (request.kind != WriteItem::Kind::check) {
        std::optional<LateWrite> late;
        auto guarded = guard_write(moment.gate, *plan.schema, request, batch, late);
        if (late) all.late.push_back({&request, plan.row, *std::move(late)});
        if (!guarded) return std::move(guarded).error();
        terms = *std::move(guarded);
        if (terms) note_writer({terms->by, request.proof->owner}, all.writers);
        moment.after.add(terms, batch);
    }
    const auto current = read_current(plan, moment);
    if (!current) return Error(current.error());
    ROCKLOCK_ASSERT(all.found.size() == all.reasons.size() && !all.found.empty());
    all.found.back() = current->has_value();
    auto decided =
        decide_write(plan, *current, stamp_of(moment.version, request, terms, moment.now));
    if (!decided) return std::move(decided).error();
    append(std::move(decided->changes), all.decision);
    all.answers.push_back(std::move(decided->answer));
    if (is_unguarded(plan, writes)) return {};
    if (plan.schema->is_system()) {
        ROCKLOCK_ASSERT(moment.system != nullptr && request.kind == WriteItem::Kind::check);
        return moment.system->add_terms(plan.row, moment.snapshot, batch);
    }
    add_preconditions(plan, *current, batch.preconditions);
    return {};
}

}  // namespace

bool has_cause(const Reasons& reasons) {
    return std::any_of(reasons.begin(), reasons.end(),
                       [](const CancellationReason& reason) { return reason.code.has_value(); });
}

std::optional<CancellationReason> reason_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::condition_failed:
        case ErrorCode::invalid_argument:
        case ErrorCode::lock_required:
        case ErrorCode::stale_token:
        case ErrorCode::locked:
            return CancellationReason{error.code,         error.message,    error.item,
                                      error.item_version, error.last_write, error.blockers,
                                      error.ended};
        default:
            return std::nullopt;
    }
}

Error cancelled(Reasons reasons) {
    std::string text;
    for (const auto& reason : reasons)
        text.append(text.empty() ? "" : ", ").append(reason_name(reason));
    Error error(ErrorCode::transaction_cancelled,
                "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
                    text + "]");
    error.reasons = std::move(reasons);
    return error;
}

std::vector<std::string> MultiWrite::rows() const {
    std::vector<std::string> rows;
    for (const PlannedWrite& plan : plans) rows.push_back(plan.row);
    return rows;
}

Result<MultiWrite> read_writes(const std::vector<WriteItem>& requests) {
    MultiWrite writes;
    writes.reads.reserve(requests.size());
    for (const WriteItem& request : requests) {
        auto read = read_write(request);
        if (!read) return std::move(read).error();
        writes.reads.push_back(*std::move(read));
    }
    return writes;
}

std::optional<Error> check_transaction_size(std::size_t bytes) {
    constexpr std::size_t max_bytes = 4 << 20;
    if (bytes <= max_bytes) return std::nullopt;
    return validation_error("Transaction payload size cannot exceed 4MB. Payload Size: " +
                            std::to_string(bytes));
}

Result<void> find_tables(MultiWrite& writes, const Catalog& catalog) {
    writes.schemas.clear();
    writes.schemas.reserve(writes.reads.size());
    for (const ReadWrite& read : writes.reads) {
        auto schema = catalog.find(read.request->table);
        if (!schema) return no_such_resource();
        writes.schemas.push_back(std::move(schema));
    }
    return {};
}

bool is_bound(const MultiWrite& writes, const Catalog& catalog) {
    return writes.plans.size() == writes.reads.size() &&
           std::all_of(writes.plans.begin(), writes.plans.end(), [&](const PlannedWrite& plan) {
               return catalog.find(plan.read->request->table) == plan.schema;
           });
}

std::optional<Error> check_together(MultiWrite& writes, std::string_view twice) {
    ROCKLOCK_ASSERT(writes.schemas.size() == writes.reads.size());
    // All strings are created first, because appending would move those to which `ordered` refers.
    writes.row_keys.assign(writes.reads.size(), {});
    std::vector<std::string_view> ordered;
    ordered.reserve(writes.reads.size());
    for (std::size_t i = 0; i < writes.reads.size(); ++i) {
        const WriteItem& request = *writes.reads[i].request;
        const Schema& schema = *writes.schemas[i];
        if (auto error = check_writable(schema, request)) return error;
        if (auto error = check_empty_keys(schema, request)) return error;
        if (!has_key(schema, request.item)) continue;
        writes.row_keys[i] = row_key(schema, nullptr, request.item);
        const std::string_view key = writes.row_keys[i];
        const auto at = std::lower_bound(ordered.begin(), ordered.end(), key);
        if (at != ordered.end() && *at == key) return validation_error(std::string(twice));
        ordered.insert(at, key);
    }
    return std::nullopt;
}

Result<void> bind_writes(MultiWrite& writes, std::size_t& at) {
    ROCKLOCK_ASSERT(writes.schemas.size() == writes.reads.size());
    ROCKLOCK_ASSERT(writes.row_keys.size() == writes.reads.size());
    writes.plans.clear();
    writes.plans.reserve(writes.reads.size());
    for (at = 0; at < writes.reads.size(); ++at) {
        auto plan =
            bind_write(writes.reads[at], writes.schemas[at], std::move(writes.row_keys[at]));
        if (!plan) return std::move(plan).error();
        writes.plans.push_back(*std::move(plan));
    }
    return {};
}

Result<DecidedWrites> decide_writes(const MultiWrite& writes, const WriteMoment& moment) {
    ROCKLOCK_ASSERT(writes.plans.size() == writes.reads.size() && moment.version != 0);
    const std::size_t count = writes.plans.size();
    DecidedWrites all;
    all.answers.reserve(count);
    all.reasons.reserve(count);
    all.found.reserve(count);
    moment.after.begin();
    for (const PlannedWrite& plan : writes.plans) {
        all.reasons.emplace_back();
        all.found.push_back(false);
        auto decided = decide_one(writes, plan, moment, all);
        if (decided) continue;
        auto reason = reason_of(decided.error());
        if (!reason) return std::move(decided).error();
        all.reasons.back() = *std::move(reason);
        if (!all.refused) all.refused = std::move(decided).error();
    }
    ROCKLOCK_ASSERT(all.reasons.size() == writes.plans.size());
    ROCKLOCK_ASSERT(all.refused || all.answers.size() == writes.plans.size());
    return all;
}

std::vector<ConsumedCapacity> consumed_by(const std::vector<WriteAnswer>& answers, double factor) {
    CapacitySum sum(factor);
    for (const auto& answer : answers) sum.add(answer.consumed);
    return sum.take();
}

std::vector<WrittenCollection> collections_of(const MultiWrite& writes,
                                              const std::vector<WriteAnswer>& answers) {
    ROCKLOCK_ASSERT(answers.size() <= writes.reads.size());
    std::vector<WrittenCollection> list;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto& key = answers[i].collection_key;
        const std::string& table = writes.reads[i].request->table;
        if (!key) continue;
        const bool known = std::any_of(list.begin(), list.end(), [&](const auto& other) {
            return other.table == table && other.key == *key;
        });
        if (!known) list.push_back({table, *key});
    }
    return list;
}

}  // namespace rocklock::table
