// Describes the members of the requests and answers of TableService, for FrameReader and
// FrameWriter. lock_members.hpp defines the functions of a codec.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/items/table.hpp>

#include "wire/error_names.hpp"
#include "wire/lock_members.hpp"
#include "wire/table_frame.hpp"
#include "wire/table_words.hpp"

namespace rocklock {

// ---- Parts of requests and answers ----

template <typename Codec, A<LockProof> T>
void describe(Codec& codec, T& proof) {
    codec.required("Session", proof.session);
    codec.optional("Token", proof.token);
}

template <typename Codec, A<NamePlaceholder> T>
void describe(Codec& codec, T& name) {
    codec.required("Placeholder", name.placeholder);
    codec.required("Name", name.name);
}

template <typename Codec, A<ValuePlaceholder> T>
void describe(Codec& codec, T& value) {
    codec.required("Placeholder", value.placeholder);
    codec.required("Value", value.value);
}

template <typename Codec, A<AttributeUpdate> T>
void describe(Codec& codec, T& update) {
    codec.required("Name", update.attribute);
    codec.required("Action", update.action);
    codec.optional("Value", update.value);
}

template <typename Codec, A<ExpectedAttribute> T>
void describe(Codec& codec, T& expected) {
    codec.required("Name", expected.attribute);
    codec.optional("Value", expected.value);
    codec.optional("Exists", expected.exists);
    codec.optional("Operator", expected.comparison);
    codec.optional("Values", expected.values);
}

template <typename Codec, A<AttributeCondition> T>
void describe(Codec& codec, T& condition) {
    codec.required("Name", condition.attribute);
    codec.required("Operator", condition.comparison);
    codec.required("Values", condition.values);
}

template <typename Codec, A<ExpressionParameters> T>
void describe(Codec& codec, T& parameters) {
    codec.optional("Update", parameters.update);
    codec.optional("Condition", parameters.condition);
    codec.optional("KeyCondition", parameters.key_condition);
    codec.optional("Filter", parameters.filter);
    codec.optional("Projection", parameters.projection);
    codec.optional("Names", parameters.placeholders.names);
    codec.optional("Values", parameters.placeholders.values);
    codec.optional("AttributeUpdates", parameters.attribute_updates);
    codec.optional("Expected", parameters.expected);
    codec.optional("ConditionalOperator", parameters.conditional_operator);
    codec.optional("KeyConditions", parameters.key_conditions);
    codec.optional("AttributeFilter", parameters.attribute_filter);
    codec.optional("AttributesToGet", parameters.attributes_to_get);
}

template <typename Codec, A<LastWrite> T>
void describe(Codec& codec, T& last) {
    codec.required("By", last.by);
    codec.required("At", last.at);
}

// An element of the map ConsumedCapacity::local_indexes or global_indexes.
struct IndexUnits {
    std::string index;
    double units = 0;
};

template <typename Codec, A<IndexUnits> T>
void describe(Codec& codec, T& units) {
    codec.required("IndexName", units.index);
    codec.required("Units", units.units);
}

template <typename Codec, typename Map>
void describe_units(Codec& codec, FrameTag name, Map& map) {
    std::vector<IndexUnits> list;
    for (const auto& [index, units] : map) list.push_back({index, units});
    codec.optional(name, list);
    if constexpr (Codec::reading) {
        for (auto& [index, units] : list) map.insert_or_assign(std::move(index), units);
    }
}

template <typename Codec, A<ConsumedCapacity> T>
void describe(Codec& codec, T& consumed) {
    codec.required("TableName", consumed.table);
    codec.required("Units", consumed.units);
    codec.optional("TableUnits", consumed.table_units);
    describe_units(codec, "LocalIndexes", consumed.local_indexes);
    describe_units(codec, "GlobalIndexes", consumed.global_indexes);
}

// ---- Writes and reads of items ----

template <typename Codec, A<TypedWrite> T>
void describe(Codec& codec, T& typed) {
    auto& write = typed.write;
    codec.required("Kind", write.kind);
    codec.required("TableName", write.table);
    codec.required("Item", write.item);
    codec.required("Expressions", write.expressions);
    codec.optional("ReturnValues", write.return_values);
    codec.optional("ReturnItemOnFailure", write.return_item_on_failure);
    codec.optional("ReturnCapacity", write.return_capacity);
    codec.optional("ReturnCollectionMetrics", write.return_collection_metrics);
    codec.optional("Proof", write.proof);
    codec.optional("Version", write.expected_version);
    codec.optional("By", write.by);
    codec.optional("After", write.after);
    codec.optional("Draft", write.from_draft);
}

// Describes a list of WriteItem as a list of TypedWrite, since codecs encode a WriteItem as the
// write of a draft.
template <typename Codec, typename Writes>
void describe_writes(Codec& codec, FrameTag name, Writes& writes) {
    std::vector<TypedWrite> typed;
    if constexpr (!Codec::reading) {
        for (const WriteItem& write : writes) typed.push_back({write});
    }
    codec.required(name, typed);
    if constexpr (Codec::reading) {
        for (TypedWrite& each : typed) writes.push_back(std::move(each.write));
    }
}

template <typename Codec, A<WriteAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.optional("Attributes", answer.attributes);
    codec.required("Version", answer.version);
    codec.optional("Consumed", answer.consumed);
    codec.optional("CollectionKey", answer.collection_key);
}

