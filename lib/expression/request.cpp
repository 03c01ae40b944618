#include "expression/request.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "expression/legacy.hpp"
#include "expression/parser.hpp"

namespace rocklock::expression {

namespace {

// The name of a parameter, and whether the request has it.
struct Given {
    std::string_view name;
    bool is_given = false;
};

using Parameters = ExpressionParameters;

bool changes(RequestKind kind) {
    return kind == RequestKind::put || kind == RequestKind::update || kind == RequestKind::remove;
}
bool reads_many(RequestKind kind) {
    return kind == RequestKind::query || kind == RequestKind::scan;
}

// Returns the parameters that a request of this kind can have, in the order of DynamoDB's messages.
std::vector<Given> expressions_of(RequestKind kind, const Parameters& given) {
    std::vector<Given> list;
    if (kind == RequestKind::update) list.push_back({"UpdateExpression", given.update.has_value()});
    if (changes(kind)) {
        list.push_back({"ConditionExpression", given.condition.has_value()});
        return list;
    }
    list.push_back({"ProjectionExpression", given.projection.has_value()});
    if (reads_many(kind)) list.push_back({"FilterExpression", given.filter.has_value()});
    if (kind == RequestKind::query) {
        list.push_back({"KeyConditionExpression", given.key_condition.has_value()});
    }
    return list;
}

std::vector<Given> older_parameters_of(RequestKind kind, const Parameters& given) {
    std::vector<Given> list;
    if (kind == RequestKind::update) {
        list.push_back({"AttributeUpdates", given.attribute_updates.has_value()});
    }
    if (changes(kind)) {
        list.push_back({"Expected", given.expected.has_value()});
    } else {
        list.push_back({"AttributesToGet", given.attributes_to_get.has_value()});
    }
    if (reads_many(kind)) {
        list.push_back({kind == RequestKind::query ? "QueryFilter" : "ScanFilter",
                        given.attribute_filter.has_value()});
    }
    if (kind != RequestKind::get) {
        list.push_back({"ConditionalOperator", given.conditional_operator.has_value()});
    }
    // KeyConditions can be combined with other expressions if there is no KeyConditionExpression.
    if (kind == RequestKind::query && given.key_condition) {
        list.push_back({"KeyConditions", given.key_conditions.has_value()});
    }
    return list;
}

// Returns the names of the parameters that the request has: "A, B".
std::string names_of(const std::vector<Given>& list) {
    std::string text;
    for (const Given& given : list) {
        if (!given.is_given) continue;
        if (!text.empty()) text += ", ";
        text += given.name;
    }
    return text;
}

bool has_older_parameters(const Parameters& given) {
    return given.attribute_updates || given.expected || given.conditional_operator ||
           given.key_conditions || given.attribute_filter || given.attributes_to_get;
}

std::optional<Error> check_mixing(RequestKind kind, const Parameters& given) {
    // Most requests have no legacy parameters.
    if (!has_older_parameters(given)) return std::nullopt;
    const std::string expressions = names_of(expressions_of(kind, given));
    if (expressions.empty()) return std::nullopt;
    const std::string others = names_of(older_parameters_of(kind, given));
    if (others.empty()) return std::nullopt;
    return fault(
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {" +
        others + "} Expression parameters: {" + expressions + "}");
}

// Returns whether the request has an expression that can contain values.
bool has_conditions(RequestKind kind, const Parameters& given) {
    if (changes(kind)) return given.condition || (kind == RequestKind::update && given.update);
    return given.filter || (kind == RequestKind::query && given.key_condition);
}

std::optional<Error> check_needless_names(RequestKind kind, const Parameters& given) {
    if (!given.placeholders.names || has_conditions(kind, given)) return std::nullopt;
    if (!changes(kind) && given.projection) return std::nullopt;
    return fault("ExpressionAttributeNames can only be specified when using expressions");
}

std::optional<Error> check_needless_values(RequestKind kind, const Parameters& given) {
    if (!given.placeholders.values || has_conditions(kind, given)) return std::nullopt;
    std::string text;
    std::size_t count = 0;
    for (const Given& expression : expressions_of(kind, given)) {
        if (expression.name == "ProjectionExpression") continue;
        if (count++ > 0) text += " and ";
        text += expression.name;
    }
    // A request that reads single items has no expression with values.
    if (count == 0) return std::nullopt;
    return fault("ExpressionAttributeValues can only be specified when using expressions: " + text +
                 (count > 1 ? " are null" : " is null"));
}

std::optional<Error> check_conditional_operator(RequestKind kind, const Parameters& given) {
    if (!given.conditional_operator) return std::nullopt;
    std::size_t count = 0;
    if (changes(kind) && given.expected) count = given.expected->size();
    if (reads_many(kind) && given.attribute_filter) count = given.attribute_filter->size();
    if (count >= 2) return std::nullopt;
    return fault(count == 0 ? "ConditionalOperator cannot be used without Filter or Expected"
                            : "ConditionalOperator can only be used when Filter or Expected has "
                              "two or more elements");
}

// Moves a parsed tree into shared ownership.
template <typename Tree>
Result<std::shared_ptr<const Tree>> shared(Result<Tree> tree) {
    if (!tree) return std::move(tree).error();
    return std::make_shared<const Tree>(*std::move(tree));
}

class RequestReader {
public:
    RequestReader(RequestKind kind, const Parameters& given)
        : kind_(kind), given_(given), binder_(given.placeholders) {}

    Result<RequestExpressions> run();

private:
    using Step = std::optional<Error> (RequestReader::*)();

    std::optional<Error> check_parameters();
    std::optional<Error> read_older_changes();
    std::optional<Error> read_older_reads();
    std::optional<Error> check_key_conditions();
    std::optional<Error> check_placeholders() { return binder_.check(); }
    std::optional<Error> read_update();
    std::optional<Error> read_condition();
    std::optional<Error> read_key_condition();
    std::optional<Error> read_filter();
    std::optional<Error> read_projection();
    std::optional<Error> check_unused() { return binder_.check_unused(); }
    std::optional<Error> read_key_clauses();

    // Parses and binds a condition. Leaves `target` empty if there is no text.
    std::optional<Error> read_into(std::optional<Condition>& target, ExpressionKind kind,
                                   const std::optional<std::string>& text);

    RequestKind kind_;
    const Parameters& given_;
    Binder binder_;
    RequestExpressions result_;
};

// Stores the value of a result in `target`, or returns its error.
template <typename T, typename Target>
std::optional<Error> store(Result<T> result, Target& target) {
    if (!result) return std::move(result).error();
    target = *std::move(result);
    return std::nullopt;
}

Result<RequestExpressions> RequestReader::run() {
    static constexpr auto steps = std::to_array<Step>({
        &RequestReader::check_parameters,
        &RequestReader::read_older_changes,
        &RequestReader::read_older_reads,
        &RequestReader::check_key_conditions,
        &RequestReader::check_placeholders,
        &RequestReader::read_update,
        &RequestReader::read_condition,
        &RequestReader::read_key_condition,
        &RequestReader::read_filter,
        &RequestReader::read_projection,
        &RequestReader::check_unused,
        &RequestReader::read_key_clauses,
    });
    for (const Step step : steps) {
        if (auto error = (this->*step)()) return *std::move(error);
    }
    return std::move(result_);
}

std::optional<Error> RequestReader::check_parameters() {
    if (auto error = check_mixing(kind_, given_)) return error;
    if (auto error = check_needless_names(kind_, given_)) return error;
    if (auto error = check_needless_values(kind_, given_)) return error;
    return check_conditional_operator(kind_, given_);
}

std::optional<Error> RequestReader::read_older_changes() {
    if (kind_ == RequestKind::update && given_.attribute_updates) {
        if (auto error = store(legacy_update(*given_.attribute_updates), result_.update)) {
            return error;
        }
    }
    if (!changes(kind_) || !given_.expected) return std::nullopt;
    const auto joined = given_.conditional_operator.value_or(ConditionalOperator::all);
    return store(legacy_condition(*given_.expected, joined), result_.condition);
}

std::optional<Error> RequestReader::read_older_reads() {
    if (reads_many(kind_) && given_.attribute_filter) {
        const auto joined = given_.conditional_operator.value_or(ConditionalOperator::all);
        auto filter = legacy_filter(*given_.attribute_filter, joined);
        if (auto error = store(std::move(filter), result_.filter)) return error;
    }
    if (changes(kind_) || !given_.attributes_to_get) return std::nullopt;
    return store(legacy_projection(*given_.attributes_to_get), result_.projection);
}

std::optional<Error> RequestReader::check_key_conditions() {
    const bool older = given_.key_conditions && !given_.key_conditions->empty();
    if (kind_ != RequestKind::query || older || given_.key_condition) return std::nullopt;
    return fault(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified "
        "in the request.");
}

std::optional<Error> RequestReader::read_update() {
    if (kind_ != RequestKind::update || !given_.update) return std::nullopt;
    auto tree = shared(parse_update(*given_.update));
    if (!tree) return std::move(tree).error();
    return store(bind_update(*std::move(tree), binder_), result_.update);
}

std::optional<Error> RequestReader::read_into(std::optional<Condition>& target, ExpressionKind kind,
                                              const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    auto tree = shared(parse_condition(kind, *text));
    if (!tree) return std::move(tree).error();
    return store(bind_condition(*std::move(tree), binder_), target);
}

std::optional<Error> RequestReader::read_condition() {
    if (!changes(kind_)) return std::nullopt;
    return read_into(result_.condition, ExpressionKind::condition, given_.condition);
}

std::optional<Error> RequestReader::read_key_condition() {
    if (kind_ != RequestKind::query) return std::nullopt;
    return read_into(result_.key_condition, ExpressionKind::key_condition, given_.key_condition);
}

std::optional<Error> RequestReader::read_filter() {
    if (!reads_many(kind_)) return std::nullopt;
    return read_into(result_.filter, ExpressionKind::filter, given_.filter);
}

std::optional<Error> RequestReader::read_projection() {
    if (changes(kind_) || !given_.projection) return std::nullopt;
    auto tree = shared(parse_projection(*given_.projection));
    if (!tree) return std::move(tree).error();
    return store(bind_projection(*tree, binder_), result_.projection);
}

std::optional<Error> RequestReader::read_key_clauses() {
    if (kind_ != RequestKind::query) return std::nullopt;
    if (result_.key_condition)
        return store(key_clauses(*result_.key_condition), result_.key_clauses);
    return store(legacy_key_clauses(*given_.key_conditions), result_.key_clauses);
}

}  // namespace

Result<RequestExpressions> read_expressions(RequestKind kind,
                                            const ExpressionParameters& parameters) {
    return RequestReader(kind, parameters).run();
}

}  // namespace rocklock::expression
