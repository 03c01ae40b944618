// Parts of an item: ProjectionExpression, AttributesToGet, and what UPDATED_OLD and UPDATED_NEW
// answer.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "expression/paths.hpp"
#include "expression/placeholders.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// Lifetime: borrows the placeholders that it was bound to.
struct Projection {
    std::shared_ptr<const Tree> tree;
    Bindings bindings;
    // In the order of Paths::compare(): those that lead through the same value are neighbours. None
    // begins another.
    std::vector<Path> ordered;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Errors: invalid_argument  the first fault, in the service's words: a name is not defined, two
//                           paths overlap or conflict
Result<Projection> bind_projection(const std::shared_ptr<const ProjectionTree>& tree,
                                   Binder& binder);

// What of the item the paths lead to, nested as it is there. Of a list only the elements asked for,
// in their order. What is not there is left out, with what would hold nothing else.
Item project(const Projection& projection, const Item& item);

// The attributes that it looks at, each once, in order of names.
std::vector<std::string_view> attributes(const Projection& projection);

// The attributes that its paths go into: `a` of `a.b` and `a[0]`.
std::vector<std::string_view> nested_attributes(const Projection& projection);

}  // namespace rocklock::expression
