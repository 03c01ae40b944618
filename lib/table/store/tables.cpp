// CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables.
#include <algorithm>
#include <array>
#include <utility>

#include "base/random.hpp"
#include "item/key_codec.hpp"
#include "table/schema/schema_check.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

constexpr std::int64_t max_names = 100;

// Returns a random UUID: version 4 of RFC 4122.
std::string random_uuid() {
    auto bytes = random_bytes<16>();
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[bytes[i] >> 4U];
        text += digits[bytes[i] & 0x0FU];
    }
    return text;
}

}  // namespace

Result<TableDescription> TableStore::create_table(const CreateTable& request) {
    if (const auto name = arns_.name_of(request.table); name && *name != request.table) {
        CreateTable named = request;
        named.table = *name;
        return create_table(named);
    }
    auto wanted = schema_of(request);
    if (!wanted) return std::move(wanted).error();
    wanted->id = random_uuid();
    wanted->user = request.user;
    wanted->created_at = clock_.now().wall;
    if (wanted->billing == BillingMode::pay_per_request) {
        wanted->on_demand_since = wanted->created_at;
    }
    const auto added = catalog_.add(*std::move(wanted));
    if (!added) return Error(added.error());
    return describe(**added, arns_);
}

Result<TableDescription> TableStore::describe_table(const std::string& table) {
    if (auto error = check_table(table, "tableName")) return *std::move(error);
    const auto schema = catalog_.find(table);
    if (!schema) return no_such_table(table);
    if (auto counted = count_if_small(schema); !counted) return std::move(counted).error();
    return describe(*schema, arns_);
}

Result<TableNames> TableStore::list_tables(const ListTables& request) {
    const std::int64_t limit = request.limit.value_or(max_names);
    if (auto error = check_range(limit, 1, max_names, "limit")) return *std::move(error);
    TableNames answer;
    // Requests one more name, to find out whether more remain.
    answer.names = catalog_.names(request.after, static_cast<std::size_t>(limit) + 1);
    if (answer.names.size() > static_cast<std::size_t>(limit)) {
        answer.names.pop_back();
        answer.last = answer.names.back();
    }
    return answer;
}

Result<TableDescription> TableStore::update_table(const UpdateTable& request) {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    while (true) {
        const auto before = catalog_.find(request.table);
        if (!before) return no_such_table(request.table);
        if (before->is_system()) return only_read(before->name);
        auto after = schema_after(*before, request);
        if (!after) return std::move(after).error();
        if (after->billing != before->billing && after->billing == BillingMode::pay_per_request) {
            after->on_demand_since = clock_.now().wall;
        }
        auto replaced = catalog_.replace(before, *std::move(after));
        if (!replaced && replaced.error().code == ErrorCode::precondition_failed) continue;
        if (!replaced) return std::move(replaced).error();
        return update_index_entries(before, *std::move(replaced));
    }
}

// Removes the entries of deleted indexes, fills a new index, and returns the description.
Result<TableDescription> TableStore::update_index_entries(const SchemaPointer& before,
                                                          SchemaPointer schema) {
    for (const IndexSchema& index : before->indexes) {
        if (schema->index(index.name)) continue;
        if (auto cleared = catalog_.clear({before->number, index.number}); !cleared) {
            return std::move(cleared).error();
        }
    }
    if (schema->next_index != before->next_index) {
        auto filled = fill_index(schema->name, before->next_index);
        if (!filled) return std::move(filled).error();
        schema = *std::move(filled);
    }
    TableDescription answer = describe(*schema, arns_);
    // The answer still contains the deleted index, with the status `deleting`.
    for (auto& index : describe(*before, arns_).global_indexes) {
        if (schema->index(index.name)) continue;
        index.status = IndexStatus::deleting;
        answer.global_indexes.push_back(std::move(index));
    }
    return answer;
}

Result<TableDescription> TableStore::delete_table(const std::string& table) {
    if (auto error = check_table(table, "tableName")) return *std::move(error);
    while (true) {
        const auto schema = catalog_.find(table);
        if (!schema) return no_such_table(table);
        if (schema->is_system()) return only_read(schema->name);
        if (schema->deletion_protection) {
            return validation_error(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first.");
        }
        if (schema->binding) {
            return Error(ErrorCode::resource_in_use,
                         "The table is bound to locks: unbind it first: " + table);
        }
        auto removed = catalog_.remove(schema);
        if (!removed && removed.error().code == ErrorCode::precondition_failed) continue;
        if (!removed) return std::move(removed).error();
        if (auto cleared = catalog_.clear({schema->number, 0}); !cleared) {
            return std::move(cleared).error();
        }
        return describe(*schema, arns_);
    }
}

Result<SchemaPointer> TableStore::fill_index(const std::string& table, std::uint16_t index) {
    while (true) {
        const SchemaPointer schema = catalog_.find(table);
        if (!schema) return no_such_table(table);
        Schema after = *schema;
        const auto filled = std::find_if(after.indexes.begin(), after.indexes.end(),
                                         [&](const auto& other) { return other.number == index; });
        // The index was deleted meanwhile.
        if (filled == after.indexes.end()) return no_such_resource();
        if (auto done = fill_entries(*schema, *filled); !done) return std::move(done).error();
        filled->status = IndexStatus::active;
        auto replaced = catalog_.replace(schema, std::move(after));
        if (replaced || replaced.error().code != ErrorCode::precondition_failed) return replaced;
    }
}

Result<void> TableStore::fill_entries(const Schema& schema, const IndexSchema& index) {
    const std::string rows = row_prefix(schema, nullptr);
    // Writes after this snapshot also write the entries of the index.
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::items, rows, end_of_prefix(rows));
    for (; cursor->valid(); cursor->next()) {
        auto filled = fill_entry(schema, index, std::string(cursor->key()));
        if (!filled) return filled;
    }
    return cursor->status();
}

Result<void> TableStore::fill_entry(const Schema& schema, const IndexSchema& index,
                                    const std::string& row) {
    const auto decide = [&]() -> Result<Decision> {
        Decision decision;
        auto current = read_row(row);
        if (!current) return std::move(current).error();
        if (!*current) return decision;
        const StoredItem& stored = **current;
        auto entry = new_entry(schema, index, stored.item, stored.version);
        if (!entry) return decision;
        // If a write after the definition was changed has already written the entry, keep it.
        const auto known = storage_.get(entry->family, entry->key);
        if (!known) return Error(known.error());
        if (*known) return decision;
        const auto bytes = size_bytes(entry_of(schema, index, stored.item));
        decision.count_changes.push_back({index.item_counts, 1, static_cast<std::int64_t>(bytes)});
        decision.batch.preconditions.push_back({Family::items, row, stored.version});
        decision.batch.writes.push_back(*std::move(entry));
        return decision;
    };
    // Not synced: the new definition, which opens the index to readers, is synced after all
    // entries.
    return commit_decision({row}, Durability::written, decide);
}

}  // namespace rocklock::table
