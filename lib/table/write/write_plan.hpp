// One write of an item: read from its request, then decided on the item as it is.
//
//     request ──► read_write() ──► bind_write() ──► decide_write() ──► writes, or an Error
//                 no table          the table        the item
//
// None of these has a side effect: a decision is a function of the request, the definition of the
// table and the item. Faults come in the service's order: of the request alone, of its key, of the
// item.
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

// Errors: invalid_argument  a fault that needs no table
Result<ReadWrite> read_write(const WriteItem& request);

// A request for a table that is there.
struct PlannedWrite {
    const ReadWrite* read = nullptr;
    SchemaPointer schema;
    // Of the item.
    std::string row;
};

// Errors: invalid_argument  the table is only read; the key does not fit it, or the update
//                           changes a key
Result<PlannedWrite> bind_write(const ReadWrite& read, SchemaPointer schema);

struct DecidedWrite {
    // Of the item and its entries in indexes; none where nothing changes.
    RowChanges changes;
    WriteAnswer answer;
};

// `stamp` is what the item gets. The decision holds as long as the item has the version that it
// has in `current`, or is absent.
//
// Errors: condition_failed; invalid_argument  the update does not go with the item
Result<DecidedWrite> decide_write(const PlannedWrite& plan,
                                  const std::optional<StoredItem>& current, const Stamp& stamp);

// `by` is who was let in by a grant; else who the request says writes.
Stamp stamp_of(std::uint64_t version, const WriteItem& request,
               const std::optional<LockGate::WriteTerms>& let_in, WallTime now);

// Adds what removes an item that nobody asked to be removed, on condition that it is as it was
// read.
void add_removal(const Schema& schema, const std::string& row, const StoredItem& current,
                 Decision& decision);

// That the definition is as it was.
Precondition unchanged(const Schema& schema);

// What must still be so as the decision is committed: the item, and the table.
void add_preconditions(const PlannedWrite& plan, const std::optional<StoredItem>& current,
                       std::vector<Precondition>& preconditions);

}  // namespace rocklock::table
