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

#include <boost/container/static_vector.hpp>

#include <rocklock/identity.hpp>
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
    boost::container::static_vector<KeyAttribute, 2> list() const {
        boost::container::static_vector<KeyAttribute, 2> parts{hash_attribute()};
        if (range) parts.push_back(*range_attribute());
        return parts;
    }
    expression::KeySchema schema() const { return {hash_attribute(), range_attribute()}; }
    bool has(std::string_view attribute) const {
        return hash.name == attribute || (range && range->name == attribute);
    }
};

enum class IndexKind : std::uint8_t { local, global };

struct IndexSchema {
    // A part of the storage keys of the index's entries. The number is never reused for another
    // index of the table.
    std::uint16_t number = 0;
    IndexKind kind = IndexKind::global;
    std::string name;
    KeyParts key;
    IndexProjection projection;
    ProvisionedThroughput throughput;
    OnDemandThroughput on_demand;
    // The stored value. Descriptions contain the result of warm_throughput(), which also depends on
    // the throughput.
    WarmThroughput warm;
    IndexStatus status = IndexStatus::active;
    // The counts of the index's entries. Shared by all definitions of the table that have this
    // index.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
};

// The number of the first system table. The numbers of stored tables begin at 1.
inline constexpr std::uint32_t first_system_number = 0xFFFF'FF00;

struct Schema {
    // The version of the stored record. It changes with every change of the definition.
    std::uint64_t version = 0;
    // A part of the storage keys of the table's rows. The number is never reused for another table.
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
    // The attribute that contains the expiry time of an item. Empty if items do not expire.
    std::string ttl_attribute;
    // The binding of the table to resources.
    std::optional<Binding> binding;
    // The user towards which the bytes of the table are counted, or nullopt if there is no such
    // user.
    std::optional<UserId> user;
    // For a system table, whether transactions may have conditions on its rows.
    bool can_be_checked = false;
    // Shared by all definitions of the table.
    std::shared_ptr<ItemCounts> item_counts = std::make_shared<ItemCounts>();
    // The bytes of the definition. Shared by all definitions of the table.
    std::shared_ptr<ItemCounts> definition = std::make_shared<ItemCounts>();

    // Returns whether this is a read-only system table; see system_tables.hpp.
    bool is_system() const { return number >= first_system_number; }
    const IndexSchema* index(std::string_view index_name) const;
    bool has_local_index() const;
    // Returns whether the entries of the index contain this attribute.
    bool projects(const IndexSchema& index, std::string_view attribute) const;
};

// Returns all attributes that are part of the key of the table or of an index.
std::vector<AttributeDefinition> definitions_of(const Schema& schema);

TableDescription describe(const Schema& schema, const Arns& arns);

// Returns the key of an item. If `index` is not null, the key contains the key attributes of the
// index and those of the table.
AttributeMap key_of(const Schema& schema, const IndexSchema* index, const Item& item);

// Encode and decode the stored record. Errors: corrupt.
std::string encode_schema(const Schema& schema);
Result<Schema> decode_schema(std::string_view table, std::string_view value);

}  // namespace rocklock::table
