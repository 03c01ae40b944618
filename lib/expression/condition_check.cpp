// Checks of a condition after its placeholders are bound. They need no item.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "expression/condition.hpp"
#include "expression/operand_check.hpp"
#include "expression/parser.hpp"

namespace rocklock::expression {

namespace {

bool joins(NodeKind kind) {
    return kind == NodeKind::all_of || kind == NodeKind::any_of || kind == NodeKind::negation;
}

// Returns the required number of operands, or none if the grammar determines it.
std::optional<std::uint32_t> operands_of(NodeKind kind) {
    switch (kind) {
        case NodeKind::size:
        case NodeKind::attribute_exists:
        case NodeKind::attribute_not_exists:
            return 1;
        case NodeKind::attribute_type:
        case NodeKind::begins_with:
        case NodeKind::contains:
            return 2;
        default:
            return std::nullopt;
    }
}

// Returns the bound of a BETWEEN as in DynamoDB's messages.
std::string render(const AttributeValue& value) {
    std::string text = "AttributeValue: {" + std::string(to_string(value.type())) + ':';
    if (const auto* string = value.get_if<std::string>()) text += *string;
    if (const auto* number = value.get_if<Number>()) text += number->to_string();
    if (const auto* binary = value.get_if<Binary>()) {
        const std::string size = std::to_string(binary->bytes.size());
        text += "java.nio.HeapByteBuffer[pos=0 lim=" + size + " cap=" + size + ']';
    }
    return text + '}';
}

bool is_scalar(AttributeType type) {
    return type == AttributeType::string || type == AttributeType::number ||
           type == AttributeType::binary;
}
bool is_text(AttributeType type) {
    return type == AttributeType::string || type == AttributeType::binary;
}
bool has_size(AttributeType type) {
    return type != AttributeType::number && type != AttributeType::boolean &&
           type != AttributeType::null;
}

// Checks one clause: a comparison or a function that is not an operand of another one, with its
// operands. Keeps the first fault of each kind. If there are several kinds, reports the one that
// DynamoDB reports first.
class ClauseCheck {
public:
    ClauseCheck(const ConditionTree& tree, Bindings& bindings, Binder& binder)
        : operands_(tree, bindings, binder), tree_(tree), bindings_(bindings) {}

    std::optional<std::string> run(const Node& clause) {
        visit(clause);
        for (auto* found : {&operands_.undefined, &count_, &same_, &type_}) {
            if (*found) return std::move(*found);
        }
        return std::nullopt;
    }

private:
    static void keep(std::optional<std::string>& target, std::optional<std::string> text) {
        if (!target) target = std::move(text);
    }
    void visit(const Node& node);
    void check(const Node& node);
    void check_types(const Node& node);
    void check_distinct(const Node& node);
    void check_attribute_type(const Node& node);
    void check_bounds(const Node& node);
    template <typename Predicate>
    void require_types(const Node& node, Predicate allowed);
    void require_path(const Node& node);
    const AttributeValue* value_of(const Node& node) const {
        return node.kind == NodeKind::value ? bindings_.values[node.first] : nullptr;
    }

