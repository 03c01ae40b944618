// Changes of an item: UpdateExpression and AttributeUpdates.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <rocklock/result.hpp>

#include "expression/paths.hpp"
#include "expression/placeholders.hpp"
#include "expression/projection.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// Lifetime: borrows the placeholders that it was bound to.
struct Update {
    std::shared_ptr<const UpdateTree> tree;
    Bindings bindings;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Gives the placeholders their meaning, and checks all that can be checked without an item.
//
// Errors: invalid_argument  the first fault, in the service's words: a placeholder is not defined,
//                           paths overlap or conflict, wrong operands
Result<Update> bind_update(std::shared_ptr<const UpdateTree> tree, Binder& binder);

// The fault of an update that changes a part of the key.
std::optional<Error> check_keys(const Update& update, std::span<const std::string_view> keys);

// The attributes that its paths go into, whether it changes them or reads them: `a` of `a.b` and
// `a[0]`.
std::vector<std::string_view> nested_attributes(const Update& update);

// Whether it can only take away: such an update does not make an item where there is none.
bool only_takes_away(const Update& update);

// The item as it is after the update. All values are those of the item before. Of a list, elements
// are put in place first, those beyond its end behind it in order of their indexes; then elements
// are removed, by their places before the update.
//
// `existed` is false where there was no item; `item` then is what it begins as, its key.
//
// Errors: invalid_argument  in the service's words: an attribute is not there, has the wrong type,
//                           or a path leads nowhere; a number is beyond what numbers are
Result<Item> apply(const Update& update, const Item& item, bool existed);

// The paths that the update names: project() with them the item before for UPDATED_OLD, the item
// after for UPDATED_NEW.
Projection updated_paths(const Update& update);

}  // namespace rocklock::expression
