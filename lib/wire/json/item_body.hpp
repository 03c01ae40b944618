// Reads the body of a usual request for one item directly from its text, without a tree of JSON
// values, with a fraction of the instructions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

struct ItemBody {
    // The member TableName.
    std::string table;
    // The member Item or Key.
    AttributeMap attributes;
    // The member ConsistentRead, or false.
    bool consistent = false;
};

// Reads a body whose attributes are the member `attributes_key`. The member ConsistentRead is
// permitted only if `may_be_consistent` is true.
//
// Returns nullopt unless the body is valid and has no other members; its strings contain only ASCII
// characters without escapes; and its values have only the types S, N, BOOL, NULL, L and M. The
// caller must then parse the body with TableBody::parse(), and read it or report its fault.
//
// Threads: reentrant.
std::optional<ItemBody> read_usual_item_body(std::string_view body, std::string_view attributes_key,
                                             bool may_be_consistent);

}  // namespace rocklock
