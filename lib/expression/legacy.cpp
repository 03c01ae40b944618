#include "expression/legacy.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "expression/operand_check.hpp"

namespace rocklock::expression {

namespace {

using Comparison = ComparisonOperator;

Error invalid(const std::string& text) { return fault(std::string(invalid_parameters) + text); }
Error invalid_for(const std::string& text, const std::string& attribute) {
    return invalid(text + " for Attribute: " + attribute);
}

bool takes_count(Comparison comparison, std::size_t count) {
    switch (comparison) {
        case Comparison::null:
        case Comparison::not_null:
            return count == 0;
        case Comparison::between:
            return count == 2;
        case Comparison::in:
            return count > 0;
        default:
            return count == 1;
    }
}

bool takes_type(Comparison comparison, AttributeType type) {
    const bool text = type == AttributeType::string || type == AttributeType::binary;
    switch (comparison) {
        case Comparison::eq:
        case Comparison::ne:
        case Comparison::null:
        case Comparison::not_null:
            return true;
        case Comparison::begins_with:
            return text;
        default:
            return text || type == AttributeType::number;
    }
}

std::optional<Error> check_comparison(Comparison comparison,
                                      std::span<const AttributeValue> values) {
    const std::string name(to_string(comparison));
    if (!takes_count(comparison, values.size())) {
        return invalid("Invalid number of argument(s) for the " + name + " ComparisonOperator");
    }
    for (const AttributeValue& value : values) {
        if (value.type() == values.front().type()) continue;
        return invalid("AttributeValues inside AttributeValueList must be of same type");
    }
    if (!values.empty() && !takes_type(comparison, values.front().type())) {
        return invalid("ComparisonOperator " + name + " is not valid for " +
                       std::string(to_string(values.front().type())) + " AttributeValue type");
    }
    if (comparison != Comparison::between) return std::nullopt;
    const auto order = compare(values[0], values[1]);
    if (order && *order > 0) {
        return fault(
            "The BETWEEN condition was provided a range where the lower bound is greater "
            "than the upper bound");
    }
    return std::nullopt;
}

// Returns the values of an expectation, from Value or from AttributeValueList.
std::span<const AttributeValue> values_of(const ExpectedAttribute& expected) {
    if (expected.values) return *expected.values;
    if (expected.value) return {&*expected.value, 1};
    return {};
}

std::optional<Error> check_expected_comparison(const ExpectedAttribute& expected) {
    const Comparison comparison = *expected.comparison;
    if (expected.exists) {
        return invalid_for("Exists and ComparisonOperator cannot be used together",
                           expected.attribute);
    }
    const bool has_values = expected.value || expected.values;
    if (!has_values && !takes_count(comparison, 0)) {
        return invalid_for("Value or AttributeValueList must be used with ComparisonOperator: " +
                               std::string(to_string(comparison)),
                           expected.attribute);
    }
    return check_comparison(comparison, values_of(expected));
}

std::optional<Error> check_expected(const ExpectedAttribute& expected) {
    if (expected.value && expected.values) {
        return invalid_for("Value and AttributeValueList cannot be used together",
                           expected.attribute);
    }
    if (expected.comparison) return check_expected_comparison(expected);
    if (expected.values) {
        return invalid_for("AttributeValueList can only be used with a ComparisonOperator",
                           expected.attribute);
    }
    if (expected.exists.value_or(true) && !expected.value) {
        return invalid_for(std::string("Value must be provided when Exists is ") +
                               (expected.exists ? "true" : "null"),
                           expected.attribute);
    }
    if (!expected.exists.value_or(true) && expected.value) {
        return invalid_for("Value cannot be used when Exists is false", expected.attribute);
    }
    return std::nullopt;
}

NodeKind node_of(Comparison comparison) {
    switch (comparison) {
        case Comparison::eq:
            return NodeKind::equal;
        case Comparison::ne:
            return NodeKind::not_equal;
        case Comparison::le:
            return NodeKind::less_or_equal;
        case Comparison::lt:
            return NodeKind::less;
        case Comparison::ge:
            return NodeKind::greater_or_equal;
        case Comparison::gt:
            return NodeKind::greater;
        case Comparison::in:
            return NodeKind::in;
        case Comparison::between:
            return NodeKind::between;
        case Comparison::not_null:
            return NodeKind::attribute_exists;
        case Comparison::null:
            return NodeKind::attribute_not_exists;
        case Comparison::contains:
        case Comparison::not_contains:
            return NodeKind::contains;
        case Comparison::begins_with:
            return NodeKind::begins_with;
    }
    return NodeKind::equal;
}

// Adds names and values to a tree without a text: every name is a placeholder that is already
// bound.
class Slots {
public:
    Slots(Tree& tree, Bindings& bindings) : tree_(tree), bindings_(bindings) {}

