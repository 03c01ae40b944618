#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

constexpr ServiceWords<AttributeType, 3> type_words = {
    {{"B", AttributeType::binary}, {"N", AttributeType::number}, {"S", AttributeType::string}}};
constexpr ServiceWords<KeyType, 2> key_words = {
    {{"HASH", KeyType::hash}, {"RANGE", KeyType::range}}};
constexpr ServiceWords<ProjectionType, 3> projection_words = {
    {{"ALL", ProjectionType::all},
     {"INCLUDE", ProjectionType::include},
     {"KEYS_ONLY", ProjectionType::keys_only}}};
constexpr ServiceWords<BillingMode, 2> billing_words = {
    {{"PROVISIONED", BillingMode::provisioned}, {"PAY_PER_REQUEST", BillingMode::pay_per_request}}};
enum class EncryptionType : std::uint8_t { aes256, kms };
constexpr ServiceWords<EncryptionType, 2> encryption_words = {
    {{"AES256", EncryptionType::aes256}, {"KMS", EncryptionType::kms}}};
constexpr ServiceWords<TableClass, 2> class_words = {
    {{"STANDARD", TableClass::standard},
     {"STANDARD_INFREQUENT_ACCESS", TableClass::standard_infrequent_access}}};

// ---- Requests ----

std::vector<AttributeDefinition> read_definitions(const MemberReader& json) {
    std::vector<AttributeDefinition> list;
    const auto given = json.structures("AttributeDefinitions");
    if (!given) return list;
    for (const auto& entry : *given) {
        list.push_back({entry.required_text("AttributeName"),
                        entry.required_word("AttributeType", type_words)});
    }
    return list;
}

std::vector<KeyElement> read_key(const MemberReader& json) {
    std::vector<KeyElement> key;
    json.require("KeySchema");
    const auto given = json.structures("KeySchema");
    if (!given) return key;
    for (const auto& entry : *given) {
        key.push_back(
            {entry.required_text("AttributeName"), entry.required_word("KeyType", key_words)});
    }
    return key;
}

std::optional<ProvisionedThroughput> read_throughput(const MemberReader& json) {
    const auto given = json.structure("ProvisionedThroughput");
    if (!given) return std::nullopt;
    return ProvisionedThroughput{given->required_whole("ReadCapacityUnits"),
                                 given->required_whole("WriteCapacityUnits")};
}

std::optional<OnDemandThroughput> read_on_demand(const MemberReader& json) {
    const auto given = json.structure("OnDemandThroughput");
    if (!given) return std::nullopt;
    OnDemandThroughput limits{given->whole("MaxReadRequestUnits"),
                              given->whole("MaxWriteRequestUnits")};
    // An object without members is treated as absent.
    if (!limits.max_read_units && !limits.max_write_units) return std::nullopt;
    return limits;
}

std::optional<WarmThroughput> read_warm(const MemberReader& json) {
    const auto given = json.structure("WarmThroughput");
    if (!given) return std::nullopt;
    WarmThroughput units{given->whole("ReadUnitsPerSecond"), given->whole("WriteUnitsPerSecond")};
    if (!units.read_units && !units.write_units) return std::nullopt;
    return units;
}

std::optional<ServerSideEncryption> read_encryption(const MemberReader& json) {
    const auto given = json.structure("SSESpecification");
    if (!given) return std::nullopt;
    ServerSideEncryption encryption{given->truth("Enabled").value_or(false),
                                    given->text("KMSMasterKeyId")};
    const auto type = given->word("SSEType", encryption_words);
    const auto invalid = [&json](std::string_view text) {
        json.faults().invalid("One or more parameter values were invalid: " + std::string(text));
    };
    if (encryption.key && encryption.key->empty()) invalid("KMSMasterKeyId must not be empty");
    if (type && !encryption.enabled) invalid("SSEType can not be specified if Enabled is false");
    if (encryption.key && !encryption.enabled) {
        invalid("KMSMasterKeyId can not be specified if Enabled is false");
    }
    if (encryption.key && !type) invalid("SSEType KMS is required if KMSMasterKeyId is specified");
    if (type == EncryptionType::aes256) invalid("SSEType AES256 is not supported");
    return encryption;
}

