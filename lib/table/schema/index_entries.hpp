// The entries of secondary indexes: what an item has in them, and what a write changes there.
//
// An item without an attribute of the index's key, or with one of another type, has no entry. Only
// items that were there before their index can have the latter.
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

// An S or B without bytes: no key may be that.
bool is_empty_key(const AttributeValue& value);

bool has_entry(const IndexSchema& index, const Item& item);
// The attributes of the item that the entry holds.
Item entry_of(const Schema& schema, const IndexSchema& index, const Item& item);

// What a write costs in the indexes, by their names: those that it touches.
using IndexUnits = std::map<std::string, double>;

// From `before` to `after`, each nullptr where there is no item; adds to the changes.
IndexUnits change_entries(const Schema& schema, const Item* before, const Item* after,
                          std::uint64_t version, RowChanges& changes);
// The entry of one index alone.
std::optional<Write> new_entry(const Schema& schema, const IndexSchema& index, const Item& item,
                               std::uint64_t version);

// Whether values may be keys of the indexes: all of them, or those that differ from `before`.
//
// Errors: invalid_argument  the first fault, in the service's words
Result<void> check_index_keys(const Schema& schema, const Item& item, const Item* before);

// The fault of document paths that go into a key attribute of the table or of one of its indexes:
// keys are scalars. `nested` are the attributes that the paths go into.
std::optional<Error> check_key_paths(const Schema& schema,
                                     const std::vector<std::string_view>& nested);

}  // namespace rocklock::table
