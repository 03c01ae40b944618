#include "table/golden_requests.hpp"

#include <string_view>
#include <utility>

#include <boost/json/array.hpp>

#include "expression/parameters_json.hpp"
#include "support/typed_json.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

// Reads members; one that is not of its type is remembered.
class Members {
public:
    explicit Members(const object& json, bool& valid) : json_(json), valid_(valid) {}

    const value* find(std::string_view name) const {
        const value* found = json_.if_contains(name);
        return found && !found->is_null() ? found : nullptr;
    }
    bool has(std::string_view name) const { return find(name) != nullptr; }
    Members object_at(std::string_view name) const {
        static const object none;
        const value* found = find(name);
        if (!found || !found->is_object()) valid_ = false;
        return Members(found && found->is_object() ? found->get_object() : none, valid_);
    }
    std::vector<Members> list(std::string_view name) const {
        std::vector<Members> list;
        const value* found = find(name);
        if (!found) return list;
        if (!found->is_array()) valid_ = false;
        if (!found->is_array()) return list;
        for (const value& element : found->get_array()) {
            if (!element.is_object()) valid_ = false;
            if (element.is_object()) list.emplace_back(element.get_object(), valid_);
        }
        return list;
    }
    std::string text(std::string_view name) const {
        const value* found = find(name);
        if (!found || !found->is_string()) valid_ = false;
        return found && found->is_string() ? std::string(found->get_string()) : "";
    }
    std::optional<std::string> optional_text(std::string_view name) const {
        return has(name) ? std::optional(text(name)) : std::nullopt;
    }
    std::optional<std::int64_t> whole(std::string_view name) const {
        const value* found = find(name);
        if (!found) return std::nullopt;
        if (!found->is_int64()) valid_ = false;
        return found->is_int64() ? found->get_int64() : 0;
    }
    std::optional<bool> truth(std::string_view name) const {
        const value* found = find(name);
        if (!found) return std::nullopt;
        if (!found->is_bool()) valid_ = false;
        return found->is_bool() && found->get_bool();
    }
    AttributeMap attributes(std::string_view name) const {
        const value* found = find(name);
        auto item = found ? item_from_json(*found) : std::nullopt;
        if (!item) valid_ = false;
        return item ? *std::move(item) : AttributeMap();
    }
    // One of the words, by its place; nothing where there is no such member.
    template <typename Enum>
    std::optional<Enum> word(std::string_view name, std::vector<std::string_view> words) const {
        if (!has(name)) return std::nullopt;
        const std::string given = text(name);
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] == given) return static_cast<Enum>(i);
        }
        valid_ = false;
        return std::nullopt;
    }
    ExpressionParameters expressions() const {
        auto parameters = parameters_from_json(json_);
        if (!parameters) valid_ = false;
        return parameters ? *std::move(parameters) : ExpressionParameters();
    }
    ReturnCapacity capacity() const {
        return word<ReturnCapacity>("ReturnConsumedCapacity", {"NONE", "TOTAL", "INDEXES"})
            .value_or(ReturnCapacity::none);
    }
    bool valid() const { return valid_; }

private:
    const object& json_;
    bool& valid_;
};

std::vector<AttributeDefinition> definitions(const Members& json) {
    std::vector<AttributeDefinition> list;
    for (const Members& entry : json.list("AttributeDefinitions")) {
        const auto type = entry.word<AttributeType>("AttributeType", {"S", "N", "B"});
        list.push_back({entry.text("AttributeName"), type.value_or(AttributeType::string)});
    }
    return list;
}

std::vector<KeyElement> key_schema(const Members& json) {
    std::vector<KeyElement> key;
    for (const Members& entry : json.list("KeySchema")) {
        const auto type = entry.word<KeyType>("KeyType", {"HASH", "RANGE"});
        key.push_back({entry.text("AttributeName"), type.value_or(KeyType::hash)});
    }
    return key;
}