    OperandBinder operands_;
    const ConditionTree& tree_;
    const Bindings& bindings_;
    std::optional<std::string> count_;
    std::optional<std::string> same_;
    std::optional<std::string> type_;
};

void ClauseCheck::visit(const Node& node) {
    if (operands_.bind(node)) return;
    for (std::uint32_t i = 0; i < node.count; ++i) visit(tree_.operand(node, i));
    if (!operands_.undefined) check(node);
}

void ClauseCheck::check(const Node& node) {
    const auto wanted = operands_of(node.kind);
    if (wanted && node.count != *wanted) {
        keep(count_, operand_count_text(node.kind, node.count));
        return;
    }
    if (node.kind == NodeKind::in && node.count - 1 > max_in_operands) {
        keep(count_, "The IN operator is provided with too many operands; number of operands: " +
                         std::to_string(node.count - 1));
    }
    check_distinct(node);
    check_types(node);
}

void ClauseCheck::check_distinct(const Node& node) {
    const Node& first = tree_.operand(node, 0);
    if (same_ || first.kind != NodeKind::path) return;
    const Paths paths(tree_, bindings_);
    const Path path = ConditionTree::path_of(first);
    for (std::uint32_t i = 1; i < node.count; ++i) {
        const Node& other = tree_.operand(node, i);
        if (other.kind != NodeKind::path ||
            paths.compare(path, ConditionTree::path_of(other)) != std::strong_ordering::equal) {
            continue;
        }
        same_ =
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: " +
            std::string(operator_name(node.kind)) + ", first operand: " + paths.render(path);
        return;
    }
}

void ClauseCheck::check_types(const Node& node) {
    switch (node.kind) {
        case NodeKind::less:
        case NodeKind::less_or_equal:
        case NodeKind::greater:
        case NodeKind::greater_or_equal:
            return require_types(node, is_scalar);
        case NodeKind::between:
            require_types(node, is_scalar);
            return check_bounds(node);
        case NodeKind::begins_with:
            return require_types(node, is_text);
        case NodeKind::size:
            return require_types(node, has_size);
        case NodeKind::attribute_exists:
        case NodeKind::attribute_not_exists:
            return require_path(node);
        case NodeKind::attribute_type:
            return check_attribute_type(node);
        default:
            return;
    }
}

template <typename Predicate>
void ClauseCheck::require_types(const Node& node, Predicate allowed) {
    for (std::uint32_t i = 0; i < node.count; ++i) {
        const auto type = operands_.type_of(tree_.operand(node, i));
        if (type && !allowed(*type)) keep(type_, operand_type_text(node.kind, to_string(*type)));
    }
}

void ClauseCheck::require_path(const Node& node) {
    if (tree_.operand(node, 0).kind == NodeKind::path) return;
    keep(type_, path_required_text(node.kind));
}

void ClauseCheck::check_attribute_type(const Node& node) {
    const auto type = operands_.type_of(tree_.operand(node, 1));
    if (type != AttributeType::string) {
        keep(type_, operand_type_text(node.kind,
                                      type ? to_string(*type) : "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"));
        return;
    }
    const std::string& name = *value_of(tree_.operand(node, 1))->get_if<std::string>();
    if (parse_attribute_type(name)) return;
    keep(type_, "Invalid attribute type name found; type: " + name +
                    ", valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}");
}

void ClauseCheck::check_bounds(const Node& node) {
    const AttributeValue* lower = value_of(tree_.operand(node, 1));
    const AttributeValue* upper = value_of(tree_.operand(node, 2));
    if (!lower || !upper) return;
    const std::string bounds =
        "; lower bound operand: " + render(*lower) + ", upper bound operand: " + render(*upper);
    if (lower->type() != upper->type()) {
        keep(type_,
             "The BETWEEN operator requires same data type for lower and upper bounds" + bounds);
        return;
    }
    const auto order = compare(*lower, *upper);
    if (order && *order > 0) {
        keep(type_,
             "The BETWEEN operator requires upper bound to be greater than or equal to lower "
             "bound" +
                 bounds);
    }
}

// Returns the first fault of a condition's clauses, in the order of the text.
std::optional<std::string> check_clauses(const ConditionTree& tree, const Node& node,
                                         Bindings& bindings, Binder& binder) {
    if (!joins(node.kind)) return ClauseCheck(tree, bindings, binder).run(node);
    for (std::uint32_t i = 0; i < node.count; ++i) {
        auto text = check_clauses(tree, tree.operand(node, i), bindings, binder);
        if (text) return text;
    }
    return std::nullopt;
}

}  // namespace

Result<Condition> bind_condition(std::shared_ptr<const ConditionTree> tree, Binder& binder) {
    Condition condition{std::move(tree), {}};
    condition.bindings.names.resize(condition.tree->names.size());
    condition.bindings.values.resize(condition.tree->values.size());
    const Node& root = condition.tree->nodes[condition.tree->root];
    const auto text = check_clauses(*condition.tree, root, condition.bindings, binder);
    if (text) return fault_in(condition.tree->kind, *text);
    return condition;
}

}  // namespace rocklock::expression