template <typename Codec, A<GetItem> T>
void describe(Codec& codec, T& get) {
    codec.required("TableName", get.table);
    codec.required("Key", get.key);
    codec.optional("ConsistentRead", get.consistent);
    codec.required("Expressions", get.expressions);
    codec.optional("ReturnCapacity", get.return_capacity);
    codec.optional("Proof", get.proof);
}

template <typename Codec, A<GetAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.optional("Item", answer.item);
    codec.required("Version", answer.version);
    codec.optional("LastWrite", answer.last_write);
    codec.optional("Consumed", answer.consumed);
}

template <typename Codec, A<PageOptions> T>
void describe(Codec& codec, T& options) {
    codec.optional("IndexName", options.index);
    codec.optional("ConsistentRead", options.consistent);
    codec.optional("Limit", options.limit);
    codec.optional("StartKey", options.start_key);
    codec.optional("Select", options.select);
    codec.optional("ReturnCapacity", options.return_capacity);
    codec.optional("Proof", options.proof);
}

template <typename Codec, A<Query> T>
void describe(Codec& codec, T& query) {
    codec.required("TableName", query.table);
    codec.required("Expressions", query.expressions);
    codec.required("Options", query.options);
    codec.required("Forward", query.forward);
}

template <typename Codec, A<Scan> T>
void describe(Codec& codec, T& scan) {
    codec.required("TableName", scan.table);
    codec.required("Expressions", scan.expressions);
    codec.required("Options", scan.options);
    codec.optional("Segment", scan.segment);
    codec.optional("TotalSegments", scan.total_segments);
}

template <typename Codec, A<Page> T>
void describe(Codec& codec, T& page) {
    codec.required("Items", page.items);
    codec.required("Count", page.count);
    codec.required("Scanned", page.scanned);
    codec.optional("LastKey", page.last_key);
    codec.optional("Consumed", page.consumed);
}

// ---- Several items ----

template <typename Codec, A<BatchWrite> T>
void describe(Codec& codec, T& batch) {
    describe_writes(codec, "Writes", batch.writes);
    codec.optional("ReturnCapacity", batch.return_capacity);
    codec.optional("ReturnCollectionMetrics", batch.return_collection_metrics);
}

template <typename Codec, A<WrittenCollection> T>
void describe(Codec& codec, T& collection) {
    codec.required("TableName", collection.table);
    codec.required("Key", collection.key);
}

template <typename Codec, A<BatchWriteAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.required("Consumed", answer.consumed);
    codec.required("Collections", answer.collections);
    describe_writes(codec, "Unprocessed", answer.unprocessed);
}