std::optional<ProvisionedThroughput> throughput(const Members& json) {
    if (!json.has("ProvisionedThroughput")) return std::nullopt;
    const auto given = json.object_at("ProvisionedThroughput");
    return ProvisionedThroughput{given.whole("ReadCapacityUnits").value_or(0),
                                 given.whole("WriteCapacityUnits").value_or(0)};
}

SecondaryIndex index_of(const Members& json) {
    SecondaryIndex index;
    index.name = json.text("IndexName");
    index.key = key_schema(json);
    index.throughput = throughput(json);
    if (!json.has("Projection")) return index;
    const auto given = json.object_at("Projection");
    IndexProjection& projection = index.projection.emplace();
    projection.type = given.word<ProjectionType>("ProjectionType", {"KEYS_ONLY", "INCLUDE", "ALL"});
    if (const value* names = given.find("NonKeyAttributes")) {
        projection.non_key_attributes.emplace();
        for (const value& name : names->as_array()) {
            projection.non_key_attributes->emplace_back(name.as_string());
        }
    }
    return index;
}

std::optional<std::vector<SecondaryIndex>> indexes(const Members& json, std::string_view name) {
    if (!json.has(name)) return std::nullopt;
    std::vector<SecondaryIndex> list;
    for (const Members& entry : json.list(name)) list.push_back(index_of(entry));
    return list;
}

std::optional<BillingMode> billing(const Members& json) {
    return json.word<BillingMode>("BillingMode", {"PROVISIONED", "PAY_PER_REQUEST"});
}

CreateTable create_table(const Members& json) {
    CreateTable request;
    request.table = json.text("TableName");
    request.attributes = definitions(json);
    request.key = key_schema(json);
    request.billing = billing(json);
    request.throughput = throughput(json);
    request.local_indexes = indexes(json, "LocalSecondaryIndexes");
    request.global_indexes = indexes(json, "GlobalSecondaryIndexes");
    request.deletion_protection = json.truth("DeletionProtectionEnabled").value_or(false);
    return request;
}

UpdateTable update_table(const Members& json) {
    UpdateTable request;
    request.table = json.text("TableName");
    request.attributes = definitions(json);
    request.billing = billing(json);
    request.throughput = throughput(json);
    request.deletion_protection = json.truth("DeletionProtectionEnabled");
    if (!json.has("GlobalSecondaryIndexUpdates")) return request;
    auto& updates = request.global_index_updates.emplace();
    for (const Members& entry : json.list("GlobalSecondaryIndexUpdates")) {
        auto& update = updates.emplace_back();
        if (entry.has("Create")) update.create = index_of(entry.object_at("Create"));
        if (entry.has("Update")) update.update = index_of(entry.object_at("Update"));
        if (entry.has("Delete")) update.remove = entry.object_at("Delete").text("IndexName");
    }
    return request;
}

