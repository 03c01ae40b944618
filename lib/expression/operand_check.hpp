// The checks that conditions and updates have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expression/placeholders.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// Return DynamoDB's messages for a function or an operator with wrong operands.
std::string operand_count_text(NodeKind kind, std::uint32_t count);
std::string operand_type_text(NodeKind kind, std::string_view type);
std::string path_required_text(NodeKind kind);

// Returns the name of a type in the messages of ADD, DELETE and AttributeUpdates, for example
// "STRING_SET".
std::string_view long_name(AttributeType type);

bool is_set(AttributeType type);

// Binds the placeholders of operands and determines the types of operands.
class OperandBinder {
public:
    OperandBinder(const OperandTree& tree, Bindings& bindings, Binder& binder)
        : tree_(tree), bindings_(bindings), binder_(binder) {}

    // If `node` is a path or a value, looks up its placeholders and returns true. Otherwise,
    // returns false.
    bool bind(const Node& node);
    void bind_path(const Path& path);

    // Returns the type of a value or of size(). Returns nullopt if the type depends on the item.
    std::optional<AttributeType> type_of(const Node& node) const;

    // The message for the first undefined placeholder.
    std::optional<std::string> undefined;

private:
    const OperandTree& tree_;
    Bindings& bindings_;
    Binder& binder_;
};

// Looks up the names of a path. Returns the message for the first undefined name, or nullopt if all
// names are defined.
std::optional<std::string> bind_names(const Tree& tree, const Path& path, Bindings& bindings,
                                      Binder& binder);

}  // namespace rocklock::expression
