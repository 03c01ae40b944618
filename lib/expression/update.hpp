// Updates of an item: UpdateExpression and AttributeUpdates.
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

// An update with the names and values of its placeholders. Lifetime: borrows the placeholders.
struct Update {
    std::shared_ptr<const UpdateTree> tree;
    Bindings bindings;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Looks up the placeholders of an update, and performs all checks that do not need an item.
//
// Errors: invalid_argument  the first fault, with DynamoDB's message: an undefined placeholder,
//                           paths that overlap or conflict, wrong operands
Result<Update> bind_update(std::shared_ptr<const UpdateTree> tree, Binder& binder);

// Returns an error if the update changes a key attribute.
std::optional<Error> check_keys(const Update& update, std::span<const std::string_view> keys);

// Returns the attributes of which the update changes or reads an element, for example `a` for `a.b`
// and for `a[0]`.
std::vector<std::string_view> nested_attributes(const Update& update);

// Returns whether the update consists of REMOVE and DELETE actions only. Such an update does not
// create an item.
bool only_takes_away(const Update& update);

// Returns the item after the update. All operands are evaluated on `item`, the state before the
// update. In a list, elements are first set and then removed. Set elements whose indexes are beyond
// the end of the list are appended in the order of these indexes. The indexes of removed elements
// refer to the list before the update.
//
// If the item does not exist, `existed` is false and `item` contains its key.
//
// Errors: invalid_argument  with DynamoDB's messages: an attribute does not exist or has the wrong
//                           type, a path is invalid for the item, or a number is out of range
Result<Item> apply(const Update& update, const Item& item, bool existed);

// Returns the paths that the update sets or removes. With this projection, project() returns
// UPDATED_OLD for the item before the update, and UPDATED_NEW for the item after the update.
Projection updated_paths(const Update& update);

}  // namespace rocklock::expression
