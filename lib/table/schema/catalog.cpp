#include "table/schema/catalog.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/key_codec.hpp"
#include "table/schema/layout.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t rows_per_step = 1'000;
// The estimated memory of a definition with its counters, in addition to twice the size of its
// record.
constexpr std::int64_t definition_bytes = 2'048;

// Returns a value that consists of a version only.
std::string mark(std::uint64_t version) {
    std::string value;
    append_u64(value, version);
    return value;
}

Error changed_meanwhile(std::string_view table) {
    return {ErrorCode::precondition_failed, "the definition of table " + std::string(table) +
                                                " was changed at the same time: retry"};
}

}  // namespace

Result<void> Catalog::open() {
    const auto snapshot = storage_.snapshot();
    const auto cursor =
        snapshot->scan(Family::meta, table_record_prefix, end_of_prefix(table_record_prefix));
    MutexLock lock(mutex_);
    ROCKLOCK_ASSERT(tables_.empty());
    for (; cursor->valid(); cursor->next()) {
        const std::string name(cursor->key().substr(table_record_prefix.size()));
        auto schema = decode_schema(name, cursor->value());
        if (!schema) return std::move(schema).error();
        charge(*schema, cursor->value().size());
        tables_[name] = std::make_shared<const Schema>(*std::move(schema));
    }
    return cursor->status();
}

void Catalog::charge(Schema& schema, std::size_t record_bytes) const {
    ROCKLOCK_ASSERT(schema.item_counts != nullptr && schema.definition != nullptr);
    const auto use = users_.of(schema.user);
    schema.item_counts->charge(use);
    for (const IndexSchema& index : schema.indexes) index.item_counts->charge(use);
    schema.definition->charge(use);
    const auto bytes = definition_bytes + 2 * static_cast<std::int64_t>(record_bytes);
    schema.definition->add(0, bytes - schema.definition->bytes);
}

SchemaPointer Catalog::find(std::string_view table) const {
    const auto name = arns_.name_of(table);
    if (!name) return nullptr;
    {
        MutexLock lock(mutex_);
        const auto found = tables_.find(*name);
        if (found != tables_.end()) return found->second;
    }
    for (const auto& schema : system_) {
        if (schema->name == *name) return schema;
    }
    return nullptr;
}

std::vector<std::string> Catalog::names(std::string_view after, std::size_t limit) const {
    std::vector<std::string> names;
    MutexLock lock(mutex_);
    for (auto at = tables_.upper_bound(after); at != tables_.end() && names.size() < limit; ++at) {
        names.push_back(at->first);
    }
    return names;
}

std::vector<SchemaPointer> Catalog::all() const {
    std::vector<SchemaPointer> list;
    MutexLock lock(mutex_);
    for (const auto& [name, schema] : tables_) list.push_back(schema);
    return list;
}

Result<std::uint32_t> Catalog::next_table_number() const {
    auto value = storage_.get(Family::meta, tables_key);
    if (!value) return std::move(value).error();
    if (!*value) return std::uint32_t{1};
    Reader reader(**value);
    reader.u64();
    const auto number = reader.u32();
    if (number && reader.done()) return *number;
    return Error(ErrorCode::corrupt, "the record of the last table number is damaged");
}

Result<SchemaPointer> Catalog::add(Schema schema) {
    MutexLock changing(changing_);
    if (find(schema.name)) {
        return Error(ErrorCode::resource_in_use, "Table already exists: " + schema.name);
    }
    if (!storage_.accepts_growth()) return storage_.growth_refusal();
    if (auto refused = users_.check_bytes(users_.of(schema.user).get(), definition_bytes)) {
        return *std::move(refused);
    }
    const auto number = next_table_number();
    if (!number) return Error(number.error());
    schema.number = *number;
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    std::string next = mark(*version);
    append_u32(next, *number + 1);
    Batch batch;
    batch.writes.push_back({Family::meta, std::string(tables_key), std::move(next)});
    return commit(nullptr, std::move(schema), std::move(batch));
}

