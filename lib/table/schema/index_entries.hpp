// The entries of secondary indexes. The functions determine which entry an item has, and which
// entries a write changes.
//
// An item has no entry in an index if it lacks an attribute of the index's key, or if the value of
// that attribute cannot be a key (it has another type, is empty or is too long). A value that
// cannot be a key is possible only in items that were written before the index was created.
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
// Returns the content of the item's entry in the index: the attributes that the projection of the
// index includes.
Item entry_of(const Schema& schema, const IndexSchema& index, const Item& item);

// For each index that a write changes, by name: the write units that the write consumes in it.
using IndexUnits = std::map<std::string, double>;

// An item changes from `before` to `after`. Adds the necessary writes of index entries to
// `changes`, and returns the consumed units. `before` or `after` may be null, which means that
// there is no item. New entries get the version `version`.
IndexUnits change_entries(const Schema& schema, const Item* before, const Item* after,
                          std::uint64_t version, RowChanges& changes);
// Returns the entry of the item in one index, or nullopt if it has none.
std::optional<Write> new_entry(const Schema& schema, const IndexSchema& index, const Item& item,
                               std::uint64_t version);

// Checks whether the item's values can be keys of the indexes. An absent attribute is not an error.
// If `before` is not null, only values that differ from those of `before` are checked. Attributes
// of the table's key are not checked.
//
// Errors: invalid_argument with DynamoDB's text for the first invalid value
Result<void> check_index_keys(const Schema& schema, const Item& item, const Item* before);

// Returns an error if a document path such as `a.b` or `a[0]` begins with a key attribute of the
// table or of an index, because keys are scalars. `nested` contains the first names of the document
// paths of the request; see nested_attributes().
std::optional<Error> check_key_paths(const Schema& schema,
                                     const std::vector<std::string_view>& nested);

}  // namespace rocklock::table
