#include "expression/key_condition.hpp"

#include <algorithm>
#include <compare>
#include <utility>

namespace rocklock::expression {

namespace {

std::optional<ComparisonOperator> comparison_of(NodeKind kind) {
    switch (kind) {
        case NodeKind::equal:
            return ComparisonOperator::eq;
        case NodeKind::less:
            return ComparisonOperator::lt;
        case NodeKind::less_or_equal:
            return ComparisonOperator::le;
        case NodeKind::greater:
            return ComparisonOperator::gt;
        case NodeKind::greater_or_equal:
            return ComparisonOperator::ge;
        case NodeKind::between:
            return ComparisonOperator::between;
        case NodeKind::begins_with:
            return ComparisonOperator::begins_with;
        default:
            return std::nullopt;
    }
}

// Returns the operator for exchanged operands: `:v < key` is equal to `key > :v`.
ComparisonOperator turned(ComparisonOperator comparison) {
    switch (comparison) {
        case ComparisonOperator::lt:
            return ComparisonOperator::gt;
        case ComparisonOperator::le:
            return ComparisonOperator::ge;
        case ComparisonOperator::gt:
            return ComparisonOperator::lt;
        case ComparisonOperator::ge:
            return ComparisonOperator::le;
        default:
            return comparison;
    }
}

std::string_view forbidden_operator(NodeKind kind) {
    if (kind == NodeKind::any_of) return "OR";
    if (kind == NodeKind::negation) return "NOT";
    return operator_name(kind);
}

std::optional<std::string> first_operand_fault(NodeKind kind) {
    if (kind != NodeKind::between && kind != NodeKind::begins_with) return std::nullopt;
    return "Invalid condition in KeyConditionExpression: " + std::string(operator_name(kind)) +
           " operator must have the key attribute as its first operand";
}

class ClauseReader {
public:
    explicit ClauseReader(const Condition& condition)
        : condition_(condition), tree_(*condition.tree), paths_(condition.paths()) {}

    std::optional<Error> read(const Node& node);

    std::vector<KeyClause> clauses;

private:
    std::optional<Error> read_clause(const Node& node, ComparisonOperator comparison);
    std::optional<Error> read_operand(const Node& node, KeyClause& clause) const;
    std::optional<Error> add(KeyClause clause);