Result<SchemaPointer> Catalog::replace(const SchemaPointer& before, Schema after) {
    MutexLock changing(changing_);
    ROCKLOCK_ASSERT(after.name == before->name && after.number == before->number);
    if (find(before->name) != before) return changed_meanwhile(before->name);
    const bool grows = after.indexes.size() > before->indexes.size();
    if (grows && !storage_.accepts_growth()) return storage_.growth_refusal();
    Batch batch;
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    // The rows of deleted indexes must be removed.
    for (const IndexSchema& index : before->indexes) {
        if (after.index(index.name)) continue;
        batch.writes.push_back(
            {Family::meta, pending_deletion_key(before->number, index.number), mark(*version)});
    }
    return commit(before.get(), std::move(after), std::move(batch));
}

Result<SchemaPointer> Catalog::commit(const Schema* before, Schema after, Batch batch) {
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    ROCKLOCK_ASSERT(!after.is_system());
    after.version = *version;
    const std::string key = table_record_key(after.name);
    batch.preconditions.push_back({Family::meta, key, std::nullopt});
    if (before) batch.preconditions.back().version = before->version;
    std::string record = encode_schema(after);
    const std::size_t record_bytes = record.size();
    batch.writes.push_back({Family::meta, key, std::move(record)});
    if (auto written = storage_.commit(std::move(batch)); !written) {
        return std::move(written).error();
    }
    charge(after, record_bytes);
    auto schema = std::make_shared<const Schema>(std::move(after));
    MutexLock lock(mutex_);
    tables_[schema->name] = schema;
    return schema;
}

Result<void> Catalog::remove(const SchemaPointer& before) {
    MutexLock changing(changing_);
    if (find(before->name) != before) return changed_meanwhile(before->name);
    const auto version = versions_.next();
    if (!version) return Error(version.error());
    const std::string key = table_record_key(before->name);
    Batch batch;
    batch.preconditions.push_back({Family::meta, key, before->version});
    batch.writes.push_back({Family::meta, key, std::nullopt});
    batch.writes.push_back({Family::meta, pending_deletion_key(before->number, 0), mark(*version)});
    if (auto written = storage_.commit(std::move(batch)); !written) return written;
    MutexLock lock(mutex_);
    const std::size_t erased = tables_.erase(before->name);
    ROCKLOCK_ASSERT(erased == 1);
    return {};
}

Result<std::vector<Catalog::PendingDeletion>> Catalog::pending_deletions() const {
    std::vector<PendingDeletion> list;
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::meta, pending_deletion_prefix,
                                       end_of_prefix(pending_deletion_prefix));
    for (; cursor->valid(); cursor->next()) {
        Reader reader(cursor->key().substr(pending_deletion_prefix.size()));
        const auto table = reader.u32();
        const auto index = reader.u16();
        if (!table || !index || !reader.done()) {
            return Error(ErrorCode::corrupt, "the record of rows to delete is damaged");
        }
        list.push_back({*table, *index});
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return list;
}

Result<void> Catalog::clear(const PendingDeletion& deletion) {
    const std::string rows = row_prefix(deletion.table, deletion.index);
    if (deletion.index == 0) {
        if (auto cleared = clear_rows(Family::items, rows); !cleared) return cleared;
    }
    if (auto cleared = clear_rows(Family::index, rows); !cleared) return cleared;
    Batch batch;
    batch.writes.push_back(
        {Family::meta, pending_deletion_key(deletion.table, deletion.index), std::nullopt});
    return storage_.commit(std::move(batch), Durability::written);
}

Result<void> Catalog::clear_rows(Family family, const std::string& prefix) {
    // An empty prefix would clear all tables.
    ROCKLOCK_ASSERT(!prefix.empty());
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(family, prefix, end_of_prefix(prefix));
    while (cursor->valid()) {
        Batch batch;
        for (; cursor->valid() && batch.writes.size() < rows_per_step; cursor->next()) {
            batch.writes.push_back({family, std::string(cursor->key()), std::nullopt});
        }
        if (auto written = storage_.commit(std::move(batch), Durability::written); !written) {
            return written;
        }
    }
    return cursor->status();
}

}  // namespace rocklock::table