WriteItem write_item(const Members& json, WriteItem::Kind kind) {
    WriteItem request;
    request.kind = kind;
    request.table = json.text("TableName");
    request.item = json.attributes(kind == WriteItem::Kind::put ? "Item" : "Key");
    request.expressions = json.expressions();
    request.return_values =
        json.word<ReturnValues>("ReturnValues",
                                {"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})
            .value_or(ReturnValues::none);
    request.return_item_on_failure =
        json.word<bool>("ReturnValuesOnConditionCheckFailure", {"NONE", "ALL_OLD"}).value_or(false);
    request.return_capacity = json.capacity();
    request.return_collection_metrics =
        json.word<bool>("ReturnItemCollectionMetrics", {"NONE", "SIZE"}).value_or(false);
    return request;
}

GetItem get_item(const Members& json) {
    GetItem request;
    request.table = json.text("TableName");
    request.key = json.attributes("Key");
    request.consistent = json.truth("ConsistentRead").value_or(false);
    request.expressions = json.expressions();
    request.return_capacity = json.capacity();
    return request;
}

PageOptions page_options(const Members& json) {
    PageOptions options;
    options.index = json.optional_text("IndexName");
    options.consistent = json.truth("ConsistentRead").value_or(false);
    options.limit = json.whole("Limit");
    if (json.has("ExclusiveStartKey")) options.start_key = json.attributes("ExclusiveStartKey");
    options.select = json.word<Select>(
        "Select", {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES"});
    options.return_capacity = json.capacity();
    return options;
}

UpdateTimeToLive update_time_to_live(const Members& json) {
    const auto given = json.object_at("TimeToLiveSpecification");
    return {json.text("TableName"), given.text("AttributeName"),
            given.truth("Enabled").value_or(false)};
}

std::optional<double> units_of(const std::optional<ConsumedCapacity>& consumed) {
    return consumed ? std::optional(consumed->units) : std::nullopt;
}

template <typename T>
Played failed(const Result<T>& result) {
    Played played;
    played.error = Error(result.error());
    return played;
}

// Of what is described, only whether it is an error is compared.
template <typename Described>
Played answer(const Result<Described>& result) {
    return result ? Played() : failed(result);
}

Played answer(const Result<WriteAnswer>& result) {
    if (!result) return failed(result);
    return {{}, result->attributes, {}, units_of(result->consumed)};
}

Played answer(const Result<GetAnswer>& result) {
    if (!result) return failed(result);
    return {{}, result->item, {}, units_of(result->consumed)};
}

Played answer(const Result<Page>& result) {
    if (!result) return failed(result);
    return {{}, {}, *result, units_of(result->consumed)};
}

// Pages are joined where the record says so by its whole answer.
Query query(const Members& json) {
    return {json.text("TableName"), json.expressions(), page_options(json),
            json.truth("ScanIndexForward").value_or(true)};
}

Scan scan(const Members& json) {
    return {json.text("TableName"), json.expressions(), page_options(json), json.whole("Segment"),
            json.whole("TotalSegments")};
}

}  // namespace

std::optional<Played> play(TableService& service, const std::string& operation,
                           const boost::json::object& request) {
    bool valid = true;
    const Members json(request, valid);
    const auto played = [&](auto typed, auto call) -> std::optional<Played> {
        if (!valid) return std::nullopt;
        return answer(call(typed));
    };
    const auto write = [&](const WriteItem& typed) { return service.write_item(typed); };
    using Kind = WriteItem::Kind;
    if (operation == "CreateTable") {
        return played(create_table(json), [&](auto& typed) { return service.create_table(typed); });
    }
    if (operation == "UpdateTable") {
        return played(update_table(json), [&](auto& typed) { return service.update_table(typed); });
    }
    if (operation == "DeleteTable" || operation == "DescribeTable") {
        return played(json.text("TableName"), [&](auto& table) {
            return operation == "DeleteTable" ? service.delete_table(table)
                                              : service.describe_table(table);
        });
    }
    if (operation == "UpdateTimeToLive") {
        return played(update_time_to_live(json),
                      [&](auto& typed) { return service.update_time_to_live(typed); });
    }
    if (operation == "DescribeTimeToLive") {
        return played(json.text("TableName"),
                      [&](auto& table) { return service.describe_time_to_live(table); });
    }
    if (operation == "PutItem") return played(write_item(json, Kind::put), write);
    if (operation == "UpdateItem") return played(write_item(json, Kind::update), write);
    if (operation == "DeleteItem") return played(write_item(json, Kind::remove), write);
    if (operation == "GetItem") {
        return played(get_item(json), [&](auto& typed) { return service.get_item(typed); });
    }
    if (operation == "Query") {
        return played(query(json), [&](auto& typed) { return service.query(typed); });
    }
    if (operation == "Scan") {
        return played(scan(json), [&](auto& typed) { return service.scan(typed); });
    }
    return std::nullopt;
}

}  // namespace rocklock::proof