    const Condition& condition_;
    const ConditionTree& tree_;
    Paths paths_;
};

std::optional<Error> ClauseReader::read(const Node& node) {
    if (node.kind == NodeKind::all_of) {
        for (std::uint32_t i = 0; i < node.count; ++i) {
            if (auto error = read(tree_.operand(node, i))) return error;
        }
        return std::nullopt;
    }
    const auto comparison = comparison_of(node.kind);
    if (!comparison) {
        return fault("Invalid operator used in KeyConditionExpression: " +
                     std::string(forbidden_operator(node.kind)));
    }
    return read_clause(node, *comparison);
}

std::optional<Error> ClauseReader::read_clause(const Node& node, ComparisonOperator comparison) {
    const bool path_first = tree_.operand(node, 0).kind == NodeKind::path;
    if (!path_first) {
        if (auto text = first_operand_fault(node.kind)) return fault(*std::move(text));
        comparison = turned(comparison);
    }
    KeyClause clause{{}, comparison, {}};
    for (std::uint32_t i = 0; i < node.count; ++i) {
        if (auto error = read_operand(tree_.operand(node, i), clause)) return error;
    }
    return add(std::move(clause));
}

std::optional<Error> ClauseReader::read_operand(const Node& node, KeyClause& clause) const {
    if (node.kind == NodeKind::value) {
        clause.values.push_back(condition_.bindings.values[node.first]);
        return std::nullopt;
    }
    if (node.kind != NodeKind::path) {
        return fault("KeyConditionExpressions cannot contain nested operations");
    }
    if (!clause.attribute.empty()) {
        return fault(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used "
            "in one condition");
    }
    if (node.count > 1) {
        return fault_in(ExpressionKind::key_condition,
                        "KeyConditionExpressions cannot have conditions on nested attributes");
    }
    clause.attribute = paths_.attribute(ConditionTree::path_of(node));
    return std::nullopt;
}

std::optional<Error> ClauseReader::add(KeyClause clause) {
    if (clause.attribute.empty()) {
        return fault("Invalid condition in KeyConditionExpression: No key attribute specified");
    }
    const bool twice = std::any_of(clauses.begin(), clauses.end(), [&](const KeyClause& other) {
        return other.attribute == clause.attribute;
    });
    if (twice) return fault("KeyConditionExpressions must only contain one condition per key");
    clauses.push_back(std::move(clause));
    return std::nullopt;
}

const KeyClause* clause_for(std::span<const KeyClause> clauses, const KeyAttribute& key) {
    const auto found =
        std::find_if(clauses.begin(), clauses.end(),
                     [&key](const KeyClause& clause) { return clause.attribute == key.name; });
    return found == clauses.end() ? nullptr : &*found;
}

Error missed(const KeyAttribute& key) {
    return fault("Query condition missed key schema element: " + std::string(key.name));
}

bool can_be_indexed(ComparisonOperator comparison) {
    switch (comparison) {
        case ComparisonOperator::eq:
        case ComparisonOperator::le:
        case ComparisonOperator::lt:
        case ComparisonOperator::ge:
        case ComparisonOperator::gt:
        case ComparisonOperator::between:
        case ComparisonOperator::begins_with:
            return true;
        default:
            return false;
    }
}

// Checks that the clauses name the key attributes and use operators that keys support.
std::optional<Error> check_clauses(std::span<const KeyClause> clauses, const KeySchema& schema) {
    if (clauses.empty() || clauses.size() > 2) {
        return fault("Conditions can be of length 1 or 2 only");
    }
    const KeyClause* hash = clause_for(clauses, schema.hash);
    if (!hash) return missed(schema.hash);
    if (clauses.size() == 2 && schema.range && !clause_for(clauses, *schema.range)) {
        return missed(*schema.range);
    }
    const bool indexable = std::all_of(clauses.begin(), clauses.end(), [](const KeyClause& clause) {
        return can_be_indexed(clause.comparison);
    });
    if (!indexable) return fault("Attempted conditional constraint is not an indexable operation");
    if (hash->comparison != ComparisonOperator::eq || (clauses.size() == 2 && !schema.range)) {
        return fault("Query key condition not supported");
    }
    return std::nullopt;
}

std::optional<Error> check_values(const KeyClause& clause, const KeyAttribute& key) {
    for (const AttributeValue* value : clause.values) {
        if (value->type() != key.type) {
            return fault(std::string(invalid_parameters) +
                         "Condition parameter type does not match schema type");
        }
        if (auto checked = check_key_value(*value, key); !checked) {
            return std::move(checked).error();
        }
    }
    return std::nullopt;
}

void narrow(KeyRange& range, const KeyClause& clause) {
    const AttributeValue& value = *clause.values.front();
    switch (clause.comparison) {
        case ComparisonOperator::lt:
        case ComparisonOperator::le:
            range.upper = {value, clause.comparison == ComparisonOperator::le};
            break;
        case ComparisonOperator::gt:
        case ComparisonOperator::ge:
            range.lower = {value, clause.comparison == ComparisonOperator::ge};
            break;
        case ComparisonOperator::begins_with:
            range.prefix = value;
            break;
        default:
            range.lower = {value, true};
            range.upper = {*clause.values.back(), true};
            break;
    }
}

bool has_prefix(const AttributeValue& value, const AttributeValue& prefix) {
    const auto* text = value.get_if<std::string>();
    const auto* text_prefix = prefix.get_if<std::string>();
    if (text && text_prefix) return text->starts_with(*text_prefix);
    const auto* binary = value.get_if<Binary>();
    const auto* binary_prefix = prefix.get_if<Binary>();
    return binary && binary_prefix && binary->bytes.starts_with(binary_prefix->bytes);
}

bool is_beyond(const std::optional<std::strong_ordering>& order, bool inclusive) {
    return !order || *order < 0 || (*order == 0 && !inclusive);
}

}  // namespace

Result<std::vector<KeyClause>> key_clauses(const Condition& condition) {
    ClauseReader reader(condition);
    const auto& tree = *condition.tree;
    if (auto error = reader.read(tree.nodes[tree.root])) return *std::move(error);
    return std::move(reader.clauses);
}

bool KeyRange::contains(const AttributeValue& range_key) const {
    if (lower && is_beyond(compare(range_key, lower->value), lower->inclusive)) return false;
    if (upper && is_beyond(compare(upper->value, range_key), upper->inclusive)) return false;
    return !prefix || has_prefix(range_key, *prefix);
}

Result<KeyRange> key_range(std::span<const KeyClause> clauses, const KeySchema& schema) {
    if (auto error = check_clauses(clauses, schema)) return *std::move(error);
    const KeyClause& hash = *clause_for(clauses, schema.hash);
    if (auto error = check_values(hash, schema.hash)) return *std::move(error);
    KeyRange range{*hash.values.front(), {}, {}, {}};
    if (clauses.size() == 1) return range;
    const KeyClause& clause = *clause_for(clauses, *schema.range);
    if (auto error = check_values(clause, *schema.range)) return *std::move(error);
    narrow(range, clause);
    return range;
}

std::optional<Error> check_filter(const Condition& filter, const KeySchema& schema, bool legacy) {
    const Paths paths = filter.paths();
    for (const Node& node : filter.tree->nodes) {
        if (node.kind != NodeKind::path) continue;
        const std::string attribute(paths.attribute(ConditionTree::path_of(node)));
        if (attribute != schema.hash.name && (!schema.range || attribute != schema.range->name)) {
            continue;
        }
        return fault(
            std::string(legacy ? "QueryFilter" : "Filter Expression") +
            " can only contain non-primary key attributes: Primary key attribute: " + attribute);
    }
    return std::nullopt;
}

}  // namespace rocklock::expression
