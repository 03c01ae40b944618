// BatchGetItem and TransactGetItems.
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "expression/request.hpp"
#include "item/capacity.hpp"
#include "table/read/capacity_report.hpp"
#include "table/read/system_rows.hpp"
#include "table/schema/request_limits.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"
#include "table/write/multi_write.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t max_answer_bytes = 16 << 20;

using expression::RequestExpressions;
using expression::RequestKind;

// One item as it was read.
struct Found {
    std::optional<Item> item;
    std::size_t bytes = 0;
};

// The source of the items of one request.
struct ReadMoment {
    const Snapshot& snapshot;
    const SystemRows& system;
};

Result<Found> read_one(const ReadMoment& moment, const Schema& schema, const std::string& row,
                       const RequestExpressions& read) {
    ROCKLOCK_ASSERT(!row.empty());
    auto stored = read_item(moment.snapshot, moment.system, schema, row);
    if (!stored) return std::move(stored).error();
    if (!*stored) return Found{};
    Item& item = (*stored)->item;
    const std::size_t bytes = size_bytes(item);
    return Found{read.projection ? expression::project(*read.projection, item) : std::move(item),
                 bytes};
}

std::optional<Error> check_counts(const BatchGet& request) {
    std::size_t count = 0;
    for (const auto& table : request.tables) {
        if (auto error = check_table(table.table, "requestItems")) return error;
        if (table.keys.empty()) {
            return constraint("[]", "requestItems." + table.table + ".member.keys",
                              "Member must have length greater than or equal to 1");
        }
        count += table.keys.size();
    }
    if (count == 0) {
        return constraint("{}", "requestItems",
                          "Member must have length greater than or equal to 1");
    }
    if (count <= max_batch_keys) return std::nullopt;
    return validation_error("Too many items requested for the BatchGetItem call");
}

// The part of a batch for one table.
struct PlannedKeys {
    const BatchGet::Keys* request = nullptr;
    RequestExpressions read;
    SchemaPointer schema;
    std::vector<std::string> rows;
};

Result<void> find_rows(PlannedKeys& plan, std::set<std::string>& known) {
    for (const AttributeMap& key : plan.request->keys) {
        if (auto checked = check_key(key, plan.schema->key.list()); !checked) return checked;
        plan.rows.push_back(row_key(*plan.schema, nullptr, key));
        if (!known.insert(plan.rows.back()).second) {
            return validation_error("Provided list of item keys contains duplicates");
        }
    }
    if (auto error = check_projected_paths(*plan.schema, plan.read)) return *std::move(error);
    return {};
}

// An answer under construction.
struct Filled {
    BatchGetAnswer answer;
    CapacitySum consumed;
    std::size_t bytes = 0;
};

// Reads items until the answer is full. The remaining keys are added to `unprocessed`.
Result<void> read_keys(const PlannedKeys& plan, const ReadMoment& moment, ReturnCapacity wanted,
                       GuardedRead& guard, Filled& filled) {
    BatchGetAnswer::Items& items = filled.answer.tables.emplace_back();
    items.table = plan.request->table;
    ROCKLOCK_ASSERT(plan.rows.size() == plan.request->keys.size());
    std::optional<BatchGet::Keys> left;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        if (filled.bytes >= max_answer_bytes) {
            if (!left)
                left = BatchGet::Keys{
                    plan.request->table, {}, plan.request->consistent, plan.request->expressions};
            left->keys.push_back(plan.request->keys[i]);
            continue;
        }
        guard.see(*plan.schema, plan.request->keys[i]);
        auto found = read_one(moment, *plan.schema, plan.rows[i], plan.read);
        if (!found) return std::move(found).error();
        filled.bytes += found->bytes;
        const auto units = read_units(found->bytes, plan.request->consistent);
        filled.consumed.add(report_read(*plan.schema, nullptr, wanted, units, 0));
        if (found->item) items.items.push_back(*std::move(found->item));
    }
    if (left) filled.answer.unprocessed.push_back(*std::move(left));
    return {};
}

Result<Filled> read_tables(const std::vector<PlannedKeys>& plans, const ReadMoment& moment,
                           ReturnCapacity wanted, GuardedRead& guard) {
    Filled filled;
    for (const auto& plan : plans) {
        auto done = read_keys(plan, moment, wanted, guard, filled);
        if (!done) return std::move(done).error();
    }
    return filled;
}

// One read of a transaction. Lifetime: borrows the request.
struct PlannedGet {
    const GetItem* request = nullptr;
    RequestExpressions read;
    SchemaPointer schema;
    std::string row;
};

// Errors: invalid_argument if the request does not fit the table's definition
Result<void> check_get(const PlannedGet& plan) {
    if (auto checked = check_key(plan.request->key, plan.schema->key.list()); !checked) {
        return checked;
    }
    if (auto error = check_projected_paths(*plan.schema, plan.read)) return *std::move(error);
    return {};
}

Result<void> find_rows(std::vector<PlannedGet>& plans) {
    std::set<std::string> known;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        PlannedGet& plan = plans[i];
        auto checked = check_get(plan);
        if (!checked) {
            Reasons reasons(plans.size());
            reasons[i] = *reason_of(checked.error());
            return cancelled(std::move(reasons));
        }
        plan.row = row_key(*plan.schema, nullptr, plan.request->key);
        if (!known.insert(plan.row).second) {
            return validation_error(
                "Transaction request cannot include multiple operations on one item");
        }
    }
    return {};
}