std::optional<IndexProjection> read_projection(const MemberReader& json) {
    json.require("Projection");
    const auto given = json.structure("Projection");
    if (!given) return std::nullopt;
    return IndexProjection{given->word("ProjectionType", projection_words),
                           given->texts("NonKeyAttributes")};
}

SecondaryIndex read_index(const MemberReader& json) {
    return {json.required_text("IndexName"), read_key(json),       read_projection(json),
            read_throughput(json),           read_on_demand(json), read_warm(json)};
}

std::optional<std::vector<SecondaryIndex>> read_indexes(const MemberReader& json,
                                                        std::string_view name) {
    const auto given = json.structures(name);
    if (!given) return std::nullopt;
    std::vector<SecondaryIndex> list;
    for (const auto& entry : *given) list.push_back(read_index(entry));
    return list;
}

UpdateTable::GlobalIndexUpdate read_index_update(const MemberReader& json) {
    UpdateTable::GlobalIndexUpdate update;
    if (const auto create = json.structure("Create")) update.create = read_index(*create);
    if (const auto changed = json.structure("Update")) {
        auto on_demand = read_on_demand(*changed);
        auto warm = read_warm(*changed);
        if (!on_demand && !warm) changed->require("ProvisionedThroughput");
        update.update = SecondaryIndex{changed->required_text("IndexName"), {},        {},
                                       read_throughput(*changed),           on_demand, warm};
    }
    if (const auto removed = json.structure("Delete")) {
        update.remove = removed->required_text("IndexName");
    }
    return update;
}

// The members that Rocklock does not implement, and the feature to which each belongs. A request
// with one of these members is refused, because its sender would rely on the feature. Members that
// DynamoDB's API does not have are ignored, as in DynamoDB.
struct UnimplementedMember {
    std::string_view name;
    std::string_view feature;
};
constexpr std::string_view global_tables = "global tables are";
constexpr std::string_view vector_indexes = "vector indexes are";
constexpr std::array<UnimplementedMember, 4> not_in_create_table = {
    {{"GlobalTableSettingsReplicationMode", global_tables},
     {"GlobalTableSourceArn", global_tables},
     {"ResourcePolicy", "access control by policies is"},
     {"VectorIndexes", vector_indexes}}};
constexpr std::array<UnimplementedMember, 6> not_in_update_table = {
    {{"DisassociationProtectionEnabled", global_tables},
     {"GlobalTableSettingsReplicationMode", global_tables},
     {"GlobalTableWitnessUpdates", global_tables},
     {"MultiRegionConsistency", global_tables},
     {"ReplicaUpdates", global_tables},
     {"VectorIndexUpdates", vector_indexes}}};

void refuse_member(const MemberReader& json, std::string_view name, std::string_view feature) {
    json.faults().invalid(std::string(name) + ": " + std::string(feature) +
                          " not supported; omit this member");
}

template <std::size_t count>
void refuse_unimplemented(const MemberReader& json,
                          const std::array<UnimplementedMember, count>& members) {
    for (const auto& [name, feature] : members) {
        if (json.has(name)) refuse_member(json, name, feature);
    }
}

// Reports a fault if the request is about a stream. If `may_disable` is true, the request may state
// that streams are disabled: this is allowed for a new table, but no table has a stream that
// UpdateTable could disable.
void refuse_streams(const MemberReader& json, bool may_disable) {
    const auto streams = json.structure("StreamSpecification");
    if (!streams) return;
    streams->require("StreamEnabled");
    if (may_disable && !streams->truth("StreamEnabled").value_or(false)) return;
    refuse_member(json, "StreamSpecification", "streams are");
}

// ---- Answers ----

