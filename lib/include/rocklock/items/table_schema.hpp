// The requests that create, describe, change and delete tables. The types and members correspond to
// DynamoDB's operations and parameters.
//
// A table exists when TableService::create_table() returns, and does not exist any more when
// delete_table() returns. No table ever has DynamoDB's status CREATING or DELETING.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

struct AttributeDefinition {
    std::string name;
    // Must be string, number or binary.
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

// The attributes that the entries of an index contain in addition to the keys of the index and the
// table.
struct IndexProjection {
    std::optional<ProjectionType> type;
    // Used only if `type` is `include`.
    std::optional<std::vector<std::string>> non_key_attributes;

    friend bool operator==(const IndexProjection&, const IndexProjection&) = default;
};

enum class BillingMode : std::uint8_t { provisioned, pay_per_request };

// The throughput of a table or a global index in units per second. It is only stored and described;
// no request is throttled because of it.
struct ProvisionedThroughput {
    std::int64_t read_units = 0;
    std::int64_t write_units = 0;

    friend bool operator==(const ProvisionedThroughput&, const ProvisionedThroughput&) = default;
};

// The throughput limits of an on-demand table or global index, in units per second; each limit is
// at least 1. They are only stored and described; no request is throttled because of them.
//
// In a request that changes the limits, an absent limit stays unchanged, and -1 removes the limit.
struct OnDemandThroughput {
    std::optional<std::int64_t> max_read_units;
    std::optional<std::int64_t> max_write_units;

    friend bool operator==(const OnDemandThroughput&, const OnDemandThroughput&) = default;
};

// The throughput that a table or a global index supports immediately, in units per second. It is
// only stored and described. It can never be decreased.
struct WarmThroughput {
    std::optional<std::int64_t> read_units;
    std::optional<std::int64_t> write_units;

    friend bool operator==(const WarmThroughput&, const WarmThroughput&) = default;
};

// Encryption at rest with a key of AWS's key management service. The setting is only stored and
// described; Rocklock does not encrypt the store.
struct ServerSideEncryption {
    bool enabled = false;
    // The key: an id, an alias or an ARN (Amazon resource name). If absent, the account's default
    // key for tables is described.
    std::optional<std::string> key;

    friend bool operator==(const ServerSideEncryption&, const ServerSideEncryption&) = default;
};

// A local or a global index.
struct SecondaryIndex {
    std::string name;
    std::vector<KeyElement> key;
    std::optional<IndexProjection> projection;
    // This member and the two members below are for global indexes only.
    std::optional<ProvisionedThroughput> throughput;
    std::optional<OnDemandThroughput> on_demand{};
    std::optional<WarmThroughput> warm{};
};

// The price class of a table. It is only stored and described.
enum class TableClass : std::uint8_t { standard, standard_infrequent_access };

struct CreateTable {
    std::string table;
    std::vector<AttributeDefinition> attributes;
    std::vector<KeyElement> key;
    std::optional<BillingMode> billing;
    std::optional<ProvisionedThroughput> throughput;
    // An absent list is allowed, but an empty list is refused, as in DynamoDB.
    std::optional<std::vector<SecondaryIndex>> local_indexes;
    std::optional<std::vector<SecondaryIndex>> global_indexes;
    bool deletion_protection = false;
    std::optional<TableClass> table_class;
    std::map<std::string, std::string> tags;
    std::optional<OnDemandThroughput> on_demand{};
    std::optional<WarmThroughput> warm{};
    ServerSideEncryption encryption{};
    // The uid of a user. The bytes of the table count towards the limit UserLimits::table_bytes of
    // this user. If none, they count towards no limit.
    std::optional<UserId> user{};
};

// Changes one of the following:
//   - the throughput of the table and of its indexes, with or without `billing`;
//   - the set of global indexes, by the creation or deletion of one index;
//   - the deletion protection;
//   - the table class;
//   - the encryption.
// A request for several of these changes fails with invalid_argument.
struct UpdateTable {
    // Exactly one of the three members must be set.
    struct GlobalIndexUpdate {
        std::optional<SecondaryIndex> create;
        // The name of an existing index, and at least one of the three throughput settings.
        std::optional<SecondaryIndex> update;
        // The name of the index to delete.
        std::optional<std::string> remove;
    };

    std::string table;
    // The definitions of the key attributes of a new index.
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
    // Entries for items that existed before the index are still being added. The index cannot yet
    // be read.
    creating,
    active,
    // The call that returned this description has deleted the index.
    deleting,
};

struct IndexDescription {
    std::string name;
    std::vector<KeyElement> key;
    IndexProjection projection;
    ProvisionedThroughput throughput;
    IndexStatus status = IndexStatus::active;
    // The table's ARN, "/index/" and the name of the index.
    std::string arn;
    std::uint64_t entry_count = 0;
    std::uint64_t size_bytes = 0;
    OnDemandThroughput on_demand{};
    // Used only for global indexes; both members of WarmThroughput are then set.
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
    // None if no table class was ever set.
    std::optional<TableClass> table_class;
    // "arn:aws:dynamodb:<region>:<account>:table/<name>".
    std::string arn;
    // The number of items and their size in bytes. Both are usually exact. If a crash has lost
    // changes of the two numbers, they are those of the last TableService::close(), until
    // TableService::sweep_expired() has counted the items again.
    std::uint64_t item_count = 0;
    std::uint64_t size_bytes = 0;
    OnDemandThroughput on_demand{};
    // Both members of WarmThroughput are set.
    WarmThroughput warm{};
    // The time at which the table last became an on-demand table, because it was created or
    // changed. None if it never was one.
    std::optional<WallTime> on_demand_since{};
    // The ARN of the key in ServerSideEncryption, if encryption is enabled.
    std::optional<std::string> encryption_key_arn{};
};

struct ListTables {
    // Only names after this name are listed. A table with this name need not exist. If empty, all
    // names are listed.
    std::string after;
    // The maximum number of names in the page: 1 to 100. If none, 100.
    std::optional<std::int64_t> limit;
};

struct TableNames {
    // In bytewise order.
    std::vector<std::string> names;
    // The `after` of the next request, if more names remain; otherwise none.
    std::optional<std::string> last;
};

}  // namespace rocklock
