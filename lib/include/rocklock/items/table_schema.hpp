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

// Limits of a table or a global index on demand, in units per second: 1 or more each. They are
// stored and described, and no request is slowed down by them.
//
// In a change an absent limit stays as it is, and -1 removes it.
struct OnDemandThroughput {
    std::optional<std::int64_t> max_read_units;
    std::optional<std::int64_t> max_write_units;

    friend bool operator==(const OnDemandThroughput&, const OnDemandThroughput&) = default;
};

// What a table or a global index bears at once, in units per second. It is stored and described;
// nothing depends on it. It never falls.
struct WarmThroughput {
    std::optional<std::int64_t> read_units;
    std::optional<std::int64_t> write_units;

    friend bool operator==(const WarmThroughput&, const WarmThroughput&) = default;
};

// Encryption at rest with a key of the key management service. It is stored and described: the
// store is encrypted by the file system below it, or not at all.
struct ServerSideEncryption {
    bool enabled = false;
    // An id, an alias or an ARN. Absent: the account's key for tables.
    std::optional<std::string> key;

    friend bool operator==(const ServerSideEncryption&, const ServerSideEncryption&) = default;
};

// Local or global.
struct SecondaryIndex {
    std::string name;
    std::vector<KeyElement> key;
    std::optional<IndexProjection> projection;
    // Of global ones.
    std::optional<ProvisionedThroughput> throughput;
    std::optional<OnDemandThroughput> on_demand{};
    std::optional<WarmThroughput> warm{};
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
    std::optional<OnDemandThroughput> on_demand{};
    std::optional<WarmThroughput> warm{};
    ServerSideEncryption encryption{};
    // The user whose limit of bytes the table counts towards (UserLimits). None: nobody's.
    std::optional<std::uint32_t> user{};
};

// One change besides the table's name and `attributes`: of throughput of any kind, the table's and
// its indexes', with or without `billing`; of one index that is created or removed; of the
// protection; of the class; of the encryption.
struct UpdateTable {
    // One of the three.
    struct GlobalIndexUpdate {
        std::optional<SecondaryIndex> create;
        // Its name, and its throughput of one kind or several.
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
    std::optional<OnDemandThroughput> on_demand{};
    std::optional<WarmThroughput> warm{};
    std::optional<ServerSideEncryption> encryption{};
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
    OnDemandThroughput on_demand{};
    // Of global ones, with both members.
    WarmThroughput warm{};
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
    OnDemandThroughput on_demand{};
    // With both members.
    WarmThroughput warm{};
    // When it was last made, or changed, to be on demand.
    std::optional<WallTime> on_demand_since{};
    // The ARN of the key that it is said to be encrypted with.
    std::optional<std::string> encryption_key_arn{};
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
