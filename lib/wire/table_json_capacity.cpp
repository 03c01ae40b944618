#include <map>
#include <utility>

#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

constexpr ServiceWords<ReturnCapacity, 3> capacity_words = {{{"INDEXES", ReturnCapacity::indexes},
                                                             {"TOTAL", ReturnCapacity::total},
                                                             {"NONE", ReturnCapacity::none}}};
constexpr ServiceWords<bool, 2> metrics_words = {{{"SIZE", true}, {"NONE", false}}};

void write_units(JsonWriter& json, double units, UnitsOf of) {
    json.key("CapacityUnits");
    json.number(units);
    if (of == UnitsOf::either) return;
    json.key(of == UnitsOf::reads ? "ReadCapacityUnits" : "WriteCapacityUnits");
    json.number(units);
}

void write_indexes(JsonWriter& json, std::string_view name,
                   const std::map<std::string, double>& indexes, UnitsOf of) {
    if (indexes.empty()) return;
    json.key(name);
    json.begin_object();
    for (const auto& [index, units] : indexes) {
        json.key(index);
        json.begin_object();
        write_units(json, units, of);
        json.end_object();
    }
    json.end_object();
}

void write_capacity(JsonWriter& json, const ConsumedCapacity& consumed, UnitsOf of) {
    json.begin_object();
    json.key("TableName");
    json.string(consumed.table);
    write_units(json, consumed.units, of);
    if (consumed.table_units) {
        json.key("Table");
        json.begin_object();
        write_units(json, *consumed.table_units, of);
        json.end_object();
    }
    write_indexes(json, "LocalSecondaryIndexes", consumed.local_indexes, of);
    write_indexes(json, "GlobalSecondaryIndexes", consumed.global_indexes, of);
    json.end_object();
}

// DynamoDB returns an estimate as a range of gigabytes. Here the lowest range is always returned.
void write_metrics(JsonWriter& json, const AttributeMap& key) {
    json.begin_object();
    json.key("ItemCollectionKey");
    write_item(json, key);
    json.key("SizeEstimateRangeGB");
    json.begin_array();
    json.number(0.0);
    json.number(1.0);
    json.end_array();
    json.end_object();
}

}  // namespace

ReturnCapacity read_return_capacity(const MemberReader& json) {
    return json.word("ReturnConsumedCapacity", capacity_words).value_or(ReturnCapacity::none);
}

bool read_return_metrics(const MemberReader& json) {
    return json.word("ReturnItemCollectionMetrics", metrics_words).value_or(false);
}

void write_consumed(JsonWriter& json, const std::optional<ConsumedCapacity>& consumed) {
    if (!consumed) return;
    json.key("ConsumedCapacity");
    write_capacity(json, *consumed, UnitsOf::either);
}

void write_consumed(JsonWriter& json, const std::vector<ConsumedCapacity>& consumed, UnitsOf of) {
    if (consumed.empty()) return;
    json.key("ConsumedCapacity");
    json.begin_array();
    for (const auto& table : consumed) write_capacity(json, table, of);
    json.end_array();
}

void write_collection(JsonWriter& json, const std::optional<AttributeMap>& key) {
    if (!key) return;
    json.key("ItemCollectionMetrics");
    write_metrics(json, *key);
}

void write_collections(JsonWriter& json, const std::vector<WrittenCollection>& collections) {
    if (collections.empty()) return;
    std::map<std::string_view, std::vector<const AttributeMap*>> tables;
    for (const auto& [table, key] : collections) tables[table].push_back(&key);
    json.key("ItemCollectionMetrics");
    json.begin_object();
    for (const auto& [table, keys] : tables) {
        json.key(table);
        json.begin_array();
        for (const auto* key : keys) write_metrics(json, *key);
        json.end_array();
    }
    json.end_object();
}

}  // namespace rocklock::table_json
