#include "expression/operand_check.hpp"

#include <utility>

namespace rocklock::expression {

std::string operand_count_text(NodeKind kind, std::uint32_t count) {
    return "Incorrect number of operands for operator or function; operator or function: " +
           std::string(operator_name(kind)) + ", number of operands: " + std::to_string(count);
}

std::string operand_type_text(NodeKind kind, std::string_view type) {
    return "Incorrect operand type for operator or function; operator or function: " +
           std::string(operator_name(kind)) + ", operand type: " + std::string(type);
}

std::string path_required_text(NodeKind kind) {
    return "Operator or function requires a document path; operator or function: " +
           std::string(operator_name(kind));
}

std::string_view long_name(AttributeType type) {
    switch (type) {
        case AttributeType::string:
            return "STRING";
        case AttributeType::number:
            return "NUMBER";
        case AttributeType::binary:
            return "BINARY";
        case AttributeType::boolean:
            return "BOOLEAN";
        case AttributeType::null:
            return "NULL";
        case AttributeType::list:
            return "LIST";
        case AttributeType::map:
            return "MAP";
        case AttributeType::string_set:
            return "STRING_SET";
        case AttributeType::number_set:
            return "NUMBER_SET";
        case AttributeType::binary_set:
            return "BINARY_SET";
    }
    return {};
}

bool is_set(AttributeType type) {
    return type == AttributeType::string_set || type == AttributeType::number_set ||
           type == AttributeType::binary_set;
}

bool OperandBinder::bind(const Node& node) {
    if (node.kind == NodeKind::path) {
        bind_path(OperandTree::path_of(node));
        return true;
    }
    if (node.kind != NodeKind::value) return false;
    const std::string_view placeholder = tree_.text_of(tree_.values[node.first]);
    const AttributeValue* value = binder_.value(placeholder);
    bindings_.values[node.first] = value;
    if (!value && !undefined) undefined = undefined_value(placeholder);
    return true;
}

void OperandBinder::bind_path(const Path& path) {
    auto text = bind_names(tree_, path, bindings_, binder_);
    if (text && !undefined) undefined = std::move(text);
}

std::optional<AttributeType> OperandBinder::type_of(const Node& node) const {
    if (node.kind == NodeKind::size) return AttributeType::number;
    if (node.kind != NodeKind::value) return std::nullopt;
    const AttributeValue* value = bindings_.values[node.first];
    return value ? std::optional(value->type()) : std::nullopt;
}

std::optional<std::string> bind_names(const Tree& tree, const Path& path, Bindings& bindings,
                                      Binder& binder) {
    for (std::uint32_t i = path.first; i < path.first + path.count; ++i) {
        const PathStep& step = tree.steps[i];
        if (step.kind != PathStep::Kind::placeholder) continue;
        const std::string_view placeholder = tree.text_of(tree.names[step.number]);
        const std::string* name = binder.name(placeholder);
        if (!name) return undefined_name(placeholder);
        bindings.names[step.number] = *name;
    }
    return std::nullopt;
}

}  // namespace rocklock::expression