// Returns seconds with a fraction in milliseconds.
double seconds(WallTime time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void write_key(JsonWriter& json, const std::vector<KeyElement>& key) {
    json.key("KeySchema");
    json.begin_array();
    for (const auto& element : key) {
        json.begin_object();
        json.key("AttributeName");
        json.string(element.attribute);
        json.key("KeyType");
        json.string(word_of(element.type, key_words));
        json.end_object();
    }
    json.end_array();
}

void write_throughput(JsonWriter& json, const ProvisionedThroughput& throughput) {
    json.key("ProvisionedThroughput");
    json.begin_object();
    json.key("NumberOfDecreasesToday");
    json.number(0);
    json.key("ReadCapacityUnits");
    json.number(throughput.read_units);
    json.key("WriteCapacityUnits");
    json.number(throughput.write_units);
    json.end_object();
}

// Writes the billing mode. Omits it if the table was never an on-demand table.
void write_billing(JsonWriter& json, const TableDescription& table) {
    if (table.billing != BillingMode::pay_per_request && !table.on_demand_since) return;
    json.key("BillingModeSummary");
    json.begin_object();
    json.key("BillingMode");
    json.string(word_of(table.billing, billing_words));
    if (table.on_demand_since) {
        json.key("LastUpdateToPayPerRequestDateTime");
        json.number(seconds(*table.on_demand_since));
    }
    json.end_object();
}

// Writes -1 if there is no limit.
void write_on_demand(JsonWriter& json, const OnDemandThroughput& limits) {
    json.key("OnDemandThroughput");
    json.begin_object();
    json.key("MaxReadRequestUnits");
    json.number(limits.max_read_units.value_or(-1));
    json.key("MaxWriteRequestUnits");
    json.number(limits.max_write_units.value_or(-1));
    json.end_object();
}

void write_warm(JsonWriter& json, const WarmThroughput& units) {
    json.key("WarmThroughput");
    json.begin_object();
    json.key("ReadUnitsPerSecond");
    json.number(units.read_units.value_or(0));
    json.key("WriteUnitsPerSecond");
    json.number(units.write_units.value_or(0));
    json.key("Status");
    json.string("ACTIVE");
    json.end_object();
}

void write_encryption(JsonWriter& json, const std::string& key_arn) {
    json.key("SSEDescription");
    json.begin_object();
    json.key("Status");
    json.string("ENABLED");
    json.key("SSEType");
    json.string(word_of(EncryptionType::kms, encryption_words));
    json.key("KMSMasterKeyArn");
    json.string(key_arn);
    json.end_object();
}

void write_projection(JsonWriter& json, const IndexProjection& projection) {
    json.key("Projection");
    json.begin_object();
    if (projection.type) {
        json.key("ProjectionType");
        json.string(word_of(*projection.type, projection_words));
    }
    if (projection.non_key_attributes && !projection.non_key_attributes->empty()) {
        json.key("NonKeyAttributes");
        json.begin_array();
        for (const auto& name : *projection.non_key_attributes) json.string(name);
        json.end_array();
    }
    json.end_object();
}

// Writes the members of an index for which the description of a table has other names.
void write_arn_and_counts(JsonWriter& json, const IndexDescription& index) {
    json.key("IndexArn");
    json.string(index.arn);
    json.key("ItemCount");
    json.number(index.entry_count);
    json.key("IndexSizeBytes");
    json.number(index.size_bytes);
}

std::string_view status_word(IndexStatus status) {
    switch (status) {
        case IndexStatus::creating:
            return "CREATING";
        case IndexStatus::active:
            return "ACTIVE";
        case IndexStatus::deleting:
            return "DELETING";
    }
    return {};
}

void write_global_part(JsonWriter& json, const IndexDescription& index, BillingMode billing) {
    json.key("IndexStatus");
    json.string(status_word(index.status));
    if (index.status == IndexStatus::creating) {
        json.key("Backfilling");
        json.boolean(true);
    }
    write_throughput(json, index.throughput);
    write_warm(json, index.warm);
    if (billing == BillingMode::pay_per_request) write_on_demand(json, index.on_demand);
}

void write_index(JsonWriter& json, const IndexDescription& index,
                 std::optional<BillingMode> billing) {
    json.begin_object();
    json.key("IndexName");
    json.string(index.name);
    write_key(json, index.key);
    write_projection(json, index.projection);
    if (billing) write_global_part(json, index, *billing);
    write_arn_and_counts(json, index);
    json.end_object();
}

// `billing` is the billing mode of the table. None for local indexes, which have neither a status
// nor a throughput of their own.
void write_indexes(JsonWriter& json, std::string_view name,
                   const std::vector<IndexDescription>& indexes,
                   std::optional<BillingMode> billing) {
    if (indexes.empty()) return;
    json.key(name);
    json.begin_array();
    for (const auto& index : indexes) write_index(json, index, billing);
    json.end_array();
}

void write_definitions(JsonWriter& json, const std::vector<AttributeDefinition>& definitions) {
    json.key("AttributeDefinitions");
    json.begin_array();
    for (const auto& [name, type] : definitions) {
        json.begin_object();
        json.key("AttributeName");
        json.string(name);
        json.key("AttributeType");
        json.string(word_of(type, type_words));
        json.end_object();
    }
    json.end_array();
}

// Writes the first members, which all descriptions of a table contain.
void write_names_of(JsonWriter& json, const TableDescription& table, std::string_view status) {
    json.key("TableName");
    json.string(table.name);
    json.key("TableArn");
    json.string(table.arn);
    json.key("TableId");
    json.string(table.id);
    json.key("TableStatus");
    json.string(status);
    write_throughput(json, table.throughput);
    write_billing(json, table);
    json.key("ItemCount");
    json.number(table.item_count);
    json.key("TableSizeBytes");
    json.number(table.size_bytes);
}

}  // namespace

