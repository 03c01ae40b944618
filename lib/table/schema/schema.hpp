// A table as the operations need it: what its keys are, which indexes it has, and the numbers that
// its rows and theirs lie under.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/table_schema.hpp>
#include <rocklock/result.hpp>

#include "expression/key_condition.hpp"
#include "item/item_limits.hpp"
#include "table/schema/arns.hpp"
#include "table/schema/binding.hpp"
#include "table/schema/item_counts.hpp"

namespace rocklock::table {

// The attributes of a key: one, or two with a range key.
struct KeyParts {
    AttributeDefinition hash;
    std::optional<AttributeDefinition> range;

    KeyAttribute hash_attribute() const { return {hash.name, hash.type, KeyRole::hash}; }
    std::optional<KeyAttribute> range_attribute() const {
        if (!range) return std::nullopt;
        return KeyAttribute{range->name, range->type, KeyRole::range};
    }
    // One or two of them.
    std::vector<KeyAttribute> list() const;
    expression::KeySchema schema() const { return {hash_attribute(), range_attribute()}; }
    bool has(std::string_view attribute) const {
        return hash.name == attribute || (range && range->name == attribute);
    }
};

enum class IndexKind : std::uint8_t { local, global };

struct IndexSchema {
    // Its entries lie under it. No other index of the table, before or after, has the same.
    std::uint16_t number = 0;
    IndexKind kind = IndexKind::global;
    std::string name;
    KeyParts key;
    IndexProjection projection;
    ProvisionedThroughput throughput;
    OnDemandThroughput on_demand;
    // As far as it is more than the throughput implies: warm_throughput().
    WarmThroughput warm;
    IndexStatus status = IndexStatus::active;
    // The same in each definition of the table that has this index.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
};

// The tables of the system's own have the numbers from here on; stored ones begin at 1.
inline constexpr std::uint32_t first_system_number = 0xFFFF'FF00;

struct Schema {
    // Of the record, and so of the whole definition: it changes with every change of it.
    std::uint64_t version = 0;
    // Its rows lie under it. No other table, before or after, has the same.
    std::uint32_t number = 0;
    std::string name;
    std::string id;
    WallTime created_at;
    KeyParts key;
    BillingMode billing = BillingMode::provisioned;
    ProvisionedThroughput throughput;
    OnDemandThroughput on_demand;
    // As of an index.
    WarmThroughput warm;
    // When it was last made, or changed, to be on demand.
    std::optional<WallTime> on_demand_since;
    ServerSideEncryption encryption;
    bool deletion_protection = false;
    std::optional<TableClass> table_class;
    std::uint16_t next_index = 1;
    std::vector<IndexSchema> indexes;
    std::map<std::string, std::string> tags;
    // Whose items expire; empty: they do not.
    std::string ttl_attribute;
    // To locks.
    std::optional<Binding> binding;
    // Whose bytes its rows count towards; none: nobody's.
    std::optional<std::uint32_t> user;
    // Of a system's table: whether transactions may have conditions of it.
    bool can_be_checked = false;
    // The same in each definition of the table.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
    // The bytes of the definition itself; the same in each definition of the table.
    std::shared_ptr<ItemCounts> definition = std::make_shared<ItemCounts>();

    // One of the system's own, which is only read: system_tables.hpp.
    bool is_system() const { return number >= first_system_number; }
    const IndexSchema* index(std::string_view index_name) const;
    bool has_local_index() const;
    // Whether an entry of the index holds this attribute.
    bool projects(const IndexSchema& index, std::string_view attribute) const;
};

// Of all attributes that are keys of the table or of an index.
std::vector<AttributeDefinition> definitions_of(const Schema& schema);

TableDescription describe(const Schema& schema, const Arns& arns);

// The key of an item: of the table, or with the attributes of the index before it.
AttributeMap key_of(const Schema& schema, const IndexSchema* index, const Item& item);

// As it is stored, and back. Errors: corrupt.
std::string encode_schema(const Schema& schema);
Result<Schema> decode_schema(std::string_view table, std::string_view value);

}  // namespace rocklock::table
