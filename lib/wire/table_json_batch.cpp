#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "expression/request.hpp"
#include "table/schema/request_limits.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/expression_json.hpp"
#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

using Kind = WriteItem::Kind;

// Reads a PutRequest or a DeleteRequest. If both are present, or neither, the message is the same,
// as DynamoDB's recorded responses show.
WriteItem read_element(const MemberReader& json, const std::string& table) {
    WriteItem write;
    write.table = table;
    const auto put = json.structure("PutRequest");
    const auto remove = json.structure("DeleteRequest");
    if (put.has_value() == remove.has_value()) {
        json.faults().invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of "
            "the supported datatypes");
    } else if (put) {
        write.item = put->required_attributes("Item");
    } else {
        write.kind = Kind::remove;
        write.item = remove->required_attributes("Key");
    }
    return write;
}

void check_list(const MemberReader& json, const std::string& table, std::size_t count) {
    if (count > 0 && count <= table::max_batch_writes) return;
    json.faults().constraint(
        "'{" + table + "=[" + (count == 0 ? "" : std::to_string(count) + " requests") + "]}'",
        "requestItems",
        "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]");
}

BatchGet::Keys read_keys(const MemberReader& json, std::string table) {
    BatchGet::Keys request;
    request.table = std::move(table);
    if (const auto* keys = json.require("Keys")) {
        const auto* array = keys->if_array();
        if (array == nullptr) json.faults().malformed("Unexpected field type");
        if (array == nullptr) return request;
        for (const auto& key : *array) {
            request.keys.push_back(json.faults().values().map(key));
        }
    }
    request.consistent = json.truth("ConsistentRead").value_or(false);
    request.expressions = read_parameters(json, expression::RequestKind::get);
    return request;
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
    json.key(name);
    json.begin_array();
    for (const auto& text : texts) json.string(text);
    json.end_array();
}

// Writes unprocessed requests in the form of the request, so that the client can send them again.
void write_elements(JsonWriter& json, const std::vector<WriteItem>& writes) {
    std::map<std::string_view, std::vector<const WriteItem*>> tables;
    for (const auto& write : writes) tables[write.table].push_back(&write);
    for (const auto& [table, elements] : tables) {
        json.foreign_key(table);
        json.begin_array();
        for (const auto* element : elements) {
            const bool put = element->kind == Kind::put;
            json.begin_object();
            json.key(put ? "PutRequest" : "DeleteRequest");
            json.begin_object();
            json.key(put ? "Item" : "Key");
            write_item(json, element->item);
            json.end_object();
            json.end_object();
        }
        json.end_array();
    }
}

// As write_elements(), but for the keys of a BatchGet.
void write_keys(JsonWriter& json, const BatchGet::Keys& request) {
    json.begin_object();
    json.key("Keys");
    json.begin_array();
    for (const auto& key : request.keys) write_item(json, key);
    json.end_array();
    if (request.consistent) {
        json.key("ConsistentRead");
        json.boolean(true);
    }
    const auto& expressions = request.expressions;
    if (expressions.projection) {
        json.key("ProjectionExpression");
        json.string(*expressions.projection);
    }
    if (expressions.attributes_to_get) {
        write_texts(json, "AttributesToGet", *expressions.attributes_to_get);
    }
    if (expressions.placeholders.names) {
        json.key("ExpressionAttributeNames");
        json.begin_object();
        for (const auto& [placeholder, name] : *expressions.placeholders.names) {
            json.foreign_key(placeholder);
            json.string(name);
        }
        json.end_object();
    }
    json.end_object();
}

}  // namespace

BatchWrite read_batch_write(const MemberReader& json) {
    BatchWrite request;
    json.require("RequestItems");
    if (const auto* tables = json.object("RequestItems")) {
        for (const auto& member : *tables) {
            const std::string table(member.key());
            check_table_name(table, "requestItems", json.faults());
            const auto path = "requestItems." + table + ".member";
            const auto elements = json.structures_of(member.value(), path);
            check_list(json, table, elements.size());
            for (const auto& element : elements) {
                request.writes.push_back(read_element(element, table));
            }
        }
    }
    request.return_capacity = read_return_capacity(json);
    request.return_collection_metrics = read_return_metrics(json);
    return request;
}

BatchGet read_batch_get(const MemberReader& json) {
    BatchGet request;
    json.require("RequestItems");
    if (auto tables = json.structures_by_name("RequestItems")) {
        for (const auto& [name, keys] : *tables) {
            check_table_name(name, "requestItems", json.faults());
            request.tables.push_back(read_keys(keys, name));
        }
    }
    request.return_capacity = read_return_capacity(json);
    return request;
}

void write_answer(JsonWriter& json, const BatchWriteAnswer& answer) {
    json.key("UnprocessedItems");
    json.begin_object();
    write_elements(json, answer.unprocessed);
    json.end_object();
    write_collections(json, answer.collections);
    write_consumed(json, answer.consumed, UnitsOf::either);
}

void write_answer(JsonWriter& json, const BatchGetAnswer& answer) {
    json.key("Responses");
    json.begin_object();
    for (const auto& table : answer.tables) {
        json.key(table.table);
        json.begin_array();
        for (const auto& item : table.items) write_item(json, item);
        json.end_array();
    }
    json.end_object();
    json.key("UnprocessedKeys");
    json.begin_object();
    for (const auto& keys : answer.unprocessed) {
        json.key(keys.table);
        write_keys(json, keys);
    }
    json.end_object();
    write_consumed(json, answer.consumed, UnitsOf::either);
}

}  // namespace rocklock::table_json
