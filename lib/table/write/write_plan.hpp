// One write of an item: parsed from its request, then decided on the current item.
//
//     request ──► read_write() ──► bind_write() ──► decide_write() ──► writes, or an Error
//                 no table          the table        the item
//
// None of these functions has a side effect: a decision depends only on the request, the definition
// of the table and the item. Errors are detected in DynamoDB's order: first those of the request
// alone, then those of its key, then those of the item.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/item_requests.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "expression/request.hpp"
#include "table/guard/lock_gate.hpp"
#include "table/schema/catalog.hpp"
#include "table/schema/index_entries.hpp"
#include "table/schema/layout.hpp"

namespace rocklock::table {

// Lifetime: borrows the request.
struct ReadWrite {
    const WriteItem* request = nullptr;
    expression::RequestExpressions expressions;
};

// Parses the request. Errors: invalid_argument for an error that can be found without the table.
Result<ReadWrite> read_write(const WriteItem& request);

// A request for a table that exists.
struct PlannedWrite {
    const ReadWrite* read = nullptr;
    SchemaPointer schema;
    // The storage key of the item.
    std::string row;
};

// Errors: invalid_argument  the table is read-only, the key does not match its schema, or the
//                           update changes a key
Result<PlannedWrite> bind_write(const ReadWrite& read, SchemaPointer schema);

struct DecidedWrite {
    // The changes of the item and of its index entries. Empty if the write changes no data.
    RowChanges changes;
    WriteAnswer answer;
};

// Decides the write. `stamp` is stored with the item. The decision is valid as long as the item has
// the same version as in `current`, or is still absent.
//
// Errors: condition_failed; invalid_argument if the update cannot be applied to the item
Result<DecidedWrite> decide_write(const PlannedWrite& plan,
                                  const std::optional<StoredItem>& current, const Stamp& stamp);

// Returns the stamp of a write. The writer is the principal of the grant that allowed it; if there
// is none, the writer that the request names.
Stamp stamp_of(std::uint64_t version, const WriteItem& request,
               const std::optional<LockGate::WriteTerms>& terms, WallTime now);

// Adds the removal of an item without a request, on condition that the item has not changed since
// it was read. For expired items.
void add_removal(const Schema& schema, const std::string& row, const StoredItem& current,
                 Decision& decision);

// Returns the condition that the definition has not changed.
Precondition unchanged(const Schema& schema);

// Adds the conditions that must hold when the decision is committed: the item and the definition
// have not changed.
void add_preconditions(const PlannedWrite& plan, const std::optional<StoredItem>& current,
                       std::vector<Precondition>& preconditions);

}  // namespace rocklock::table
