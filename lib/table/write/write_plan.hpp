// One write of an item. It is parsed from its request, and then decided with the current item.
//
//                the request      the table        the current item, a stamp
//                     ▼               ▼                 ▼
//                 read_write() ──► bind_write() ──► decide_write() ──► changes, or an Error
//
// These functions have no side effects. A decision depends only on the request, the definition of
// the table, the current item, and the stamp (the new version, the writer and the time). Errors are
// detected in DynamoDB's order: first errors of the request alone, then errors of its key, then
// errors that depend on the item.
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

// A parsed request together with the definition of its table. Lifetime: borrows `*read`.
struct PlannedWrite {
    const ReadWrite* read = nullptr;
    SchemaPointer schema;
    // The storage key of the item.
    std::string row;
};

// `row` is the storage key of the item if the caller knows it, and otherwise empty.
//
// Errors: invalid_argument  the table is a system table that does not allow the request (see
//                           check_writable()); the key, or an index key of a put item, does not
//                           match its schema; or the update changes a key attribute or an element
//                           inside the key attribute of an index
Result<PlannedWrite> bind_write(const ReadWrite& read, SchemaPointer schema, std::string row = {});

// Decodes the stored value of the current item; nullopt if there is none. If the write depends only
// on the existence, the version and the size of the current item, leaves the Item empty, which
// takes less time.
//
// Errors: those of decode_stored()
Result<std::optional<StoredItem>> decode_current(const PlannedWrite& plan,
                                                 const std::optional<std::string>& value);

struct DecidedWrite {
    // The changes of the item and of its index entries. Empty for a condition check. Also empty if
    // the item exists neither before nor after the write.
    RowChanges changes;
    WriteAnswer answer;
};

// Decides the write. `current` is the result of decode_current() or is decoded completely. `stamp`
// is stored with the item. The decision is valid while the definition of
// the table is unchanged and the item has the version of `current`. If `current` is nullopt, the
// item must still be absent. add_preconditions() adds these conditions to the commit.
//
// Errors: condition_failed; invalid_argument if the update cannot be applied to the item
Result<DecidedWrite> decide_write(const PlannedWrite& plan,
                                  const std::optional<StoredItem>& current, const Stamp& stamp);

// Returns the stamp of a write. If `terms` names a grant that allowed the write, the writer is the
// principal of the grant. Otherwise, the writer is `request.by`. If `request.by` is empty, the
// stamp contains neither a writer nor a time.
Stamp stamp_of(std::uint64_t version, const WriteItem& request,
               const std::optional<LockGate::WriteTerms>& terms, WallTime now);

// Adds the removal of the item to `decision`, with the precondition that the item still has the
// version of `current`. Used for expired items, for which there is no request.
void add_removal(const Schema& schema, const std::string& row, const StoredItem& current,
                 Decision& decision);

// Returns the condition that the definition has not changed.
Precondition unchanged(const Schema& schema);

// Adds the conditions that must hold when the decision is committed: neither the item nor the
// definition has changed.
void add_preconditions(const PlannedWrite& plan, const std::optional<StoredItem>& current,
                       std::vector<Precondition>& preconditions);

}  // namespace rocklock::table
