#include "table/schema/index_entries.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "item/capacity.hpp"
#include "table/schema/layout.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

bool has_part(const AttributeDefinition& part, KeyRole role, const Item& item) {
    const auto* value = item.find(part.name);
    if (!value || value->type() != part.type) return false;
    return check_key_value(*value, {part.name, part.type, role}).has_value();
}

Error wrong_type(const IndexSchema& index, const AttributeDefinition& part,
                 const AttributeValue& value) {
    return invalid_parameter("Type mismatch for Index Key " + part.name +
                             " Expected: " + std::string(to_string(part.type)) + " Actual: " +
                             std::string(to_string(value.type())) + " IndexName: " + index.name);
}

Error empty_key(const IndexSchema& index, const AttributeDefinition& part) {
    const bool text = part.type == AttributeType::string;
    return validation_error(
        "One or more parameter values are not valid. A value specified for a secondary index key "
        "is not supported. The AttributeValue for a key attribute cannot contain an empty " +
        std::string(text ? "string" : "binary") + " value. IndexName: " + index.name +
        ", IndexKey: " + part.name);
}

Result<void> check_part(const IndexSchema& index, const KeyAttribute& part,
                        const AttributeValue& value) {
    const AttributeDefinition definition{std::string(part.name), part.type};
    if (value.type() != part.type) return wrong_type(index, definition, value);
    if (is_empty_key(value)) return empty_key(index, definition);
    return check_key_value(value, part);
}

// An entry as it is stored.
struct Entry {
    std::string key;
    Item item;
};

std::optional<Entry> entry_in(const Schema& schema, const IndexSchema& index, const Item* item) {
    if (!item || !has_entry(index, *item)) return std::nullopt;
    return Entry{row_key(schema, &index, *item), entry_of(schema, index, *item)};
}

}  // namespace

bool is_empty_key(const AttributeValue& value) {
    const auto* text = value.get_if<std::string>();
    const auto* binary = value.get_if<Binary>();
    return (text && text->empty()) || (binary && binary->bytes.empty());
}

bool has_entry(const IndexSchema& index, const Item& item) {
    return has_part(index.key.hash, KeyRole::hash, item) &&
           (!index.key.range || has_part(*index.key.range, KeyRole::range, item));
}

Item entry_of(const Schema& schema, const IndexSchema& index, const Item& item) {
    if (index.projection.type == ProjectionType::all) return item;
    std::vector<Attribute> attributes;
    for (const auto& attribute : item) {
        if (schema.projects(index, attribute.name)) attributes.push_back(attribute);
    }
    return Item(std::move(attributes));
}

IndexUnits change_entries(const Schema& schema, const Item* before, const Item* after,
                          std::uint64_t version, RowChanges& changes) {
    ROCKLOCK_ASSERT(before != nullptr || after != nullptr);
    IndexUnits units;
    for (const IndexSchema& index : schema.indexes) {
        const auto old_entry = entry_in(schema, index, before);
        const auto entry = entry_in(schema, index, after);
        const bool moved = old_entry && entry && old_entry->key != entry->key;
        if (old_entry && entry && !moved && old_entry->item == entry->item) continue;
        if (!old_entry && !entry) continue;
        ROCKLOCK_ASSERT(index.item_counts != nullptr);
        const std::size_t old_bytes = old_entry ? size_bytes(old_entry->item) : 0;
        const std::size_t bytes = entry ? size_bytes(entry->item) : 0;
        changes.count_changes.push_back({index.item_counts, (entry ? 1 : 0) - (old_entry ? 1 : 0),
                                         static_cast<std::int64_t>(bytes - old_bytes)});
        if (old_entry && (!entry || moved)) {
            changes.writes.push_back({Family::index, old_entry->key, std::nullopt});
            units[index.name] += write_units(old_bytes);
        }
        if (!entry) continue;
        changes.writes.push_back({Family::index, entry->key, encode_stored(version, entry->item)});
        units[index.name] += write_units(bytes);
    }
    return units;
}

std::optional<Write> new_entry(const Schema& schema, const IndexSchema& index, const Item& item,
                               std::uint64_t version) {
    auto entry = entry_in(schema, index, &item);
    if (!entry) return std::nullopt;
    return Write{Family::index, std::move(entry->key), encode_stored(version, entry->item)};
}

Result<void> check_index_keys(const Schema& schema, const Item& item, const Item* before) {
    for (const IndexSchema& index : schema.indexes) {
        for (const KeyAttribute& part : index.key.list()) {
            if (schema.key.has(part.name)) continue;
            const auto* value = item.find(part.name);
            if (!value) continue;
            const auto* old_value = before ? before->find(part.name) : nullptr;
            if (old_value && *old_value == *value) continue;
            if (auto checked = check_part(index, part, *value); !checked) return checked;
        }
    }
    return {};
}

std::optional<Error> check_key_paths(const Schema& schema,
                                     const std::vector<std::string_view>& nested) {
    if (nested.empty()) return std::nullopt;
    const auto check = [&nested](const KeyParts& key, std::string_view kind) {
        for (const KeyAttribute& part : key.list()) {
            if (std::find(nested.begin(), nested.end(), part.name) == nested.end()) continue;
            return std::optional(validation_error(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                "not allowed: " +
                std::string(kind) + ": " + std::string(part.name)));
        }
        return std::optional<Error>();
    };
    if (auto error = check(schema.key, "Key")) return error;
    for (const IndexSchema& index : schema.indexes) {
        if (auto error = check(index.key, "IndexKey")) return error;
    }
    return std::nullopt;
}

}  // namespace rocklock::table