template <typename Codec, A<BatchGet::Keys> T>
void describe(Codec& codec, T& keys) {
    codec.required("TableName", keys.table);
    codec.required("Keys", keys.keys);
    codec.optional("ConsistentRead", keys.consistent);
    codec.required("Expressions", keys.expressions);
}

template <typename Codec, A<BatchGet> T>
void describe(Codec& codec, T& batch) {
    codec.required("Tables", batch.tables);
    codec.optional("ReturnCapacity", batch.return_capacity);
    codec.optional("Proof", batch.proof);
}

template <typename Codec, A<BatchGetAnswer::Items> T>
void describe(Codec& codec, T& items) {
    codec.required("TableName", items.table);
    codec.required("Items", items.items);
}

template <typename Codec, A<BatchGetAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.required("Tables", answer.tables);
    codec.required("Unprocessed", answer.unprocessed);
    codec.required("Consumed", answer.consumed);
}

template <typename Codec, A<TransactWrite> T>
void describe(Codec& codec, T& transaction) {
    describe_writes(codec, "Actions", transaction.actions);
    codec.optional("ClientRequestToken", transaction.token);
    codec.optional("ReturnCapacity", transaction.return_capacity);
    codec.optional("ReturnCollectionMetrics", transaction.return_collection_metrics);
    codec.optional("After", transaction.after);
    codec.optional("Drafts", transaction.from_drafts);
}

template <typename Codec, A<TransactWriteAnswer> T>
void describe(Codec& codec, T& answer) {
    codec.required("Version", answer.version);
    codec.required("Consumed", answer.consumed);
    codec.required("Collections", answer.collections);
    codec.optional("Replayed", answer.replayed);
}

template <typename Codec, A<TransactGet> T>
void describe(Codec& codec, T& transaction) {
    codec.required("Gets", transaction.gets);
    codec.optional("ReturnCapacity", transaction.return_capacity);
    codec.optional("Proof", transaction.proof);
}

// An element of TransactGetAnswer::items.
struct FoundItem {
    std::optional<Item> item;
};

template <typename Codec, A<FoundItem> T>
void describe(Codec& codec, T& found) {
    codec.optional("Item", found.item);
}

template <typename Codec, A<TransactGetAnswer> T>
void describe(Codec& codec, T& answer) {
    std::vector<FoundItem> found;
    if constexpr (!Codec::reading) {
        for (const auto& item : answer.items) found.push_back({item});
    }
    codec.required("Items", found);
    codec.required("Consumed", answer.consumed);
    if constexpr (Codec::reading) {
        for (FoundItem& each : found) answer.items.push_back(std::move(each.item));
    }
}

// ---- Tables ----

template <typename Codec, A<AttributeDefinition> T>
void describe(Codec& codec, T& definition) {
    codec.required("Name", definition.name);
    codec.required("Type", definition.type);
}

template <typename Codec, A<KeyElement> T>
void describe(Codec& codec, T& element) {
    codec.required("Name", element.attribute);
    codec.required("KeyType", element.type);
}

template <typename Codec, A<IndexProjection> T>
void describe(Codec& codec, T& projection) {
    codec.optional("ProjectionType", projection.type);
    codec.optional("NonKeyAttributes", projection.non_key_attributes);
}

template <typename Codec, typename T>
requires(A<T, ProvisionedThroughput> || A<T, WarmThroughput>) void describe(Codec& codec,
                                                                            T& throughput) {
    codec.optional("ReadUnits", throughput.read_units);
    codec.optional("WriteUnits", throughput.write_units);
}

template <typename Codec, A<OnDemandThroughput> T>
void describe(Codec& codec, T& limits) {
    codec.optional("MaxReadUnits", limits.max_read_units);
    codec.optional("MaxWriteUnits", limits.max_write_units);
}

