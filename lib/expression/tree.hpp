// Expressions as read from their text: plain types, without the values of any request.
//
// A tree is made once, never changed, and may be shared: what its placeholders stand for is found
// for each request (placeholders.hpp). Its parts lie in a few arrays and name one another by their
// place there, so that to read a text costs a handful of allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expression/fault.hpp"

namespace rocklock::expression {

struct PathStep {
    enum class Kind : std::uint8_t {
        // `.name`, as it stands in the text.
        name,
        // `.#name`; `number` is its place among the tree's names.
        placeholder,
        // `[number]`.
        index,
    };
    Kind kind = Kind::name;
    std::uint32_t number = 0;
    // A name's place in the text.
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
};

// `count` steps of a tree, from `first` on.
struct Path {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// A placeholder's place in the text. One that comes several times is there several times.
struct Placeholder {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
};

enum class NodeKind : std::uint8_t {
    // Operands. `first` and `count` of a path are its steps; `first` of a value is its place among
    // the tree's values.
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
    // The function of a text that is refused for it.
    unknown_function,
};

// Of all but paths and values, `first` and `count` are places in the tree's `operands`.
struct Node {
    NodeKind kind = NodeKind::path;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// As in expressions: "=", "BETWEEN", "size". Of paths, values and what joins conditions: nothing.
std::string_view operator_name(NodeKind kind);

struct Tree {
    // Which parameter it was, for what is said of it later.
    ExpressionKind kind = ExpressionKind::condition;
    std::string text;
    std::vector<PathStep> steps;
    std::vector<Placeholder> names;
    std::vector<Placeholder> values;

    std::string_view text_of(const Placeholder& placeholder) const {
        return std::string_view(text).substr(placeholder.begin, placeholder.size);
    }
};

// A tree with operands; parts come before what they are parts of.
struct OperandTree : Tree {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> operands;

    const Node& operand(const Node& node, std::uint32_t number) const {
        return nodes[operands[node.first + number]];
    }
    static Path path_of(const Node& node) { return {node.first, node.count}; }
};

struct ConditionTree : OperandTree {
    // The place of the whole condition among the nodes.
    std::uint32_t root = 0;
};

struct UpdateAction {
    enum class Kind : std::uint8_t {
        set,
        // REMOVE: takes the attribute away.
        remove,
        add,
        // DELETE: takes members out of a set.
        subtract,
    };
    Kind kind = Kind::set;
    Path path;
    // The place of its value among the nodes; nothing with `remove`.
    std::uint32_t value = 0;
};

struct UpdateTree : OperandTree {
    std::vector<UpdateAction> actions;
    // Made of AttributeUpdates: ADD also appends to lists, and faults have other words.
    bool legacy = false;
};

struct ProjectionTree : Tree {
    std::vector<Path> paths;
};

}  // namespace rocklock::expression
