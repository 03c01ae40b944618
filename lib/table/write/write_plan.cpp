#include "table/write/write_plan.hpp"

#include <array>
#include <utility>

#include "base/assert.hpp"
#include "base/time_format.hpp"
#include "item/capacity.hpp"
#include "table/read/capacity_report.hpp"
#include "table/read/system_rows.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

using Kind = WriteItem::Kind;

expression::RequestKind request_kind(Kind kind) {
    switch (kind) {
        case Kind::put:
            return expression::RequestKind::put;
        case Kind::update:
            return expression::RequestKind::update;
        case Kind::remove:
        case Kind::check:
            break;
    }
    return expression::RequestKind::remove;
}

std::optional<Error> check_return_values(const WriteItem& request) {
    if (request.kind == Kind::update) return std::nullopt;
    if (request.return_values == ReturnValues::none ||
        request.return_values == ReturnValues::all_old) {
        return std::nullopt;
    }
    return validation_error("ReturnValues can only be ALL_OLD or NONE");
}

std::optional<Error> check_writer(const WriteItem& request) {
    if (request.by.size() > limits::name_bytes) {
        return validation_error("The name of the writer has more than " +
                                std::to_string(limits::name_bytes) + " bytes");
    }
    return std::nullopt;
}

std::optional<Error> check_updated_keys(const Schema& schema, const expression::Update& update) {
    std::vector<std::string_view> keys{schema.key.hash.name};
    if (schema.key.range) keys.emplace_back(schema.key.range->name);
    if (auto error = expression::check_keys(update, keys)) return error;
    return check_key_paths(schema, expression::nested_attributes(update));
}

Result<void> check_key_of(const Schema& schema, const WriteItem& request) {
    if (request.kind != Kind::put) return check_key(request.item, schema.key.list());
    for (const KeyAttribute& part : schema.key.list()) {
        if (auto checked = check_key_of_item(request.item, part); !checked) return checked;
    }
    return check_index_keys(schema, request.item, nullptr);
}

Error failed_condition(const WriteItem& request, const std::optional<StoredItem>& current) {
    Error error(ErrorCode::condition_failed, "The conditional request failed");
    if (current) {
        error.item_version = current->version;
        error.last_write = current->last_write;
    }
    if (request.return_item_on_failure && current) {
        error.item = std::make_shared<const Item>(current->item);
    }
    return error;
}

// Returns the error for an item that does not have the expected version.
Error other_version(const WriteItem& request, const std::optional<StoredItem>& current) {
    Error error = failed_condition(request, current);
    ROCKLOCK_ASSERT(request.expected_version.has_value());
    error.message += ": the item has version " + std::to_string(error.item_version) + ", not " +
                     std::to_string(*request.expected_version);
    if (const auto& last = error.last_write) {
        error.message += "; written by " + last->by + " at " + format_time(last->at);
    }
    return error;
}

// Returns whether the decision or its answer depends on attributes of the current item.
bool needs_current_item(const PlannedWrite& plan) {
    const WriteItem& request = *plan.read->request;
    const bool replaces = request.kind == Kind::put || request.kind == Kind::remove;
    return !replaces || plan.read->expressions.condition ||
           request.return_values != ReturnValues::none || request.return_item_on_failure ||
           !plan.schema->indexes.empty();
}

// Returns the item after the write, or null if there will be no item. An updated item is
// constructed in `updated`.
Result<const Item*> item_after(const PlannedWrite& plan, const std::optional<StoredItem>& current,
                               std::optional<Item>& updated) {
    const WriteItem& request = *plan.read->request;
    const Item* const before = current ? &current->item : nullptr;
    const Item* const none = nullptr;
    if (request.kind == Kind::put) return &request.item;
    if (request.kind == Kind::remove) return none;
    const auto& update = plan.read->expressions.update;
    if (request.kind == Kind::check || (!update && current)) return before;
    if (!update) return &request.item;
    if (!current && expression::only_takes_away(*update)) return none;
    auto item = expression::apply(*update, before ? *before : request.item, current.has_value());
    if (!item) return std::move(item).error();
    if (auto checked = check_item(*item, ItemWrite::update); !checked) {
        return std::move(checked).error();
    }
    if (auto checked = check_index_keys(*plan.schema, *item, before); !checked) {
        return std::move(checked).error();
    }
    return &updated.emplace(*std::move(item));
}

// Returns the requested attributes of the old or new item, or nullopt if there are none.
std::optional<Item> returned(const PlannedWrite& plan, const Item* before, const Item* after) {
    const ReturnValues wanted = plan.read->request->return_values;
    const bool of_old = wanted == ReturnValues::all_old || wanted == ReturnValues::updated_old;
    const Item* from = of_old ? before : after;
    if (wanted == ReturnValues::none || !from) return std::nullopt;
    if (wanted == ReturnValues::all_old || wanted == ReturnValues::all_new) return *from;
    const auto& update = plan.read->expressions.update;
    if (!update) return std::nullopt;
    Item selected = expression::project(expression::updated_paths(*update), *from);
    return selected.empty() ? std::nullopt : std::optional(std::move(selected));
}

}  // namespace

