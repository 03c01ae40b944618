#include "expression/ask.hpp"

namespace rocklock::proof {

namespace {

using expression::RequestKind;

ExpressionParameters with(const NameList& names, const ValueList& values) {
    ExpressionParameters parameters;
    parameters.placeholders = placeholders(names, values);
    return parameters;
}

}  // namespace

Placeholders placeholders(const NameList& names, const ValueList& values) {
    Placeholders result;
    if (!names.empty()) result.names.emplace();
    for (const auto& [placeholder, name] : names) result.names->push_back({placeholder, name});
    if (!values.empty()) result.values.emplace();
    for (const auto& [placeholder, value] : values) result.values->push_back({placeholder, value});
    return result;
}

std::string request_fault(RequestKind kind, const ExpressionParameters& parameters) {
    const auto read = expression::read_expressions(kind, parameters);
    return read ? "" : read.error().message;
}

std::string condition_fault(std::string_view text, const ValueList& values, const NameList& names) {
    ExpressionParameters parameters = with(names, values);
    parameters.condition = text;
    return request_fault(RequestKind::put, parameters);
}

std::string update_fault(std::string_view text, const ValueList& values, const NameList& names) {
    ExpressionParameters parameters = with(names, values);
    parameters.update = text;
    return request_fault(RequestKind::update, parameters);
}

std::string projection_fault(std::string_view text, const NameList& names) {
    ExpressionParameters parameters = with(names, {});
    parameters.projection = text;
    return request_fault(RequestKind::get, parameters);
}

bool holds_of(const Item& item, std::string_view text, const ValueList& values,
              const NameList& names) {
    ExpressionParameters parameters = with(names, values);
    parameters.condition = text;
    const auto read = expression::read_expressions(RequestKind::put, parameters);
    return holds(*read.value().condition, item);
}

Item projected(const Item& item, std::string_view text, const NameList& names) {
    ExpressionParameters parameters = with(names, {});
    parameters.projection = text;
    const auto read = expression::read_expressions(RequestKind::get, parameters);
    return project(*read.value().projection, item);
}

Result<Item> updated(const Item& item, std::string_view text, const ValueList& values,
                     bool existed) {
    ExpressionParameters parameters = with({}, values);
    parameters.update = text;
    const auto read = expression::read_expressions(RequestKind::update, parameters);
    return apply(*read.value().update, item, existed);
}

Item touched(const Item& item, std::string_view text, const ValueList& values) {
    ExpressionParameters parameters = with({}, values);
    parameters.update = text;
    const auto read = expression::read_expressions(RequestKind::update, parameters);
    return project(updated_paths(*read.value().update), item);
}

AttributeValue number(std::string_view text) { return Number::parse(text).value(); }
AttributeValue list(AttributeList elements) { return AttributeValue(std::move(elements)); }
AttributeValue strings(std::vector<std::string> members) {
    return StringSet::make(std::move(members)).value();
}

}  // namespace rocklock::proof
