// The paths of a tree, with the names that the placeholders of the tree stand for.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expression/placeholders.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

class Paths {
public:
    Paths(const Tree& tree, const Bindings& bindings) : tree_(tree), bindings_(bindings) {}

    std::span<const PathStep> steps(const Path& path) const {
        return std::span(tree_.steps).subspan(path.first, path.count);
    }
    // Returns the name of a step that is not an index.
    std::string_view name(const PathStep& step) const;
    // Returns the attribute with which the path begins.
    std::string_view attribute(const Path& path) const { return name(steps(path).front()); }

    // Returns the value at the path, or nullptr if the item has no such value.
    const AttributeValue* find(const Item& item, const Path& path) const;

    // Compares two steps. Names are less than indexes, and names are compared by their bytes.
    std::strong_ordering compare(const PathStep& left, const PathStep& right) const;
    std::strong_ordering compare(const Path& left, const Path& right) const;

    // Returns the path as in DynamoDB's messages: "[m, x, [0]]".
    std::string render(const Path& path) const;

    // Returns the paths in the order of compare().
    std::vector<Path> sorted(std::span<const Path> paths) const;
    // Returns a message if two paths overlap or conflict. Two paths overlap if they are equal or
    // one is a prefix of the other. They conflict if one has a name and the other has an index at
    // the same position. Reports the first such pair in the order of `paths`, and overlaps before
    // conflicts.
    std::optional<std::string> find_conflict(std::span<const Path> paths) const;

private:
    enum class Relation : std::uint8_t { apart, overlap, conflict };
    Relation relation(const Path& left, const Path& right) const;
    bool has_conflict(std::span<const Path> paths) const;
    std::optional<std::string> first_pair(std::span<const Path> paths, Relation relation) const;

    const Tree& tree_;
    const Bindings& bindings_;
};

// Returns the attributes of which an operand of the tree reads an element, for example `a` for
// `a.b` and for `a[0]`. Their order is that of the text.
std::vector<std::string_view> nested_attributes(const OperandTree& tree, const Paths& paths);

// Returns the element of `value` to which the step leads, or nullptr if there is no such element.
// If the step is not an index, `name` is its name.
const AttributeValue* member(const AttributeValue& value, const PathStep& step,
                             std::string_view name);

}  // namespace rocklock::expression
