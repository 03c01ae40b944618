// Tables: how they are described, made, changed and deleted. The names are those of DynamoDB's
// operations and parameters.
//
// A table that was made is there at once, and one that was deleted is gone at once: none is ever
// seen as CREATING or DELETING.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

struct AttributeDefinition {
    std::string name;
    // string, number or binary.
    AttributeType type = AttributeType::string;

    friend bool operator==(const AttributeDefinition&, const AttributeDefinition&) = default;
};

enum class KeyType : std::uint8_t { hash, range };

struct KeyElement {
    std::string attribute;
    KeyType type = KeyType::hash;

    friend bool operator==(const KeyElement&, const KeyElement&) = default;
};

enum class ProjectionType : std::uint8_t { keys_only, include, all };

// What entries of an index hold besides the keys of index and table.
struct IndexProjection {
    std::optional<ProjectionType> type;
    // With `include` only.
    std::optional<std::vector<std::string>> non_key_attributes;

    friend bool operator==(const IndexProjection&, const IndexProjection&) = default;
};

enum class BillingMode : std::uint8_t { provisioned, pay_per_request };

// Kept and told, and nothing is slowed down by it.
struct ProvisionedThroughput {
    std::int64_t read_units = 0;
    std::int64_t write_units = 0;

    friend bool operator==(const ProvisionedThroughput&, const ProvisionedThroughput&) = default;
};

// Local or global.
struct SecondaryIndex {
    std::string name;
    std::vector<KeyElement> key;
    std::optional<IndexProjection> projection;
    // Of global ones.
    std::optional<ProvisionedThroughput> throughput;
};

// What the service charges; it is kept and told.
enum class TableClass : std::uint8_t { standard, standard_infrequent_access };

struct CreateTable {
    std::string table;
    std::vector<AttributeDefinition> attributes;
    std::vector<KeyElement> key;
    std::optional<BillingMode> billing;
    std::optional<ProvisionedThroughput> throughput;
    // Nothing is another thing than none.
    std::optional<std::vector<SecondaryIndex>> local_indexes;
    std::optional<std::vector<SecondaryIndex>> global_indexes;
    bool deletion_protection = false;
    std::optional<TableClass> table_class;
    std::map<std::string, std::string> tags;
};

// One change besides the table's name and `attributes`: of throughput, the table's and its
// indexes', with or without `billing`; of one index that is created or removed; of the protection;
// of the class.
struct UpdateTable {
    // One of the three.
    struct GlobalIndexUpdate {
        std::optional<SecondaryIndex> create;
        // Its name and throughput.
        std::optional<SecondaryIndex> update;
        // Its name.
        std::optional<std::string> remove;
    };

    std::string table;
    std::vector<AttributeDefinition> attributes;
    std::optional<BillingMode> billing;
    std::optional<ProvisionedThroughput> throughput;
    std::optional<std::vector<GlobalIndexUpdate>> global_index_updates;
    std::optional<bool> deletion_protection;
    std::optional<TableClass> table_class;
};

enum class IndexStatus : std::uint8_t {
    // Entries of items that were there before it are still being added. It cannot be read yet.
    creating,
    active,
    // Was there until the call that tells it.
    deleting,
};

struct IndexDescription {
    std::string name;
    std::vector<KeyElement> key;
    IndexProjection projection;
    ProvisionedThroughput throughput;
    IndexStatus status = IndexStatus::active;
    // The table's, "/index/" and the name.
    std::string arn;
    std::uint64_t entry_count = 0;
    std::uint64_t size_bytes = 0;
};

struct TableDescription {
    std::string name;
    // A UUID.
    std::string id;
    WallTime created_at;
    std::vector<AttributeDefinition> attributes;
    std::vector<KeyElement> key;
    BillingMode billing = BillingMode::provisioned;
    ProvisionedThroughput throughput;
    std::vector<IndexDescription> local_indexes;
    std::vector<IndexDescription> global_indexes;
    bool deletion_protection = false;
    // Where one was ever given.
    std::optional<TableClass> table_class;
    // "arn:aws:dynamodb:<region>:<account>:table/<name>".
    std::string arn;
    // Exact but for what was lost of them in a crash: then as of the last orderly close until the
    // items have been counted, which calls of sweep_expired() do.
    std::uint64_t item_count = 0;
    std::uint64_t size_bytes = 0;
};

struct ListTables {
    // Names behind this one, which need not be there.
    std::string after;
    // 1 to 100.
    std::optional<std::int64_t> limit;
};

struct TableNames {
    // In order of their bytes.
    std::vector<std::string> names;
    // Where more remain.
    std::optional<std::string> last;
};

}  // namespace rocklock
