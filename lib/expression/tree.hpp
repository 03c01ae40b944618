// Parsed expressions. They are plain data, without the values of a request.
//
// A tree is immutable after parsing and can be shared. The values of its placeholders are looked up
// for each request (placeholders.hpp). The parts of a tree are elements of a few arrays and refer
// to each other by index, so that parsing needs only a few allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expression/fault.hpp"

namespace rocklock::expression {

struct PathStep {
    enum class Kind : std::uint8_t {
        // `.name`. The name is in the text.
        name,
        // `.#name`. `number` is the index of the placeholder in Tree::names.
        placeholder,
        // `[number]`.
        index,
    };
    Kind kind = Kind::name;
    std::uint32_t number = 0;
    // The position of the name in the text.
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
};

// A path consists of `count` steps in Tree::steps, beginning at `first`.
struct Path {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// The position of a placeholder in the text. A placeholder that is used several times has several
// entries.
struct Placeholder {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
};

enum class NodeKind : std::uint8_t {
    // Operands. For a path, `first` and `count` are its steps. For a value, `first` is its index in
    // Tree::values.
    path,
    value,
    size,
    // Operands of updates.
    if_not_exists,
    list_append,
    plus,
    minus,
    // Conditions.
    equal,
    not_equal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    between,
    in,
    attribute_exists,
    attribute_not_exists,
    attribute_type,
    begins_with,
    contains,
    all_of,
    any_of,
    negation,
    // A function that does not exist. The parser refuses a text that contains it.
    unknown_function,
};

// A node of the tree. Except for paths and values, `first` and `count` are a range in
// OperandTree::operands.
struct Node {
    NodeKind kind = NodeKind::path;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// Returns the operator as it is written in expressions: "=", "BETWEEN", "size". Returns an empty
// string for paths, values, AND, OR and NOT.
std::string_view operator_name(NodeKind kind);

struct Tree {
    // The parameter of the request that contained the expression, for messages.
    ExpressionKind kind = ExpressionKind::condition;
    std::string text;
    std::vector<PathStep> steps;
    std::vector<Placeholder> names;
    std::vector<Placeholder> values;

    std::string_view text_of(const Placeholder& placeholder) const {
        return std::string_view(text).substr(placeholder.begin, placeholder.size);
    }
};

// A tree with operands. In `nodes`, the operands of a node precede the node.
struct OperandTree : Tree {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> operands;

    const Node& operand(const Node& node, std::uint32_t number) const {
        return nodes[operands[node.first + number]];
    }
    static Path path_of(const Node& node) { return {node.first, node.count}; }
};

struct ConditionTree : OperandTree {
    // The index of the node of the whole condition.
    std::uint32_t root = 0;
};

struct UpdateAction {
    enum class Kind : std::uint8_t {
        set,
        // REMOVE: removes the attribute.
        remove,
        add,
        // DELETE: removes members from a set.
        subtract,
    };
    Kind kind = Kind::set;
    Path path;
    // The index of the node of the value. Not used with `remove`.
    std::uint32_t value = 0;
};

struct UpdateTree : OperandTree {
    std::vector<UpdateAction> actions;
    // Whether the tree was made from AttributeUpdates. If so, ADD can also append to lists, and
    // some messages differ.
    bool legacy = false;
};

struct ProjectionTree : Tree {
    std::vector<Path> paths;
};

}  // namespace rocklock::expression