    Path path(std::string_view attribute) {
        const auto number = static_cast<std::uint32_t>(bindings_.names.size());
        bindings_.names.push_back(attribute);
        tree_.steps.push_back({PathStep::Kind::placeholder, number, 0, 0});
        return {static_cast<std::uint32_t>(tree_.steps.size() - 1), 1};
    }
    Node value(const AttributeValue& value) {
        bindings_.values.push_back(&value);
        return {NodeKind::value, static_cast<std::uint32_t>(bindings_.values.size() - 1), 0};
    }

private:
    Tree& tree_;
    Bindings& bindings_;
};

class ConditionBuilder {
public:
    explicit ConditionBuilder(ExpressionKind kind) : slots_(tree_, bindings_) { tree_.kind = kind; }

    void add(std::string_view attribute, Comparison comparison,
             std::span<const AttributeValue> values) {
        const Path path = slots_.path(attribute);
        const std::uint32_t subject = node({NodeKind::path, path.first, path.count});
        std::vector<std::uint32_t> operands{subject};
        for (const AttributeValue& value : values) operands.push_back(node(slots_.value(value)));
        std::uint32_t clause = join(node_of(comparison), operands);
        if (comparison == Comparison::not_contains) {
            // Unlike NOT contains(), NOT_CONTAINS is false if the attribute does not exist.
            const std::uint32_t exists = join(NodeKind::attribute_exists, {subject});
            clause = join(NodeKind::all_of, {exists, join(NodeKind::negation, {clause})});
        }
        clauses_.push_back(clause);
    }

    std::optional<Condition> finish(ConditionalOperator joined) {
        if (clauses_.empty()) return std::nullopt;
        tree_.root = clauses_.size() == 1                 ? clauses_.front()
                     : joined == ConditionalOperator::all ? join(NodeKind::all_of, clauses_)
                                                          : join(NodeKind::any_of, clauses_);
        return Condition{std::make_shared<const ConditionTree>(std::move(tree_)),
                         std::move(bindings_)};
    }

private:
    std::uint32_t node(Node node) {
        tree_.nodes.push_back(node);
        return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    }
    std::uint32_t join(NodeKind kind, const std::vector<std::uint32_t>& parts) {
        const auto first = static_cast<std::uint32_t>(tree_.operands.size());
        tree_.operands.insert(tree_.operands.end(), parts.begin(), parts.end());
        return node({kind, first, static_cast<std::uint32_t>(parts.size())});
    }