// Returns a snapshot that is consistent with the rows of system tables. Reads the rows between two
// snapshots, and repeats this until the records that they rest on are the same in both.
Result<std::unique_ptr<Snapshot>> moment_with(SystemRows& system, const Storage& storage,
                                              Clock& clock) {
    if (!system.any()) return storage.snapshot();
    while (true) {
        const auto before = storage.snapshot();
        if (auto found = system.read(); !found) return std::move(found).error();
        Batch terms;
        if (auto added = system.add_terms(*before, terms); !added) return std::move(added).error();
        auto moment = storage.snapshot();
        const auto so = still_holds(terms, *moment, clock.now().boot);
        if (!so) return Error(so.error());
        if (*so) return moment;
    }
}

// The snapshot from which all items are read, except for a mutant.
class OneMoment {
public:
    OneMoment(const Storage& storage, std::unique_ptr<Snapshot> snapshot)
        : storage_(storage), snapshot_(std::move(snapshot)) {}
    const Snapshot& get() {
        if (mutated(Mutant::reads_of_many_moments)) snapshot_ = storage_.snapshot();
        return *snapshot_;
    }

private:
    const Storage& storage_;
    std::unique_ptr<Snapshot> snapshot_;
};

Result<TransactGetAnswer> read_together(const std::vector<PlannedGet>& plans, OneMoment& moment,
                                        SystemRows& system, ReturnCapacity wanted,
                                        GuardedRead& guard) {
    TransactGetAnswer answer;
    std::size_t bytes = 0;
    CapacitySum consumed(transaction_factor);
    for (const PlannedGet& plan : plans) {
        guard.see(*plan.schema, plan.request->key);
        auto found = read_one({moment.get(), system}, *plan.schema, plan.row, plan.read);
        if (!found) return std::move(found).error();
        bytes += found->bytes;
        if (auto error = check_transaction_size(bytes)) return *std::move(error);
        consumed.add(report_read(*plan.schema, nullptr, wanted, read_units(found->bytes, true), 0));
        answer.items.push_back(std::move(found->item));
    }
    ROCKLOCK_ASSERT(answer.items.size() == plans.size());
    answer.consumed = consumed.take();
    return answer;
}

}  // namespace

Result<BatchGetAnswer> TableStore::batch_get(const BatchGet& request) {
    if (auto error = check_counts(request)) return *std::move(error);
    std::vector<PlannedKeys> plans;
    for (const auto& table : request.tables) {
        auto read = expression::read_expressions(RequestKind::get, table.expressions);
        if (!read) return std::move(read).error();
        plans.push_back({&table, *std::move(read), nullptr, {}});
    }
    for (auto& plan : plans) {
        auto found = schema(plan.request->table);
        if (!found) return std::move(found).error();
        plan.schema = *std::move(found);
    }
    std::set<std::string> known;
    for (auto& plan : plans) {
        if (auto rows = find_rows(plan, known); !rows) return std::move(rows).error();
    }
    SystemRows system(options_.system);
    for (const auto& plan : plans) {
        for (std::size_t i = 0; i < plan.rows.size(); ++i) {
            system.want(*plan.schema, plan.rows[i], plan.request->keys[i]);
        }
    }
    auto filled =
        read_guarded(options_.gate, request.proof, [&](GuardedRead& guard) -> Result<Filled> {
            if (auto found = system.read(); !found) return std::move(found).error();
            const auto snapshot = storage_.snapshot();
            return read_tables(plans, {*snapshot, system}, request.return_capacity, guard);
        });
    if (!filled) return std::move(filled).error();
    filled->answer.consumed = filled->consumed.take();
    return std::move(filled->answer);
}

Result<TransactGetAnswer> TableStore::transact_get(const TransactGet& request) {
    if (request.gets.empty() || request.gets.size() > max_actions) {
        return constraint(request.gets.empty() ? "[]" : "...", "transactItems",
                          request.gets.empty()
                              ? "Member must have length greater than or equal to 1"
                              : "Member must have length less than or equal to 100");
    }
    std::vector<PlannedGet> plans;
    for (const GetItem& get : request.gets) {
        if (auto error = check_table(get.table, "tableName")) return *std::move(error);
        auto read = expression::read_expressions(RequestKind::get, get.expressions);
        if (!read) return std::move(read).error();
        plans.push_back({&get, *std::move(read), nullptr, {}});
    }
    for (PlannedGet& plan : plans) {
        auto found = schema(plan.request->table);
        if (!found) return std::move(found).error();
        plan.schema = *std::move(found);
    }
    if (auto bound = find_rows(plans); !bound) return std::move(bound).error();
    SystemRows system(options_.system);
    for (const PlannedGet& plan : plans) {
        system.want(*plan.schema, plan.row, plan.request->key);
    }
    return read_guarded(
        options_.gate, request.proof, [&](GuardedRead& guard) -> Result<TransactGetAnswer> {
            auto snapshot = moment_with(system, storage_, clock_);
            if (!snapshot) return std::move(snapshot).error();
            OneMoment moment(storage_, *std::move(snapshot));
            return read_together(plans, moment, system, request.return_capacity, guard);
        });
}

}  // namespace rocklock::table
