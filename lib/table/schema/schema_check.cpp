#include "table/schema/schema_check.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "table/schema/capacity_settings.hpp"
#include "table/schema/tags.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t max_local_indexes = 5;
constexpr std::size_t max_global_indexes = 20;
constexpr std::int64_t max_units = 40'000;
constexpr std::size_t max_key_name_bytes = 255;
constexpr std::size_t max_projected = 20;

// The prefix of system tables, which show locks.
constexpr std::string_view reserved_prefix = "rocklock.";

using Definitions = std::vector<AttributeDefinition>;

const AttributeDefinition* definition(const Definitions& list, std::string_view name) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const auto& entry) { return entry.name == name; });
    return found == list.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<KeyElement>& key) {
    std::string text;
    for (const auto& element : key) text += (text.empty() ? "" : ", ") + element.attribute;
    return text;
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return "[" + text + "]";
}

std::string names_of(const Definitions& list) {
    std::string text;
    for (const auto& entry : list) text += (text.empty() ? "" : ", ") + entry.name;
    return text;
}

std::optional<Error> check_definitions(const Definitions& list) {
    std::set<std::string_view> names;
    for (const auto& [name, type] : list) {
        if (name.empty() || name.size() > max_key_name_bytes) {
            return constraint(name, "attributeDefinitions.1.member.attributeName",
                              name.empty() ? "Member must have length greater than or equal to 1"
                                           : "Member must have length less than or equal to 255");
        }
        if (!names.insert(name).second) {
            return validation_error("Cannot have two attributes with the same name");
        }
        if (type > AttributeType::binary) {
            return constraint(to_string(type), "attributeDefinitions.1.member.attributeType",
                              "Member must satisfy enum value set: [B, N, S]");
        }
    }
    return std::nullopt;
}

