// What the checks of conditions and of updates share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expression/placeholders.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// The service's words for a function or an operator with wrong operands.
std::string operand_count_text(NodeKind kind, std::uint32_t count);
std::string operand_type_text(NodeKind kind, std::string_view type);
std::string path_required_text(NodeKind kind);

// The words for types in the faults of ADD, DELETE and AttributeUpdates: "STRING_SET".
std::string_view long_name(AttributeType type);

bool is_set(AttributeType type);

// Finds what the placeholders of operands stand for.
class OperandCheck {
public:
    OperandCheck(const OperandTree& tree, Bindings& bindings, Binder& binder)
        : tree_(tree), bindings_(bindings), binder_(binder) {}

    // Whether `node` is a path or a value; then its placeholders are looked for.
    bool bind(const Node& node);
    void bind_path(const Path& path);

    // The type that a value has, and size(). Nothing for what depends on the item.
    std::optional<AttributeType> type_of(const Node& node) const;

    // The first placeholder that is not there.
    std::optional<std::string> undefined;

private:
    const OperandTree& tree_;
    Bindings& bindings_;
    Binder& binder_;
};

// Looks for the names of a path. Returns the fault of the first that is not there.
std::optional<std::string> bind_names(const Tree& tree, const Path& path, Bindings& bindings,
                                      Binder& binder);

}  // namespace rocklock::expression
