#include <array>
#include <optional>
#include <utility>

#include "expression/request.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/expression_json.hpp"
#include "wire/table_json.hpp"

namespace rocklock::table_json {
namespace {

using Kind = WriteItem::Kind;

constexpr auto actions = std::to_array<std::pair<std::string_view, Kind>>({
    {"ConditionCheck", Kind::check},
    {"Put", Kind::put},
    {"Delete", Kind::remove},
    {"Update", Kind::update},
});

// Reads the action of an element, which must have exactly one of the four actions.
WriteItem read_transact_item(const MemberReader& json) {
    std::optional<WriteItem> read;
    bool several = false;
    for (const auto& [name, kind] : actions) {
        const auto action = json.structure(name);
        if (!action) continue;
        several = read.has_value();
        auto item = read_action(*action, kind);
        if (!read) read = std::move(item);
    }
    if (several) {
        json.faults().invalid("TransactItems can only contain one of Check, Put, Update or Delete");
    }
    if (!read) {
        json.faults().invalid(
            "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request");
    }
    return read.value_or(WriteItem());
}

GetItem read_transact_get_item(const MemberReader& json) {
    GetItem request;
    request.table = required_table(json);
    request.key = json.required_attributes("Key");
    request.expressions = read_expressions_alone(json, expression::RequestKind::get);
    return request;
}

}  // namespace

TransactWrite read_transact_write(const MemberReader& json) {
    TransactWrite request;
    json.require("TransactItems");
    if (const auto items = json.structures("TransactItems")) {
        for (const auto& item : *items) request.actions.push_back(read_transact_item(item));
    }
    request.token = json.text("ClientRequestToken");
    request.return_capacity = read_return_capacity(json);
    request.return_collection_metrics = read_return_metrics(json);
    return request;
}

TransactGet read_transact_get(const MemberReader& json) {
    TransactGet request;
    const auto items = json.structures("TransactItems");
    bool complete = items && !items->empty();
    if (items) {
        for (const auto& item : *items) {
            const auto get = item.structure("Get");
            if (get) request.gets.push_back(read_transact_get_item(*get));
            complete = complete && get;
        }
    }
    // DynamoDB reports an empty list, or an element without a Get, as an absent member.
    if (!complete) {
        json.faults().constraint("null", json.path_of("TransactItems"), "Member must not be null");
    }
    request.return_capacity = read_return_capacity(json);
    return request;
}

void write_answer(JsonWriter& json, const TransactWriteAnswer& answer) {
    write_collections(json, answer.collections);
    write_consumed(json, answer.consumed, answer.replayed ? UnitsOf::reads : UnitsOf::writes);
}

void write_answer(JsonWriter& json, const TransactGetAnswer& answer) {
    json.key("Responses");
    json.begin_array();
    for (const auto& item : answer.items) {
        json.begin_object();
        if (item) {
            json.key("Item");
            write_item(json, *item);
        }
        json.end_object();
    }
    json.end_array();
    write_consumed(json, answer.consumed, UnitsOf::reads);
}

}  // namespace rocklock::table_json