std::optional<Error> check_order(const std::vector<KeyElement>& key) {
    if (key.empty()) {
        return constraint("[]", "keySchema", "Member must have length greater than or equal to 1");
    }
    if (key.size() > 2) {
        return constraint(names_of(key), "keySchema",
                          "Member must have length less than or equal to 2");
    }
    if (key[0].type != KeyType::hash) {
        return validation_error(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    }
    if (key.size() == 2 && key[0].attribute == key[1].attribute) {
        return validation_error(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    }
    if (key.size() == 2 && key[1].type != KeyType::range) {
        return validation_error(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    return std::nullopt;
}

Result<KeyParts> key_parts(const std::vector<KeyElement>& key, const Definitions& definitions) {
    if (auto error = check_order(key)) return *std::move(error);
    for (const auto& element : key) {
        if (definition(definitions, element.attribute)) continue;
        if (key.size() > definitions.size()) {
            return validation_error(
                "Invalid KeySchema: Some index key attribute have no definition");
        }
        return invalid_parameter(
            "Some index key attributes are not defined in AttributeDefinitions. Keys: [" +
            names_of(key) + "], AttributeDefinitions: [" + names_of(definitions) + "]");
    }
    KeyParts parts{*definition(definitions, key[0].attribute), {}};
    if (key.size() == 2) parts.range = *definition(definitions, key[1].attribute);
    return parts;
}

std::optional<Error> check_units(const ProvisionedThroughput& throughput) {
    if (auto error = check_range(throughput.read_units, 1, INT64_MAX,
                                 "provisionedThroughput.readCapacityUnits")) {
        return error;
    }
    if (auto error = check_range(throughput.write_units, 1, INT64_MAX,
                                 "provisionedThroughput.writeCapacityUnits")) {
        return error;
    }
    if (throughput.read_units <= max_units && throughput.write_units <= max_units) {
        return std::nullopt;
    }
    return Error(ErrorCode::limit_exceeded,
                 "Subscriber limit exceeded: Cannot increase provisioned throughput to more than "
                 "40,000 units per table");
}

// Returns zero units for on-demand billing.
Result<ProvisionedThroughput> throughput_of(BillingMode billing,
                                            const std::optional<ProvisionedThroughput>& given) {
    if (billing == BillingMode::pay_per_request) {
        if (!given) return ProvisionedThroughput{};
        return invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST");
    }
    if (!given) {
        return invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
            "PROVISIONED");
    }
    // A value above the limit is reported as invalid_argument here, not as limit_exceeded.
    if (auto error = check_units(*given)) {
        error->code = ErrorCode::invalid_argument;
        return *std::move(error);
    }
    return *given;
}

std::optional<Error> check_projected_names(const std::vector<std::string>& names) {
    std::set<std::string_view> known;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > max_key_name_bytes) {
            return constraint(list_of(names), "projection.nonKeyAttributes",
                              "Member must satisfy constraint: [Member must have length less than "
                              "or equal to 255, Member must have length greater than or equal to "
                              "1]");
        }
        if (!known.insert(name).second) {
            return invalid_parameter("Duplicate element in NonKeyAttributes: " + name);
        }
    }
    return std::nullopt;
}

Result<IndexProjection> projection_of(const SecondaryIndex& index) {
    if (!index.projection || !index.projection->type) {
        return invalid_parameter("Unknown ProjectionType: null");
    }
    const IndexProjection& projection = *index.projection;
    const bool names = projection.non_key_attributes && !projection.non_key_attributes->empty();
    if (projection.type == ProjectionType::include && !names) {
        return invalid_parameter(
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
    }
    if (names) {
        if (auto error = check_projected_names(*projection.non_key_attributes)) {
            return *std::move(error);
        }
    }
    if (names && projection.non_key_attributes->size() > max_projected) {
        return constraint(list_of(*projection.non_key_attributes), "projection.nonKeyAttributes",
                          "Member must have length less than or equal to 20");
    }
    if (projection.type != ProjectionType::include && names) {
        return invalid_parameter(std::string("ProjectionType is ") +
                                 (projection.type == ProjectionType::all ? "ALL" : "KEYS_ONLY") +
                                 ", but NonKeyAttributes is specified");
    }
    return projection;
}

Error no_units_on_demand(const std::string& index) {
    return invalid_parameter(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: " + index +
        " when BillingMode is PAY_PER_REQUEST");
}

// Adds indexes to a table. Its key and billing mode must be set.
class IndexAdder {
public:
    IndexAdder(Schema& schema, const Definitions& definitions)
        : schema_(schema), definitions_(definitions) {}

    std::optional<Error> add(const SecondaryIndex& given, IndexKind kind, IndexStatus status);

private:
    std::optional<Error> check_local(const IndexSchema& index) const;
    std::optional<Error> set_throughput(IndexSchema& index, const SecondaryIndex& given) const;

    Schema& schema_;
    const Definitions& definitions_;
};

std::optional<Error> IndexAdder::check_local(const IndexSchema& index) const {
    if (!schema_.key.range) {
        return invalid_parameter(
            "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex");
    }
    if (!index.key.range) {
        return invalid_parameter("Index KeySchema does not have a range key for index: " +
                                 index.name);
    }
    if (index.key.hash == schema_.key.hash) return std::nullopt;
    return invalid_parameter(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: " +
        index.name + ". index hash key: " + index.key.hash.name +
        ", table hash key: " + schema_.key.hash.name);
}

// For a global index.
std::optional<Error> IndexAdder::set_throughput(IndexSchema& index,
                                                const SecondaryIndex& given) const {
    if (schema_.billing == BillingMode::pay_per_request && given.throughput) {
        return index.status == IndexStatus::creating
                   ? no_units_on_demand(index.name)
                   : invalid_parameter("ProvisionedThroughput should not be specified for index: " +
                                       index.name + " when BillingMode is PAY_PER_REQUEST");
    }
    auto throughput = throughput_of(schema_.billing, given.throughput);
    if (!throughput) return std::move(throughput).error();
    index.throughput = *throughput;
    const SettingsOwner owner{index.name, true};
    if (given.on_demand) {
        if (auto error = set_on_demand(index.on_demand, *given.on_demand, schema_.billing, owner)) {
            return error;
        }
    }
    if (!given.warm) return std::nullopt;
    return set_warm(index.warm, *given.warm, warm_throughput(schema_.billing, index.throughput, {}),
                    owner);
}

std::optional<Error> IndexAdder::add(const SecondaryIndex& given, IndexKind kind,
                                     IndexStatus status) {
    if (auto error = check_name(given.name, "indexName")) return error;
    if (schema_.index(given.name)) {
        return invalid_parameter("Duplicate index name: " + given.name);
    }
    auto key = key_parts(given.key, definitions_);
    if (!key) return std::move(key).error();
    auto projection = projection_of(given);
    if (!projection) return std::move(projection).error();
    IndexSchema index;
    index.number = schema_.next_index;
    index.kind = kind;
    index.name = given.name;
    index.key = *std::move(key);
    index.projection = *std::move(projection);
    index.status = status;
    if (kind == IndexKind::local) {
        if (auto error = check_local(index)) return error;
    } else {
        if (auto error = set_throughput(index, given)) return error;
    }
    ++schema_.next_index;
    schema_.indexes.push_back(std::move(index));
    return std::nullopt;
}

std::optional<Error> check_counts(const CreateTable& request) {
    if (request.local_indexes && request.local_indexes->size() > max_local_indexes) {
        return invalid_parameter("Number of LocalSecondaryIndexes exceeds per-table limit of 5");
    }
    if (!request.global_indexes) return std::nullopt;
    if (request.global_indexes->empty()) {
        return invalid_parameter("List of GlobalSecondaryIndexes is empty");
    }
    if (request.global_indexes->size() <= max_global_indexes) return std::nullopt;
    return invalid_parameter("GlobalSecondaryIndex count exceeds the per-table limit of 20");
}

std::optional<Error> add_indexes(Schema& schema, const CreateTable& request) {
    IndexAdder adder(schema, request.attributes);
    if (request.local_indexes) {
        for (const auto& index : *request.local_indexes) {
            if (auto error = adder.add(index, IndexKind::local, IndexStatus::active)) return error;
        }
    }
    if (!request.global_indexes) return std::nullopt;
    for (const auto& index : *request.global_indexes) {
        if (auto error = adder.add(index, IndexKind::global, IndexStatus::active)) return error;
    }
    return std::nullopt;
}

bool is_used(const Schema& schema, std::string_view attribute) {
    return schema.key.has(attribute) ||
           std::any_of(schema.indexes.begin(), schema.indexes.end(),
                       [&](const IndexSchema& index) { return index.key.has(attribute); });
}

std::optional<Error> check_all_used(const Schema& schema, const Definitions& definitions) {
    for (const auto& [name, type] : definitions) {
        if (is_used(schema, name)) continue;
        if (schema.indexes.empty()) {
            return invalid_parameter(
                "Number of attributes in KeySchema does not exactly match number of attributes "
                "defined in AttributeDefinitions");
        }
        return invalid_parameter("Some AttributeDefinitions are not used. AttributeDefinitions: [" +
                                 names_of(definitions) + "]");
    }
    return std::nullopt;
}

using IndexUpdate = UpdateTable::GlobalIndexUpdate;

std::string requested_units(const ProvisionedThroughput& now, const ProvisionedThroughput& asked) {
    const auto text = [](std::string_view kind, std::int64_t before, std::int64_t after) {
        const std::string name = std::string(kind) + "CapacityUnits";
        return "Current " + name + " provisioned for the table: " + std::to_string(before) +
               ". Requested " + name + ": " + std::to_string(after) + ".";
    };
    return "The requested value equals the current value. " +
           text("Read", now.read_units, asked.read_units) + " " +
           text("Write", now.write_units, asked.write_units);
}

// Checks that a request changes only one of these: throughput and billing mode, of the table and
// its indexes; one new or deleted index; the protection; the class; the encryption.
std::optional<Error> check_one_change(const UpdateTable& request) {
    bool throughput = request.billing || request.throughput || request.on_demand || request.warm;
    bool comes_or_goes = false;
    if (request.global_index_updates) {
        for (const IndexUpdate& update : *request.global_index_updates) {
            (update.update ? throughput : comes_or_goes) = true;
        }
    }
    const int changes = static_cast<int>(throughput) + static_cast<int>(comes_or_goes) +
                        static_cast<int>(request.deletion_protection.has_value()) +
                        static_cast<int>(request.table_class.has_value()) +
                        static_cast<int>(request.encryption.has_value());
    if (changes <= 1) return std::nullopt;
    return invalid_parameter(
        "Only one of these can be changed by one call: the throughput or BillingMode; an index "
        "that is created or deleted; DeletionProtectionEnabled; TableClass; SSESpecification");
}

// If a table becomes provisioned, all its global indexes must have a throughput.
std::optional<Error> check_provisioned(const Schema& before, const Schema& after) {
    if (before.billing == after.billing || after.billing != BillingMode::provisioned) {
        return std::nullopt;
    }
    for (const IndexSchema& index : after.indexes) {
        if (index.kind == IndexKind::local || index.throughput.read_units > 0) continue;
        return invalid_parameter("ProvisionedThroughput must be specified for index: " +
                                 index.name);
    }
    return std::nullopt;
}

std::optional<Error> check_index_updates(const std::vector<IndexUpdate>& updates) {
    std::set<std::string_view> names;
    std::size_t online = 0;
    for (const IndexUpdate& update : updates) {
        const int given = static_cast<int>(update.create.has_value()) +
                          static_cast<int>(update.update.has_value()) +
                          static_cast<int>(update.remove.has_value());
        if (given != 1) {
            return invalid_parameter(
                "One of GlobalSecondaryIndexUpdate's members must be given: Create, Update or "
                "Delete");
        }
        const std::string_view name = update.create   ? update.create->name
                                      : update.update ? update.update->name
                                                      : std::string_view(*update.remove);
        if (auto error = check_name(name, "globalSecondaryIndexUpdates.1.member.indexName")) {
            return error;
        }
        if (!names.insert(name).second) {
            return invalid_parameter(
                "Only one global secondary index update per index is allowed simultaneously. "
                "Index: " +
                std::string(name));
        }
        online += update.update ? 0 : 1;
    }
    if (online <= 1) return std::nullopt;
    return Error(ErrorCode::limit_exceeded,
                 "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                 "simultaneously per table");
}

std::vector<IndexSchema>::iterator find_global(Schema& schema, std::string_view name) {
    return std::find_if(schema.indexes.begin(), schema.indexes.end(), [&](const auto& index) {
        return index.kind == IndexKind::global && index.name == name;
    });
}

// Returns an error if a given definition contradicts one that is already used by a key.
std::optional<Error> check_agreement(const Schema& schema, const Definitions& given) {
    const auto known = definitions_of(schema);
    for (const auto& attribute : given) {
        const auto* before = definition(known, attribute.name);
        if (before && before->type != attribute.type) {
            return invalid_parameter("Cannot change the type of attribute " + attribute.name);
        }
    }
    return std::nullopt;
}

std::optional<Error> create_index(Schema& schema, const SecondaryIndex& index,
                                  const Definitions& given) {
    if (given.empty()) {
        return invalid_parameter("AttributeDefinitions must be given to create an index");
    }
    if (auto error = check_definitions(given)) return error;
    if (schema.index(index.name))
        return validation_error("Attempting to create an index which already exists");
    if (auto error = check_agreement(schema, given)) return error;
    const auto count = std::count_if(schema.indexes.begin(), schema.indexes.end(),
                                     [](auto& other) { return other.kind == IndexKind::global; });
    if (static_cast<std::size_t>(count) >= max_global_indexes) {
        return invalid_parameter("GlobalSecondaryIndex count exceeds the per-table limit of 20");
    }
    return IndexAdder(schema, given).add(index, IndexKind::global, IndexStatus::creating);
}

std::optional<Error> change_index_throughput(IndexSchema& index, BillingMode billing,
                                             const SecondaryIndex& given) {
    const bool other = given.on_demand || given.warm;
    if (given.throughput || !other) {
        if (billing == BillingMode::pay_per_request) return no_units_on_demand(index.name);
        auto throughput = throughput_of(billing, given.throughput);
        if (!throughput) return std::move(throughput).error();
        if (index.throughput == *throughput) {
            return validation_error("The provisioned throughput for the index " + index.name +
                                    " will not change. " +
                                    requested_units(index.throughput, *throughput));
        }
        index.warm = warm_throughput(billing, index.throughput, index.warm);
        index.throughput = *throughput;
    }
    const SettingsOwner owner{index.name, false};
    if (given.on_demand) {
        if (auto error = set_on_demand(index.on_demand, *given.on_demand, billing, owner)) {
            return error;
        }
    }
    if (!given.warm) return std::nullopt;
    return set_warm(index.warm, *given.warm, warm_throughput(billing, index.throughput, index.warm),
                    owner);
}

std::optional<Error> update_index(Schema& schema, const IndexUpdate& update,
                                  const Definitions& given) {
    if (update.create) return create_index(schema, *update.create, given);
    const auto index = find_global(schema, update.update ? update.update->name : *update.remove);
    if (index == schema.indexes.end()) return no_such_resource();
    if (update.remove) {
        schema.indexes.erase(index);
        return std::nullopt;
    }
    return change_index_throughput(*index, schema.billing, *update.update);
}

std::optional<Error> update_billing(Schema& schema, const UpdateTable& request) {
    const BillingMode billing = request.billing.value_or(schema.billing);
    if (request.billing == BillingMode::provisioned && !request.throughput) {
        return invalid_parameter(
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
    }
    const bool same_mode = billing == schema.billing;
    if (!request.throughput && same_mode) return std::nullopt;
    auto throughput = throughput_of(billing, request.throughput);
    if (!throughput) return std::move(throughput).error();
    if (same_mode && *throughput == schema.throughput) {
        return validation_error("The provisioned throughput for the table will not change. " +
                                requested_units(schema.throughput, *throughput));
    }
    schema.warm = warm_throughput(schema.billing, schema.throughput, schema.warm);
    for (IndexSchema& index : schema.indexes) {
        if (same_mode || index.kind == IndexKind::local) continue;
        index.warm = warm_throughput(schema.billing, index.throughput, index.warm);
        index.on_demand = {};
        if (billing == BillingMode::pay_per_request) index.throughput = {};
    }
    if (!same_mode) schema.on_demand = {};
    schema.billing = billing;
    schema.throughput = *throughput;
    return std::nullopt;
}

std::optional<Error> update_settings(Schema& schema, const UpdateTable& request) {
    if (request.on_demand) {
        if (auto error = set_on_demand(schema.on_demand, *request.on_demand, schema.billing, {})) {
            return error;
        }
    }
    if (request.warm) {
        const auto current = warm_throughput(schema.billing, schema.throughput, schema.warm);
        if (auto error = set_warm(schema.warm, *request.warm, current, {})) return error;
    }
    if (request.encryption) return change_encryption(schema.encryption, *request.encryption);
    return std::nullopt;
}

bool changes_nothing(const UpdateTable& request) {
    const bool updates = request.global_index_updates && !request.global_index_updates->empty();
    return !request.billing && !request.throughput && !updates && !request.deletion_protection &&
           !request.table_class && !request.on_demand && !request.warm && !request.encryption;
}

// For a new table, after its throughput is set.
std::optional<Error> set_settings(Schema& schema, const CreateTable& request) {
    schema.encryption = request.encryption;
    const SettingsOwner owner{{}, true};
    if (request.on_demand) {
        if (auto error =
                set_on_demand(schema.on_demand, *request.on_demand, schema.billing, owner)) {
            return error;
        }
    }
    if (!request.warm) return std::nullopt;
    return set_warm(schema.warm, *request.warm,
                    warm_throughput(schema.billing, schema.throughput, {}), owner);
}

}  // namespace

bool is_reserved(std::string_view name) { return name.starts_with(reserved_prefix); }

Result<Schema> schema_of(const CreateTable& request) {
    if (auto error = check_name(request.table, "tableName")) return *std::move(error);
    if (is_reserved(request.table)) {
        return validation_error("Table names that begin with 'rocklock.' are reserved: " +
                                request.table);
    }
    if (auto error = check_definitions(request.attributes)) return *std::move(error);
    Schema schema;
    schema.name = request.table;
    schema.billing = request.billing.value_or(BillingMode::provisioned);
    schema.deletion_protection = request.deletion_protection;
    schema.table_class = request.table_class;
    if (auto error = check_tags(request.tags)) return *std::move(error);
    if (auto error = check_tag_count(request.tags)) return *std::move(error);
    schema.tags = request.tags;
    auto throughput = throughput_of(schema.billing, request.throughput);
    if (!throughput) return std::move(throughput).error();
    schema.throughput = *throughput;
    if (auto error = set_settings(schema, request)) return *std::move(error);
    auto key = key_parts(request.key, request.attributes);
    if (!key) return std::move(key).error();
    schema.key = *std::move(key);
    if (auto error = check_counts(request)) return *std::move(error);
    if (auto error = add_indexes(schema, request)) return *std::move(error);
    if (auto error = check_all_used(schema, request.attributes)) return *std::move(error);
    return schema;
}

Result<Schema> schema_after(const Schema& before, const UpdateTable& request) {
    if (changes_nothing(request)) {
        return validation_error(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required");
    }
    if (auto error = check_one_change(request)) return *std::move(error);
    Schema after = before;
    if (auto error = update_billing(after, request)) return *std::move(error);
    if (request.deletion_protection) after.deletion_protection = *request.deletion_protection;
    if (request.table_class) after.table_class = request.table_class;
    if (auto error = update_settings(after, request)) return *std::move(error);
    if (request.global_index_updates) {
        const auto& updates = *request.global_index_updates;
        if (auto error = check_index_updates(updates)) return *std::move(error);
        for (const auto& update : updates) {
            if (auto error = update_index(after, update, request.attributes))
                return *std::move(error);
        }
    }
    if (auto error = check_provisioned(before, after)) return *std::move(error);
    if (auto error = check_all_used(after, request.attributes)) return *std::move(error);
    return after;
}

}  // namespace rocklock::table