template <typename Codec, A<ServerSideEncryption> T>
void describe(Codec& codec, T& encryption) {
    codec.optional("Enabled", encryption.enabled);
    codec.optional("KeyId", encryption.key);
}

template <typename Codec, A<SecondaryIndex> T>
void describe(Codec& codec, T& index) {
    codec.required("IndexName", index.name);
    codec.required("KeySchema", index.key);
    codec.optional("Projection", index.projection);
    codec.optional("Throughput", index.throughput);
    codec.optional("OnDemand", index.on_demand);
    codec.optional("Warm", index.warm);
}

template <typename Codec, A<CreateTable> T>
void describe(Codec& codec, T& request) {
    codec.required("TableName", request.table);
    codec.required("Attributes", request.attributes);
    codec.required("KeySchema", request.key);
    codec.optional("BillingMode", request.billing);
    codec.optional("Throughput", request.throughput);
    codec.optional("LocalIndexes", request.local_indexes);
    codec.optional("GlobalIndexes", request.global_indexes);
    codec.optional("DeletionProtection", request.deletion_protection);
    codec.optional("TableClass", request.table_class);
    codec.optional("Tags", request.tags);
    codec.optional("OnDemand", request.on_demand);
    codec.optional("Warm", request.warm);
    codec.required("Encryption", request.encryption);
}

template <typename Codec, typename T>
requires(A<T, DescribeTable> || A<T, DeleteTable> ||
         A<T, DescribeTimeToLive>) void describe(Codec& codec, T& request) {
    codec.required("TableName", request.table);
}

template <typename Codec, A<UpdateTable::GlobalIndexUpdate> T>
void describe(Codec& codec, T& update) {
    codec.optional("Create", update.create);
    codec.optional("Update", update.update);
    codec.optional("Delete", update.remove);
}

template <typename Codec, A<UpdateTable> T>
void describe(Codec& codec, T& request) {
    codec.required("TableName", request.table);
    codec.required("Attributes", request.attributes);
    codec.optional("BillingMode", request.billing);
    codec.optional("Throughput", request.throughput);
    codec.optional("GlobalIndexUpdates", request.global_index_updates);
    codec.optional("DeletionProtection", request.deletion_protection);
    codec.optional("TableClass", request.table_class);
    codec.optional("OnDemand", request.on_demand);
    codec.optional("Warm", request.warm);
    codec.optional("Encryption", request.encryption);
}

template <typename Codec, A<IndexDescription> T>
void describe(Codec& codec, T& index) {
    codec.required("IndexName", index.name);
    codec.required("KeySchema", index.key);
    codec.required("Projection", index.projection);
    codec.required("Throughput", index.throughput);
    codec.required("Status", index.status);
    codec.required("Arn", index.arn);
    codec.required("ItemCount", index.entry_count);
    codec.required("SizeBytes", index.size_bytes);
    codec.required("OnDemand", index.on_demand);
    codec.required("Warm", index.warm);
}

template <typename Codec, A<TableDescription> T>
void describe(Codec& codec, T& table) {
    codec.required("TableName", table.name);
    codec.required("TableId", table.id);
    codec.required("CreatedAt", table.created_at);
    codec.required("Attributes", table.attributes);
    codec.required("KeySchema", table.key);
    codec.required("BillingMode", table.billing);
    codec.required("Throughput", table.throughput);
    codec.required("LocalIndexes", table.local_indexes);
    codec.required("GlobalIndexes", table.global_indexes);
    codec.required("DeletionProtection", table.deletion_protection);
    codec.optional("TableClass", table.table_class);
    codec.required("Arn", table.arn);
    codec.required("ItemCount", table.item_count);
    codec.required("SizeBytes", table.size_bytes);
    codec.required("OnDemand", table.on_demand);
    codec.required("Warm", table.warm);
    codec.optional("OnDemandSince", table.on_demand_since);
    codec.optional("EncryptionKeyArn", table.encryption_key_arn);
}