CreateTable read_create_table(const MemberReader& json) {
    CreateTable request;
    request.table = required_table(json);
    json.require("AttributeDefinitions");
    request.attributes = read_definitions(json);
    request.key = read_key(json);
    request.billing = json.word("BillingMode", billing_words);
    request.throughput = read_throughput(json);
    request.local_indexes = read_indexes(json, "LocalSecondaryIndexes");
    request.global_indexes = read_indexes(json, "GlobalSecondaryIndexes");
    request.deletion_protection = json.truth("DeletionProtectionEnabled").value_or(false);
    request.table_class = json.word("TableClass", class_words);
    request.tags = read_tags(json);
    request.on_demand = read_on_demand(json);
    request.warm = read_warm(json);
    request.encryption = read_encryption(json).value_or(ServerSideEncryption());
    refuse_streams(json, true);
    refuse_unimplemented(json, not_in_create_table);
    return request;
}

UpdateTable read_update_table(const MemberReader& json) {
    UpdateTable request;
    request.table = required_table(json);
    request.attributes = read_definitions(json);
    request.billing = json.word("BillingMode", billing_words);
    request.throughput = read_throughput(json);
    request.deletion_protection = json.truth("DeletionProtectionEnabled");
    request.table_class = json.word("TableClass", class_words);
    request.on_demand = read_on_demand(json);
    request.warm = read_warm(json);
    request.encryption = read_encryption(json);
    refuse_streams(json, false);
    refuse_unimplemented(json, not_in_update_table);
    if (const auto updates = json.structures("GlobalSecondaryIndexUpdates")) {
        auto& list = request.global_index_updates.emplace();
        for (const auto& update : *updates) list.push_back(read_index_update(update));
    }
    return request;
}

ListTables read_list_tables(const MemberReader& json) {
    ListTables request;
    if (auto after = json.text("ExclusiveStartTableName")) {
        check_resource_name(*after, json.path_of("ExclusiveStartTableName"), json.faults());
        request.after = *std::move(after);
    }
    request.limit = json.whole("Limit");
    return request;
}

void write_description(JsonWriter& json, const TableDescription& table) {
    json.begin_object();
    write_names_of(json, table, "ACTIVE");
    write_definitions(json, table.attributes);
    write_key(json, table.key);
    json.key("CreationDateTime");
    json.number(seconds(table.created_at));
    write_indexes(json, "LocalSecondaryIndexes", table.local_indexes, std::nullopt);
    write_indexes(json, "GlobalSecondaryIndexes", table.global_indexes, table.billing);
    const auto& limits = table.on_demand;
    if (limits.max_read_units || limits.max_write_units) write_on_demand(json, limits);
    write_warm(json, table.warm);
    if (table.encryption_key_arn) write_encryption(json, *table.encryption_key_arn);
    json.key("DeletionProtectionEnabled");
    json.boolean(table.deletion_protection);
    if (table.table_class) {
        json.key("TableClassSummary");
        json.begin_object();
        json.key("TableClass");
        json.string(word_of(*table.table_class, class_words));
        json.end_object();
    }
    json.end_object();
}

void write_short_description(JsonWriter& json, const TableDescription& table) {
    json.begin_object();
    write_names_of(json, table, "DELETING");
    json.end_object();
}

void write_names(JsonWriter& json, const TableNames& names) {
    json.key("TableNames");
    json.begin_array();
    for (const auto& name : names.names) json.string(name);
    json.end_array();
    if (!names.last) return;
    json.key("LastEvaluatedTableName");
    json.string(*names.last);
}

}  // namespace rocklock::table_json
