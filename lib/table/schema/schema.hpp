// The definition of a table as the operations use it: its keys, its indexes, and the numbers in the
// storage keys of its rows.
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

// The attributes of a key: the hash key, and a range key if there is one.
struct KeyParts {
    AttributeDefinition hash;
    std::optional<AttributeDefinition> range;

    KeyAttribute hash_attribute() const { return {hash.name, hash.type, KeyRole::hash}; }
    std::optional<KeyAttribute> range_attribute() const {
        if (!range) return std::nullopt;
        return KeyAttribute{range->name, range->type, KeyRole::range};
    }
    // Returns one or two attributes.
    std::vector<KeyAttribute> list() const;
    expression::KeySchema schema() const { return {hash_attribute(), range_attribute()}; }
    bool has(std::string_view attribute) const {
        return hash.name == attribute || (range && range->name == attribute);
    }
};

enum class IndexKind : std::uint8_t { local, global };

struct IndexSchema {
    // Part of the storage keys of its entries. Never reused for another index of the table.
    std::uint16_t number = 0;
    IndexKind kind = IndexKind::global;
    std::string name;
    KeyParts key;
    IndexProjection projection;
    ProvisionedThroughput throughput;
    OnDemandThroughput on_demand;
    // Only the part that exceeds what the throughput implies: warm_throughput().
    WarmThroughput warm;
    IndexStatus status = IndexStatus::active;
    // Shared by all definitions of the table that have this index.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
};

// The numbers of system tables begin here; those of stored tables begin at 1.
inline constexpr std::uint32_t first_system_number = 0xFFFF'FF00;

struct Schema {
    // The version of the stored record. It changes with every change of the definition.
    std::uint64_t version = 0;
    // Part of the storage keys of its rows. Never reused for another table.
    std::uint32_t number = 0;
    std::string name;
    std::string id;
    WallTime created_at;
    KeyParts key;
    BillingMode billing = BillingMode::provisioned;
    ProvisionedThroughput throughput;
    OnDemandThroughput on_demand;
    // As in IndexSchema.
    WarmThroughput warm;
    // The time when the table was created with on-demand billing, or last changed to it.
    std::optional<WallTime> on_demand_since;
    ServerSideEncryption encryption;
    bool deletion_protection = false;
    std::optional<TableClass> table_class;
    std::uint16_t next_index = 1;
    std::vector<IndexSchema> indexes;
    std::map<std::string, std::string> tags;
    // The attribute with the expiry time of items; empty if items do not expire.
    std::string ttl_attribute;
    // The binding of the table to resources.
    std::optional<Binding> binding;
    // The user towards which the bytes of the table are counted. None if they are counted towards
    // no user.
    std::optional<std::uint32_t> user;
    // For a system table: whether transactions may have conditions on its rows.
    bool can_be_checked = false;
    // Shared by all definitions of the table.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
    // The bytes of the definition itself. Shared by all definitions of the table.
    std::shared_ptr<ItemCounts> definition = std::make_shared<ItemCounts>();

    // Returns whether this is a read-only system table; see system_tables.hpp.
    bool is_system() const { return number >= first_system_number; }
    const IndexSchema* index(std::string_view index_name) const;
    bool has_local_index() const;
    // Returns whether the entries of the index contain this attribute.
    bool projects(const IndexSchema& index, std::string_view attribute) const;
};

// Returns all attributes that are keys of the table or of an index.
std::vector<AttributeDefinition> definitions_of(const Schema& schema);

TableDescription describe(const Schema& schema, const Arns& arns);

// Returns the key of an item: first the index's attributes if `index` is given, then the table's.
AttributeMap key_of(const Schema& schema, const IndexSchema* index, const Item& item);

// Encode and decode the stored record. Errors: corrupt.
std::string encode_schema(const Schema& schema);
Result<Schema> decode_schema(std::string_view table, std::string_view value);

}  // namespace rocklock::table
