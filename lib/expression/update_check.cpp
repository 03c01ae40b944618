// Checks of an update after its placeholders are bound. They need no item.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expression/operand_check.hpp"
#include "expression/update.hpp"

namespace rocklock::expression {

namespace {

bool is_among(std::span<const std::string_view> keys, std::string_view attribute) {
    return std::find(keys.begin(), keys.end(), attribute) != keys.end();
}

std::string wrong_section(std::string_view section, AttributeType type) {
    std::string text = "Incorrect operand type for operator or function; operator: ";
    text.append(section).append(", operand type: ").append(long_name(type));
    return text.append(", typeSet: ALLOWED_FOR_").append(section).append("_OPERAND");
}

// Checks the whole update for one kind of fault before the next kind, as DynamoDB does.
class UpdateCheck {
public:
    UpdateCheck(const UpdateTree& tree, Bindings& bindings, Binder& binder)
        : tree_(tree), bindings_(bindings), binder_(binder), operands_(tree, bindings, binder) {}

    std::optional<std::string> run() {
        if (auto text = undefined_names()) return text;
        if (auto text = undefined_values()) return text;
        std::vector<Path> targets;
        targets.reserve(tree_.actions.size());
        for (const UpdateAction& action : tree_.actions) targets.push_back(action.path);
        if (auto text = Paths(tree_, bindings_).find_conflict(targets)) return text;
        if (auto text = wrong_sections()) return text;
        return wrong_functions();
    }

private:
    std::optional<std::string> undefined_names();
    std::optional<std::string> undefined_values();
    std::optional<std::string> wrong_sections() const;
    std::optional<std::string> wrong_functions() const;
    std::optional<std::string> wrong_function(const Node& node) const;
    std::optional<std::string> wrong_type(const Node& node, AttributeType wanted) const;

    const UpdateTree& tree_;
    Bindings& bindings_;
    Binder& binder_;
    OperandBinder operands_;
};

// The steps of all paths are in the order of the text.
std::optional<std::string> UpdateCheck::undefined_names() {
    return bind_names(tree_, {0, static_cast<std::uint32_t>(tree_.steps.size())}, bindings_,
                      binder_);
}

std::optional<std::string> UpdateCheck::undefined_values() {
    for (const Node& node : tree_.nodes) {
        if (node.kind == NodeKind::value) operands_.bind(node);
    }
    return operands_.undefined;
}

std::optional<std::string> UpdateCheck::wrong_sections() const {
    for (const UpdateAction& action : tree_.actions) {
        const bool adds = action.kind == UpdateAction::Kind::add;
        if (!adds && action.kind != UpdateAction::Kind::subtract) continue;
        const auto type = operands_.type_of(tree_.nodes[action.value]);
        if (!type || is_set(*type) || (adds && *type == AttributeType::number)) continue;
        return wrong_section(adds ? "ADD" : "DELETE", *type);
    }
    return std::nullopt;
}

// Nodes are in the order in which they end in the text.
std::optional<std::string> UpdateCheck::wrong_functions() const {
    for (const Node& node : tree_.nodes) {
        if (auto text = wrong_function(node)) return text;
    }
    return std::nullopt;
}

std::optional<std::string> UpdateCheck::wrong_function(const Node& node) const {
    switch (node.kind) {
        case NodeKind::plus:
        case NodeKind::minus:
            return wrong_type(node, AttributeType::number);
        case NodeKind::list_append:
            if (node.count != 2) return operand_count_text(node.kind, node.count);
            return wrong_type(node, AttributeType::list);
        case NodeKind::if_not_exists:
            if (node.count != 2) return operand_count_text(node.kind, node.count);
            if (tree_.operand(node, 0).kind == NodeKind::path) return std::nullopt;
            return path_required_text(node.kind);
        default:
            return std::nullopt;
    }
}

std::optional<std::string> UpdateCheck::wrong_type(const Node& node, AttributeType wanted) const {
    for (std::uint32_t i = 0; i < node.count; ++i) {
        const auto type = operands_.type_of(tree_.operand(node, i));
        if (type && *type != wanted) return operand_type_text(node.kind, to_string(*type));
    }
    return std::nullopt;
}

}  // namespace

Result<Update> bind_update(std::shared_ptr<const UpdateTree> tree, Binder& binder) {
    Update update{std::move(tree), {}};
    update.bindings.names.resize(update.tree->names.size());
    update.bindings.values.resize(update.tree->values.size());
    const auto text = UpdateCheck(*update.tree, update.bindings, binder).run();
    if (text) return fault_in(update.tree->kind, *text);
    return update;
}

std::optional<Error> check_keys(const Update& update, std::span<const std::string_view> keys) {
    const Paths paths = update.paths();
    for (const UpdateAction& action : update.tree->actions) {
        const std::string_view attribute = paths.attribute(action.path);
        if (!is_among(keys, attribute)) continue;
        return fault(std::string(invalid_parameters) + "Cannot update attribute " +
                     std::string(attribute) + ". This attribute is part of the key");
    }
    return std::nullopt;
}

std::vector<std::string_view> nested_attributes(const Update& update) {
    const Paths paths = update.paths();
    auto names = nested_attributes(*update.tree, paths);
    for (const UpdateAction& action : update.tree->actions) {
        if (action.path.count > 1) names.push_back(paths.attribute(action.path));
    }
    return names;
}

bool only_takes_away(const Update& update) {
    const auto& actions = update.tree->actions;
    return !actions.empty() &&
           std::all_of(actions.begin(), actions.end(), [](const UpdateAction& action) {
               return action.kind == UpdateAction::Kind::remove ||
                      action.kind == UpdateAction::Kind::subtract;
           });
}

Projection updated_paths(const Update& update) {
    Projection projection{update.tree, update.bindings, {}};
    std::vector<Path> targets;
    for (const UpdateAction& action : update.tree->actions) targets.push_back(action.path);
    projection.ordered = projection.paths().sorted(targets);
    return projection;
}

}  // namespace rocklock::expression
