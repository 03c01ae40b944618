// Selects parts of an item. Used for ProjectionExpression, for AttributesToGet, and for the
// attributes that UPDATED_OLD and UPDATED_NEW return.
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

// Paths, with the names that their placeholders stand for. Lifetime: borrows the placeholders.
struct Projection {
    std::shared_ptr<const Tree> tree;
    Bindings bindings;
    // The paths in the order of Paths::compare(), so that paths through the same value are
    // adjacent. No path is a prefix of another one.
    std::vector<Path> ordered;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Looks up the placeholders of a projection.
//
// Errors: invalid_argument  the first fault, with DynamoDB's message: an undefined name, or two
//                           paths that overlap or conflict
Result<Projection> bind_projection(const std::shared_ptr<const ProjectionTree>& tree,
                                   Binder& binder);

// Returns the parts of the item to which the paths lead, nested as in the item. A list contains
// only the selected elements, in their order. Absent parts are omitted. Maps and lists that would
// therefore be empty are omitted, too.
Item project(const Projection& projection, const Item& item);

// Returns the attributes that the projection reads, without duplicates, ordered by name.
std::vector<std::string_view> attributes(const Projection& projection);

// Returns the attributes of which the projection reads an element, for example `a` for `a.b` and
// for `a[0]`.
std::vector<std::string_view> nested_attributes(const Projection& projection);

}  // namespace rocklock::expression
