#include "table/schema/schema.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "table/schema/capacity_settings.hpp"

namespace rocklock::table {
namespace {

std::vector<KeyElement> elements(const KeyParts& key) {
    std::vector<KeyElement> list{{key.hash.name, KeyType::hash}};
    if (key.range) list.push_back({key.range->name, KeyType::range});
    return list;
}

// Returns the count, or 0 if it is negative: concurrent writers add in any order, so it may be
// temporarily negative.
std::uint64_t non_negative(const std::atomic<std::int64_t>& item_counts) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(item_counts.load(), 0));
}

void add_definitions(std::vector<AttributeDefinition>& list, const KeyParts& key) {
    const auto add = [&list](const AttributeDefinition& attribute) {
        if (std::find(list.begin(), list.end(), attribute) == list.end()) list.push_back(attribute);
    };
    add(key.hash);
    if (key.range) add(*key.range);
}

void copy_part(const AttributeDefinition& part, const Item& item, AttributeMap& key) {
    if (const auto* value = item.find(part.name)) key.set(part.name, *value);
}

void copy_key(const KeyParts& parts, const Item& item, AttributeMap& key) {
    copy_part(parts.hash, item, key);
    if (parts.range) copy_part(*parts.range, item, key);
}

}  // namespace

const IndexSchema* Schema::index(std::string_view index_name) const {
    const auto found = std::find_if(indexes.begin(), indexes.end(), [&](const IndexSchema& index) {
        return index.name == index_name;
    });
    return found == indexes.end() ? nullptr : &*found;
}

bool Schema::has_local_index() const {
    return std::any_of(indexes.begin(), indexes.end(),
                       [](const IndexSchema& index) { return index.kind == IndexKind::local; });
}

bool Schema::projects(const IndexSchema& index, std::string_view attribute) const {
    if (index.projection.type == ProjectionType::all) return true;
    if (key.has(attribute) || index.key.has(attribute)) return true;
    if (!index.projection.non_key_attributes) return false;
    const auto& names = *index.projection.non_key_attributes;
    return std::find(names.begin(), names.end(), attribute) != names.end();
}

std::vector<AttributeDefinition> definitions_of(const Schema& schema) {
    std::vector<AttributeDefinition> list;
    add_definitions(list, schema.key);
    for (const IndexSchema& index : schema.indexes) add_definitions(list, index.key);
    return list;
}

TableDescription describe(const Schema& schema, const Arns& arns) {
    ROCKLOCK_ASSERT(schema.item_counts != nullptr);
    TableDescription description;
    description.arn = arns.of_table(schema.name);
    description.item_count = non_negative(schema.item_counts->count);
    description.size_bytes = non_negative(schema.item_counts->bytes);
    description.name = schema.name;
    description.id = schema.id;
    description.created_at = schema.created_at;
    description.key = elements(schema.key);
    description.billing = schema.billing;
    description.throughput = schema.throughput;
    description.on_demand = schema.on_demand;
    description.warm = warm_throughput(schema.billing, schema.throughput, schema.warm);
    description.on_demand_since = schema.on_demand_since;
    if (schema.encryption.enabled) {
        description.encryption_key_arn = arns.of_key(schema.encryption.key.value_or(""));
    }
    description.deletion_protection = schema.deletion_protection;
    description.table_class = schema.table_class;
    description.attributes = definitions_of(schema);
    for (const IndexSchema& index : schema.indexes) {
        auto& list =
            index.kind == IndexKind::local ? description.local_indexes : description.global_indexes;
        list.push_back({index.name, elements(index.key), index.projection, index.throughput,
                        index.status, arns.of_index(schema.name, index.name),
                        non_negative(index.item_counts->count),
                        non_negative(index.item_counts->bytes), index.on_demand,
                        warm_throughput(schema.billing, index.throughput, index.warm)});
    }
    return description;
}

AttributeMap key_of(const Schema& schema, const IndexSchema* index, const Item& item) {
    AttributeMap key;
    if (index) copy_key(index->key, item, key);
    copy_key(schema.key, item, key);
    return key;
}

}  // namespace rocklock::table
