// The paths of a tree, with the names that its placeholders stand for.
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
    // Of a step that is no index.
    std::string_view name(const PathStep& step) const;
    // The attribute that it begins with.
    std::string_view attribute(const Path& path) const { return name(steps(path).front()); }

    // What it leads to, or nullptr.
    const AttributeValue* find(const Item& item, const Path& path) const;

    // Step by step: names before indexes, names by their bytes.
    std::strong_ordering compare(const PathStep& left, const PathStep& right) const;
    std::strong_ordering compare(const Path& left, const Path& right) const;

    // As in the service's faults: "[m, x, [0]]".
    std::string render(const Path& path) const;

    // In order of compare().
    std::vector<Path> sorted(std::span<const Path> paths) const;
    // The fault of paths of which one is, or begins, another; or where one has a name and the other
    // an index in the same place. The first of those, as they stand in `paths`.
    std::optional<std::string> clash(std::span<const Path> paths) const;

private:
    enum class Relation : std::uint8_t { apart, overlap, conflict };
    Relation relation(const Path& left, const Path& right) const;
    bool clashes(std::span<const Path> paths) const;
    std::optional<std::string> first_pair(std::span<const Path> paths, Relation relation) const;

    const Tree& tree_;
    const Bindings& bindings_;
};

// The attributes that operands of the tree go into: `a` of `a.b` and `a[0]`, in order of the text.
std::vector<std::string_view> nested_attributes(const OperandTree& tree, const Paths& paths);

// One step from a value into what it holds, or nullptr. `name` of a step that is no index.
const AttributeValue* member(const AttributeValue& value, const PathStep& step,
                             std::string_view name);

}  // namespace rocklock::expression
