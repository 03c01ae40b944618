#include "wire/json/expression_json.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "expression/legacy.hpp"

namespace rocklock {
namespace {

using expression::RequestKind;

constexpr std::size_t max_attributes_to_get = 255;

// In the order of DynamoDB's error messages.
constexpr auto comparisons = std::to_array<ComparisonOperator>({
    ComparisonOperator::in,
    ComparisonOperator::null,
    ComparisonOperator::between,
    ComparisonOperator::lt,
    ComparisonOperator::not_contains,
    ComparisonOperator::eq,
    ComparisonOperator::gt,
    ComparisonOperator::not_null,
    ComparisonOperator::ne,
    ComparisonOperator::le,
    ComparisonOperator::begins_with,
    ComparisonOperator::ge,
    ComparisonOperator::contains,
});

const ServiceWords<ComparisonOperator, comparisons.size()>& comparison_words() {
    static const auto words = [] {
        ServiceWords<ComparisonOperator, comparisons.size()> made;
        for (std::size_t i = 0; i < comparisons.size(); ++i) {
            made[i] = {expression::to_string(comparisons[i]), comparisons[i]};
        }
        return made;
    }();
    return words;
}

using Action = AttributeUpdate::Action;

constexpr ServiceWords<Action, 3> action_words = {
    {{"ADD", Action::add}, {"DELETE", Action::remove}, {"PUT", Action::put}}};
constexpr ServiceWords<ConditionalOperator, 2> operator_words = {
    {{"OR", ConditionalOperator::any}, {"AND", ConditionalOperator::all}}};

void read_placeholders(const MemberReader& json, bool with_values, Placeholders& placeholders) {
    if (const auto* names = json.object("ExpressionAttributeNames")) {
        auto& list = placeholders.names.emplace();
        for (const auto& member : *names) {
            list.push_back(
                {std::string(member.key()), read_text(member.value(), json.faults()).value_or("")});
        }
    }
    if (!with_values) return;
    if (const auto* values = json.find("ExpressionAttributeValues")) {
        placeholders.values = json.faults().values().placeholders(*values);
    }
}

std::optional<AttributeValue> read_value(const MemberReader& json, std::string_view name) {
    const auto* found = json.find(name);
    if (found == nullptr) return std::nullopt;
    return json.faults().values().value(*found);
}

std::optional<std::vector<AttributeUpdate>> read_updates(const MemberReader& json) {
    const auto given = json.structures_by_name("AttributeUpdates");
    if (!given) return std::nullopt;
    std::vector<AttributeUpdate> updates;
    for (const auto& [name, update] : *given) {
        updates.push_back({name, update.word("Action", action_words).value_or(Action::put),
                           read_value(update, "Value")});
    }
    return updates;
}

std::optional<std::vector<ExpectedAttribute>> read_expected(const MemberReader& json) {
    const auto given = json.structures_by_name("Expected");
    if (!given) return std::nullopt;
    std::vector<ExpectedAttribute> list;
    for (const auto& [name, expected] : *given) {
        auto& read = list.emplace_back();
        read.attribute = name;
        read.value = read_value(expected, "Value");
        read.exists = expected.truth("Exists");
        read.comparison = expected.word("ComparisonOperator", comparison_words());
        if (expected.has("AttributeValueList")) read.values = expected.values("AttributeValueList");
    }
    return list;
}

std::optional<std::vector<AttributeCondition>> read_conditions(const MemberReader& json,
                                                               std::string_view member) {
    const auto given = json.structures_by_name(member);
    if (!given) return std::nullopt;
    std::vector<AttributeCondition> list;
    for (const auto& [name, condition] : *given) {
        list.push_back({name, condition.required_word("ComparisonOperator", comparison_words()),
                        condition.values("AttributeValueList")});
    }
    return list;
}

std::optional<std::vector<std::string>> read_attributes_to_get(const MemberReader& json) {
    auto names = json.texts("AttributesToGet");
    if (names && names->empty()) {
        json.faults().constraint("'[]'", json.path_of("AttributesToGet"),
                                 "Member must have length greater than or equal to 1");
    }
    if (names && names->size() > max_attributes_to_get) {
        json.faults().constraint("'" + std::to_string(names->size()) + " names'",
                                 json.path_of("AttributesToGet"),
                                 "Member must have length less than or equal to 255");
    }
    return names;
}

bool changes(RequestKind kind) {
    return kind == RequestKind::put || kind == RequestKind::update || kind == RequestKind::remove;
}

void read_older_changes(const MemberReader& json, RequestKind kind, ExpressionParameters& read) {
    if (kind == RequestKind::update) read.attribute_updates = read_updates(json);
    read.expected = read_expected(json);
}

void read_older_reads(const MemberReader& json, RequestKind kind, ExpressionParameters& read) {
    read.attributes_to_get = read_attributes_to_get(json);
    if (kind == RequestKind::get) return;
    read.attribute_filter =
        read_conditions(json, kind == RequestKind::query ? "QueryFilter" : "ScanFilter");
    if (kind == RequestKind::query) read.key_conditions = read_conditions(json, "KeyConditions");
}

void write_text(JsonWriter& json, std::string_view name, const std::optional<std::string>& text) {
    if (!text) return;
    json.key(name);
    json.string(*text);
}

void write_placeholders(JsonWriter& json, const Placeholders& placeholders) {
    if (placeholders.names) {
        json.key("ExpressionAttributeNames");
        json.begin_object();
        for (const auto& [placeholder, name] : *placeholders.names) {
            json.foreign_key(placeholder);
            json.string(name);
        }
        json.end_object();
    }
    if (placeholders.values) {
        json.key("ExpressionAttributeValues");
        json.begin_object();
        for (const auto& [placeholder, value] : *placeholders.values) {
            json.foreign_key(placeholder);
            write_attribute_value(json, value);
        }
        json.end_object();
    }
}

void write_updates(JsonWriter& json, const std::vector<AttributeUpdate>& updates) {
    json.key("AttributeUpdates");
    json.begin_object();
    for (const AttributeUpdate& update : updates) {
        json.foreign_key(update.attribute);
        json.begin_object();
        json.key("Action");
        json.string(word_of(update.action, action_words));
        if (update.value) {
            json.key("Value");
            write_attribute_value(json, *update.value);
        }
        json.end_object();
    }
    json.end_object();
}

void write_expected(JsonWriter& json, const ExpectedAttribute& expected) {
    json.foreign_key(expected.attribute);
    json.begin_object();
    if (expected.value) {
        json.key("Value");
        write_attribute_value(json, *expected.value);
    }
    if (expected.exists) {
        json.key("Exists");
        json.boolean(*expected.exists);
    }
    if (expected.comparison) {
        json.key("ComparisonOperator");
        json.string(expression::to_string(*expected.comparison));
    }
    if (expected.values) {
        json.key("AttributeValueList");
        json.begin_array();
        for (const AttributeValue& value : *expected.values) write_attribute_value(json, value);
        json.end_array();
    }
    json.end_object();
}

}  // namespace

void write_change_parameters(JsonWriter& json, const ExpressionParameters& parameters) {
    write_text(json, "UpdateExpression", parameters.update);
    write_text(json, "ConditionExpression", parameters.condition);
    write_placeholders(json, parameters.placeholders);
    if (parameters.attribute_updates) write_updates(json, *parameters.attribute_updates);
    if (parameters.expected) {
        json.key("Expected");
        json.begin_object();
        for (const auto& expected : *parameters.expected) write_expected(json, expected);
        json.end_object();
    }
    if (parameters.conditional_operator) {
        json.key("ConditionalOperator");
        json.string(word_of(*parameters.conditional_operator, operator_words));
    }
}

ExpressionParameters read_expressions_alone(const MemberReader& json, RequestKind kind) {
    ExpressionParameters read;
    read_placeholders(json, kind != RequestKind::get, read.placeholders);
    if (changes(kind)) {
        if (kind == RequestKind::update) read.update = json.text("UpdateExpression");
        read.condition = json.text("ConditionExpression");
        return read;
    }
    read.projection = json.text("ProjectionExpression");
    if (kind == RequestKind::get) return read;
    read.filter = json.text("FilterExpression");
    if (kind == RequestKind::query) read.key_condition = json.text("KeyConditionExpression");
    return read;
}

ExpressionParameters read_parameters(const MemberReader& json, RequestKind kind) {
    ExpressionParameters read = read_expressions_alone(json, kind);
    if (kind != RequestKind::get) {
        read.conditional_operator = json.word("ConditionalOperator", operator_words);
    }
    if (changes(kind)) {
        read_older_changes(json, kind, read);
    } else {
        read_older_reads(json, kind, read);
    }
    return read;
}

}  // namespace rocklock
