// Query.
#include <utility>

#include "base/base64.hpp"
#include "expression/key_condition.hpp"
#include "item/key_codec.hpp"
#include "table/read/page.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

using expression::KeyRange;

std::string with_value(std::string prefix, const AttributeValue& value) {
    append_key_value(prefix, value);
    return prefix;
}

// Returns the range of rows that corresponds to a range of keys.
RowRange rows_in(const KeyRange& keys, const PagePlan& plan, bool forward) {
    std::string partition = row_prefix(*plan.schema, plan.index);
    append_partition(partition, keys.hash);
    RowRange rows{partition, end_of_prefix(partition), forward};
    if (keys.prefix) {
        std::string prefix = partition;
        append_key_prefix(prefix, *keys.prefix);
        rows.last = end_of_prefix(prefix);
        rows.first = std::move(prefix);
        return rows;
    }
    // All rows that begin with the bytes of a bound have that range key.
    if (keys.lower) {
        rows.first = with_value(partition, keys.lower->value);
        if (!keys.lower->inclusive) rows.first = end_of_prefix(rows.first);
    }
    if (keys.upper) {
        rows.last = with_value(partition, keys.upper->value);
        if (keys.upper->inclusive) rows.last = end_of_prefix(rows.last);
    }
    return rows;
}

// Returns the attributes that all rows in the range have.
AttributeMap known_of(const KeyRange& keys, const KeyParts& parts) {
    AttributeMap known;
    known.set(parts.hash.name, keys.hash);
    const bool one = parts.range && keys.lower && keys.upper && keys.lower->inclusive &&
                     keys.upper->inclusive && keys.lower->value == keys.upper->value;
    if (one) known.set(parts.range->name, keys.lower->value);
    return known;
}

// Returns the key in DynamoDB's form: "{pk=AttributeValue: {S:a}}".
std::string shown(const AttributeMap& key) {
    std::string text;
    for (const auto& [name, value] : key) {
        text.append(text.empty() ? "{" : ", ").append(name).append("=AttributeValue: {");
        text.append(to_string(value.type())).append(":");
        if (const auto* string = value.get_if<std::string>()) text += *string;
        if (const auto* number = value.get_if<Number>()) text += number->to_string();
        if (const auto* binary = value.get_if<Binary>()) text += base64_encode(binary->bytes);
        text += "}";
    }
    return text + "}";
}

std::optional<Error> check_start(const PagePlan& plan, const KeyRange& keys,
                                 const AttributeMap& start) {
    if (!plan.index && !plan.schema->key.range) {
        return validation_error("The provided exclusive start key is invalid: ExclusiveStartKey: " +
                                shown(start));
    }
    switch (check_start_key(plan, start)) {
        case StartKeyFault::names:
            return validation_error("The provided starting key is invalid");
        case StartKeyFault::types:
            return validation_error(
                "The provided starting key is invalid: The provided key element does not match "
                "the schema");
        case StartKeyFault::none:
            break;
    }
    const KeyParts& parts = plan.key();
    if (*start.find(parts.hash.name) != keys.hash) {
        return validation_error(
            "The provided starting key is outside query boundaries based on provided conditions");
    }
    if (!parts.range || keys.contains(*start.find(parts.range->name))) return std::nullopt;
    return validation_error("The provided starting key does not match the range key predicate");
}

}  // namespace

Result<Page> TableStore::query(const Query& request) {
    const PageOptions& options = request.options;
    if (auto error = check_page_request(request.table, options)) return *std::move(error);
    const auto read =
        read_page_expressions(expression::RequestKind::query, request.expressions, options);
    if (!read) return Error(read.error());
    const auto plan = plan_page(schema(request.table), options, *read);
    if (!plan) return Error(plan.error());
    const auto schema = plan->key().schema();
    const auto keys = expression::key_range(read->key_clauses, schema);
    if (!keys) return Error(keys.error());
    if (auto error = check_read_paths(*plan)) return *std::move(error);
    if (read->filter) {
        const bool older = request.expressions.attribute_filter.has_value();
        if (auto error = expression::check_filter(*read->filter, schema, older)) {
            return *std::move(error);
        }
    }
    RowRange rows = rows_in(*keys, *plan, request.forward);
    if (options.start_key) {
        if (auto error = check_start(*plan, *keys, *options.start_key)) return *std::move(error);
        begin_after(rows, *plan, *options.start_key);
    }
    const AttributeMap known =
        plan->schema->binding ? known_of(*keys, plan->key()) : AttributeMap();
    return read_guarded(options_.gate, options.proof, [&](GuardedRead& guard) {
        return read_page(*snapshot_for(*plan), *plan, rows, known, guard);
    });
}

}  // namespace rocklock::table