Result<ReadWrite> read_write(const WriteItem& request) {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    if (auto error = check_return_values(request)) return *std::move(error);
    if (auto error = check_writer(request)) return *std::move(error);
    auto read = expression::read_expressions(request_kind(request.kind), request.expressions);
    if (!read) return std::move(read).error();
    if (request.kind == Kind::put) {
        if (auto checked = check_item(request.item, ItemWrite::put); !checked) {
            return std::move(checked).error();
        }
    }
    return ReadWrite{&request, *std::move(read)};
}

Result<PlannedWrite> bind_write(const ReadWrite& read, SchemaPointer schema, std::string row) {
    ROCKLOCK_ASSERT(read.request != nullptr && schema != nullptr);
    if (auto error = check_writable(*schema, *read.request)) return *std::move(error);
    if (auto checked = check_key_of(*schema, *read.request); !checked) {
        return std::move(checked).error();
    }
    if (read.expressions.update) {
        if (auto error = check_updated_keys(*schema, *read.expressions.update)) {
            return *std::move(error);
        }
    }
    if (row.empty()) row = row_key(*schema, nullptr, read.request->item);
    ROCKLOCK_ASSERT(!schema->is_system() || read.request->kind == Kind::check);
    return PlannedWrite{&read, std::move(schema), std::move(row)};
}

Result<std::optional<StoredItem>> decode_current(const PlannedWrite& plan,
                                                 const std::optional<std::string>& value) {
    if (!value) return std::optional<StoredItem>();
    const std::string_view bytes(*value);
    auto stored = needs_current_item(plan) ? decode_stored(bytes) : measure_stored(bytes);
    if (!stored) return std::move(stored).error();
    return std::optional(*std::move(stored));
}

Result<DecidedWrite> decide_write(const PlannedWrite& plan,
                                  const std::optional<StoredItem>& current, const Stamp& stamp) {
    static const Item no_item;
    ROCKLOCK_ASSERT(plan.read != nullptr && plan.schema != nullptr && !plan.row.empty());
    const WriteItem& request = *plan.read->request;
    const Item* before = current ? &current->item : nullptr;
    const std::uint64_t current_version = current ? current->version : 0;
    if (request.expected_version && *request.expected_version != current_version) {
        return other_version(request, current);
    }
    const auto& condition = plan.read->expressions.condition;
    if (condition && !expression::holds(*condition, before ? *before : no_item)) {
        return failed_condition(request, current);
    }
    std::optional<Item> updated;
    const auto written = item_after(plan, current, updated);
    if (!written) return Error(written.error());
    const Item* after = *written;

    DecidedWrite decided;
    const bool writes = request.kind != Kind::check && (before || after);
    const std::size_t old_bytes = before ? current->bytes : 0;
    const std::size_t bytes = after ? size_bytes(*after) : 0;
    IndexUnits index_units;
    if (writes) {
        ROCKLOCK_ASSERT(stamp.version != 0 && !plan.schema->is_system());
        decided.changes.writes.push_back({Family::items, plan.row, std::nullopt});
        if (after) decided.changes.writes.back().value = encode_stored(stamp, *after);
        decided.changes.count_changes.push_back({plan.schema->item_counts,
                                                 (after ? 1 : 0) - (before ? 1 : 0),
                                                 static_cast<std::int64_t>(bytes - old_bytes)});
        index_units = change_entries(*plan.schema, before, after, stamp.version, decided.changes);
        if (after) decided.answer.version = stamp.version;
    }
    ROCKLOCK_ASSERT(request.kind != Kind::check || decided.changes.writes.empty());
    decided.answer.attributes = returned(plan, before, after);
    decided.answer.consumed = report_write(*plan.schema, request.return_capacity,
                                           write_units(std::max(old_bytes, bytes)), index_units);
    if (request.return_collection_metrics && plan.schema->has_local_index()) {
        const std::string& hash = plan.schema->key.hash.name;
        decided.answer.collection_key = AttributeMap{{hash, *request.item.find(hash)}};
    }
    return decided;
}

Stamp stamp_of(std::uint64_t version, const WriteItem& request,
               const std::optional<LockGate::WriteTerms>& terms, WallTime now) {
    const std::string& by = terms ? terms->by : request.by;
    if (by.empty()) return {version};
    return {version, LastWrite{by, now}};
}

void add_preconditions(const PlannedWrite& plan, const std::optional<StoredItem>& current,
                       std::vector<Precondition>& preconditions) {
    ROCKLOCK_ASSERT(!plan.schema->is_system());
    preconditions.push_back({Family::items, plan.row, std::nullopt});
    if (current) preconditions.back().version = current->version;
    preconditions.push_back(unchanged(*plan.schema));
}

void add_removal(const Schema& schema, const std::string& row, const StoredItem& current,
                 Decision& decision) {
    RowChanges changes;
    changes.writes.push_back({Family::items, row, std::nullopt});
    changes.count_changes.push_back(
        {schema.item_counts, -1, -static_cast<std::int64_t>(current.bytes)});
    change_entries(schema, &current.item, nullptr, current.version, changes);
    append(std::move(changes), decision);
    decision.batch.preconditions.push_back({Family::items, row, current.version});
}

Precondition unchanged(const Schema& schema) {
    return {Family::meta, table_record_key(schema.name), schema.version};
}

}  // namespace rocklock::table
