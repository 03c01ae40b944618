// The entries of secondary indexes: which entry an item has, and which entries a write changes.
//
// An item has no entry if it lacks an attribute of the index's key, or if that attribute has
// another type. The latter is possible only for items that are older than their index.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/schema/schema.hpp"

namespace rocklock::table {

// Returns whether the value is an empty string or binary value, which is not allowed as a key.
bool is_empty_key(const AttributeValue& value);

bool has_entry(const IndexSchema& index, const Item& item);
// Returns the attributes of the item that its entry contains.
Item entry_of(const Schema& schema, const IndexSchema& index, const Item& item);

// The write units that a write consumes in the indexes that it changes, by the names of the
// indexes.
using IndexUnits = std::map<std::string, double>;

// Adds to `changes` the changes of entries when an item changes from `before` to `after`; null
// means no item. Returns the consumed units.
IndexUnits change_entries(const Schema& schema, const Item* before, const Item* after,
                          std::uint64_t version, RowChanges& changes);
// Returns the entry of the item in one index, or nullopt if it has none.
std::optional<Write> new_entry(const Schema& schema, const IndexSchema& index, const Item& item,
                               std::uint64_t version);

// Checks whether the item's values can be keys of the indexes. If `before` is given, only changed
// values are checked.
//
// Errors: invalid_argument with DynamoDB's text for the first invalid value
Result<void> check_index_keys(const Schema& schema, const Item& item, const Item* before);

// Returns an error if a document path leads into a key attribute of the table or of an index: keys
// are scalars. `nested` contains the attributes that paths lead into.
std::optional<Error> check_key_paths(const Schema& schema,
                                     const std::vector<std::string_view>& nested);

}  // namespace rocklock::table