    ConditionTree tree_;
    Bindings bindings_;
    Slots slots_;
    std::vector<std::uint32_t> clauses_;
};

std::optional<Error> check_update(const AttributeUpdate& update) {
    using Action = AttributeUpdate::Action;
    if (update.attribute.empty()) return invalid("Empty attribute name");
    if (!update.value) {
        if (update.action == Action::remove) return std::nullopt;
        return invalid("Only DELETE action is allowed when no attribute value is specified");
    }
    const AttributeType type = update.value->type();
    if (update.action == Action::put || is_set(type)) return std::nullopt;
    if (update.action == Action::remove) {
        return invalid("DELETE action with value is not supported for the type " +
                       std::string(long_name(type)));
    }
    if (type == AttributeType::number || type == AttributeType::list) return std::nullopt;
    return invalid("ADD action is not supported for the type " + std::string(long_name(type)));
}

UpdateAction::Kind action_of(const AttributeUpdate& update) {
    switch (update.action) {
        case AttributeUpdate::Action::put:
            return UpdateAction::Kind::set;
        case AttributeUpdate::Action::add:
            return UpdateAction::Kind::add;
        case AttributeUpdate::Action::remove:
            break;
    }
    return update.value ? UpdateAction::Kind::subtract : UpdateAction::Kind::remove;
}

}  // namespace

std::string_view to_string(ComparisonOperator comparison) {
    switch (comparison) {
        case Comparison::eq:
            return "EQ";
        case Comparison::ne:
            return "NE";
        case Comparison::le:
            return "LE";
        case Comparison::lt:
            return "LT";
        case Comparison::ge:
            return "GE";
        case Comparison::gt:
            return "GT";
        case Comparison::in:
            return "IN";
        case Comparison::between:
            return "BETWEEN";
        case Comparison::not_null:
            return "NOT_NULL";
        case Comparison::null:
            return "NULL";
        case Comparison::contains:
            return "CONTAINS";
        case Comparison::not_contains:
            return "NOT_CONTAINS";
        case Comparison::begins_with:
            return "BEGINS_WITH";
    }
    return {};
}

Result<std::optional<Condition>> legacy_condition(const std::vector<ExpectedAttribute>& expected,
                                                  ConditionalOperator joined) {
    ConditionBuilder builder(ExpressionKind::condition);
    for (const ExpectedAttribute& attribute : expected) {
        if (auto error = check_expected(attribute)) return *std::move(error);
        const auto present = attribute.exists.value_or(true) ? Comparison::eq : Comparison::null;
        builder.add(attribute.attribute, attribute.comparison.value_or(present),
                    values_of(attribute));
    }
    return builder.finish(joined);
}

Result<std::optional<Condition>> legacy_filter(const std::vector<AttributeCondition>& filter,
                                               ConditionalOperator joined) {
    ConditionBuilder builder(ExpressionKind::filter);
    for (const AttributeCondition& condition : filter) {
        auto error = check_comparison(condition.comparison, condition.values);
        if (error) return *std::move(error);
        builder.add(condition.attribute, condition.comparison, condition.values);
    }
    return builder.finish(joined);
}

Result<std::vector<KeyClause>> legacy_key_clauses(const std::vector<AttributeCondition>& keys) {
    std::vector<KeyClause> clauses;
    for (const AttributeCondition& key : keys) {
        auto error = check_comparison(key.comparison, key.values);
        if (error) return *std::move(error);
        KeyClause clause{key.attribute, key.comparison, {}};
        for (const AttributeValue& value : key.values) clause.values.push_back(&value);
        clauses.push_back(std::move(clause));
    }
    return clauses;
}

Result<Update> legacy_update(const std::vector<AttributeUpdate>& updates) {
    UpdateTree tree;
    tree.kind = ExpressionKind::update;
    tree.legacy = true;
    Bindings bindings;
    Slots slots(tree, bindings);
    for (const AttributeUpdate& update : updates) {
        if (auto error = check_update(update)) return *std::move(error);
        UpdateAction action{action_of(update), slots.path(update.attribute)};
        if (update.value) {
            action.value = static_cast<std::uint32_t>(tree.nodes.size());
            tree.nodes.push_back(slots.value(*update.value));
        }
        tree.actions.push_back(action);
    }
    return Update{std::make_shared<const UpdateTree>(std::move(tree)), std::move(bindings)};
}

Result<Projection> legacy_projection(const std::vector<std::string>& attributes) {
    auto tree = std::make_shared<ProjectionTree>();
    tree->kind = ExpressionKind::projection;
    Projection projection;
    Slots slots(*tree, projection.bindings);
    for (const std::string& attribute : attributes) {
        if (attribute.empty()) return invalid("Empty attribute name");
        tree->paths.push_back(slots.path(attribute));
    }
    projection.tree = tree;
    projection.ordered = projection.paths().sorted(tree->paths);
    const Paths paths = projection.paths();
    const auto twice =
        std::adjacent_find(projection.ordered.begin(), projection.ordered.end(),
                           [&paths](const Path& left, const Path& right) {
                               return paths.compare(left, right) == std::strong_ordering::equal;
                           });
    if (twice != projection.ordered.end()) {
        return invalid("Duplicate value in attribute name: " +
                       std::string(paths.attribute(*twice)));
    }
    return projection;
}

}  // namespace rocklock::expression
