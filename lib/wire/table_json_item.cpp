#include <utility>

#include "base/assert.hpp"
#include "expression/request.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/expression_json.hpp"
#include "wire/json/item_body.hpp"
#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

using expression::RequestKind;
using Kind = WriteItem::Kind;

constexpr ServiceWords<ReturnValues, 5> return_words = {
    {{"ALL_NEW", ReturnValues::all_new},
     {"UPDATED_OLD", ReturnValues::updated_old},
     {"ALL_OLD", ReturnValues::all_old},
     {"NONE", ReturnValues::none},
     {"UPDATED_NEW", ReturnValues::updated_new}}};
constexpr ServiceWords<bool, 2> failure_words = {{{"ALL_OLD", true}, {"NONE", false}}};

RequestKind kind_of(Kind kind) {
    if (kind == Kind::put) return RequestKind::put;
    return kind == Kind::update ? RequestKind::update : RequestKind::remove;
}

WriteItem read_target(const MemberReader& json, Kind kind) {
    WriteItem request;
    request.kind = kind;
    request.table = required_table(json);
    request.item = json.required_attributes(kind == Kind::put ? "Item" : "Key");
    request.return_item_on_failure =
        json.word("ReturnValuesOnConditionCheckFailure", failure_words).value_or(false);
    return request;
}

}  // namespace

WriteItem read_action(const MemberReader& json, Kind kind) {
    WriteItem request = read_target(json, kind);
    // DynamoDB requires these members in a transaction, but not in a single write.
    if (kind == Kind::update) json.require("UpdateExpression");
    if (kind == Kind::check) json.require("ConditionExpression");
    request.expressions = read_expressions_alone(json, kind_of(kind));
    return request;
}

WriteItem read_write(const MemberReader& json, Kind kind) {
    WriteItem request = read_target(json, kind);
    request.expressions = read_parameters(json, kind_of(kind));
    request.return_values = json.word("ReturnValues", return_words).value_or(ReturnValues::none);
    request.return_capacity = read_return_capacity(json);
    request.return_collection_metrics = read_return_metrics(json);
    return request;
}

std::optional<GetItem> read_usual_get(std::string_view body) {
    auto read = read_usual_item_body(body, "Key", true);
    if (!read) return std::nullopt;
    GetItem request;
    request.table = std::move(read->table);
    request.key = std::move(read->attributes);
    request.consistent = read->consistent;
    return request;
}

std::optional<WriteItem> read_usual_write(std::string_view body, Kind kind) {
    ROCKLOCK_ASSERT(kind == Kind::put || kind == Kind::remove);
    auto read = read_usual_item_body(body, kind == Kind::put ? "Item" : "Key", false);
    if (!read) return std::nullopt;
    WriteItem request;
    request.kind = kind;
    request.table = std::move(read->table);
    request.item = std::move(read->attributes);
    return request;
}

GetItem read_get(const MemberReader& json) {
    GetItem request;
    request.table = required_table(json);
    request.key = json.required_attributes("Key");
    request.consistent = json.truth("ConsistentRead").value_or(false);
    request.expressions = read_parameters(json, RequestKind::get);
    request.return_capacity = read_return_capacity(json);
    return request;
}

void write_answer(JsonWriter& json, const WriteAnswer& answer) {
    if (answer.attributes) {
        json.key("Attributes");
        write_item(json, *answer.attributes);
    }
    write_consumed(json, answer.consumed);
    write_collection(json, answer.collection_key);
}

void write_answer(JsonWriter& json, const GetAnswer& answer) {
    if (answer.item) {
        json.key("Item");
        write_item(json, *answer.item);
    }
    write_consumed(json, answer.consumed);
}

}  // namespace rocklock::table_json