template <typename Codec, A<ListTables> T>
void describe(Codec& codec, T& request) {
    codec.optional("After", request.after);
    codec.optional("Limit", request.limit);
}

template <typename Codec, A<TableNames> T>
void describe(Codec& codec, T& names) {
    codec.required("Names", names.names);
    codec.optional("Last", names.last);
}

// ---- Settings ----

template <typename Codec, A<UpdateTimeToLive> T>
void describe(Codec& codec, T& request) {
    codec.required("TableName", request.table);
    codec.required("Attribute", request.attribute);
    codec.required("Enabled", request.enabled);
}

template <typename Codec, A<TimeToLive> T>
void describe(Codec& codec, T& described) {
    codec.required("Enabled", described.enabled);
    codec.optional("Attribute", described.attribute);
}

template <typename Codec, A<TagResource> T>
void describe(Codec& codec, T& request) {
    codec.required("Resource", request.resource);
    codec.required("Tags", request.tags);
}

template <typename Codec, A<UntagResource> T>
void describe(Codec& codec, T& request) {
    codec.required("Resource", request.resource);
    codec.required("Keys", request.keys);
}

template <typename Codec, A<ListTagsOfResource> T>
void describe(Codec& codec, T& request) {
    codec.required("Resource", request.resource);
    codec.optional("NextToken", request.next_token);
}

template <typename Codec, A<TagPage> T>
void describe(Codec& codec, T& page) {
    codec.required("Tags", page.tags);
    codec.optional("NextToken", page.next_token);
}

template <typename Codec, A<NoAnswer> T>
void describe(Codec& /*codec*/, T& /*nothing*/) {}

// ---- Additions to requests and answers ----

template <typename Codec, A<SessionSecret> T>
void describe(Codec& codec, T& secret) {
    codec.required("Session", secret.session);
    codec.required("Secret", secret.secret);
}

template <typename Codec, A<ReleasedGrant> T>
void describe(Codec& codec, T& released) {
    codec.required("Session", released.session);
    codec.required("Grant", released.grant);
}

// ---- Errors ----

// Describes a shared pointer to attributes. If it is null, the member is omitted.
template <typename Codec, typename Pointer>
void describe_attributes(Codec& codec, FrameTag name, Pointer& attributes) {
    std::optional<AttributeMap> value;
    if constexpr (!Codec::reading) {
        if (attributes != nullptr) value = *attributes;
    }
    codec.optional(name, value);
    if constexpr (Codec::reading) {
        if (value) attributes = std::make_shared<const AttributeMap>(*std::move(value));
    }
}

template <typename Codec, A<ItemChange> T>
void describe(Codec& codec, T& change) {
    codec.required("TableName", change.table);
    describe_attributes(codec, "Key", change.key);
    codec.optional("Gone", change.gone);
    codec.optional("LastWrite", change.last_write);
}

template <typename Codec, A<CancellationReason> T>
void describe(Codec& codec, T& reason) {
    std::optional<std::string> code;
    if constexpr (!Codec::reading) {
        if (reason.code) code = to_string(*reason.code);
    }
    codec.optional("Code", code);
    if constexpr (Codec::reading) {
        if (code) reason.code = error_code(*code).value_or(ErrorCode::io_error);
    }
    codec.optional("Message", reason.message);
    describe_attributes(codec, "Item", reason.item);
    codec.optional("ItemVersion", reason.item_version);
    codec.optional("LastWrite", reason.last_write);
    codec.optional("Blockers", reason.blockers);
    codec.flat_optional("Outcome", reason.ended);
}

// Describes those facts of an error that concern items. Errors in frames of the lock API do not
// have these facts.
template <typename Codec, A<Error> T>
void describe_item_facts(Codec& codec, T& error) {
    describe_attributes(codec, "Item", error.item);
    codec.optional("ItemVersion", error.item_version);
    codec.optional("LastWrite", error.last_write);
    codec.optional("Changes", error.changes);
    codec.optional("Reasons", error.reasons);
}

}  // namespace rocklock
