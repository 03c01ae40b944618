// Several writes in one commit: the common part of BatchWriteItem and TransactWriteItems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/batch_requests.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "table/guard/drafts.hpp"
#include "table/guard/guards.hpp"
#include "table/read/system_rows.hpp"
#include "table/schema/catalog.hpp"
#include "table/write/write_plan.hpp"

namespace rocklock::table {

// One reason for each action, in order. The reason of an action that did not cause the cancellation
// has no code.
using Reasons = std::vector<CancellationReason>;
bool has_cause(const Reasons& reasons);
// Returns the error as the reason of one action, if its code is condition_failed, invalid_argument,
// lock_required, stale_token or locked. Returns nullopt for other errors, with which the whole call
// fails.
std::optional<CancellationReason> reason_of(const Error& error);
Error cancelled(Reasons reasons);

// Lifetime: borrows the requests. The elements of `plans` point to elements of `reads`, so an
// object for which bind_writes() was called may be moved, but not copied.
struct MultiWrite {
    std::vector<ReadWrite> reads;
    std::vector<SchemaPointer> schemas;
    // The storage keys of the items, for bind_writes(). Empty for a request without a complete key.
    std::vector<std::string> row_keys;
    std::vector<PlannedWrite> plans;

    std::vector<std::string> rows() const;
};

// Parses the requests. Errors: invalid_argument for the first error that can be found without the
// tables.
Result<MultiWrite> read_writes(const std::vector<WriteItem>& requests);

// Returns an error if `bytes` is more than 4 MB. `bytes` is the total size of the items, keys and
// values in a TransactWriteItems request, or of the items that a TransactGetItems request reads.
std::optional<Error> check_transaction_size(std::size_t bytes);

// Finds the tables. Errors: resource_not_found
Result<void> find_tables(MultiWrite& writes, const Catalog& catalog);

// Checks the requests against the definitions of their tables. Returns the first error with which
// the whole call fails:
//
// - a table is read-only,
// - a condition on an item of a system table cannot be checked,
// - the value of a key attribute is empty, or
// - two requests are for the same item (`twice` is the message of this error).
//
// In a transaction, by contrast, an error of bind_write(), of the lock check or of decide_write()
// is the reason of one action.
std::optional<Error> check_together(MultiWrite& writes, std::string_view twice);

// Calls bind_write() for each write, after check_together(). Stops at the first error, and sets
// `at` to the index of this write. Errors: those of bind_write().
Result<void> bind_writes(MultiWrite& writes, std::size_t& at);

// Returns whether bind_writes() has succeeded and the definitions of the tables have not changed
// since.
bool is_bound(const MultiWrite& writes, const Catalog& catalog);

struct DecidedWrites {
    Decision decision;
    std::vector<WriteAnswer> answers;
    Reasons reasons;
    // The error of the first refused write.
    std::optional<Error> refused;
    // For each write, whether the item existed. False if the lock check refused the write.
    std::vector<bool> found;
    // The refused writes that are to be kept as drafts.
    std::vector<KeptWrite> late;
    // The principals whose drafts this call may save: each principal whose grant passed the lock
    // check of a write, even if the write was then refused because of its condition. Contains each
    // element once.
    std::vector<DraftAccess> writers;
};

// The inputs of decide_writes() other than the writes. Lifetime: borrows the objects that its
// pointers and references refer to.
struct WriteMoment {
    LockGate* gate = nullptr;
    const Snapshot& snapshot;
    std::uint64_t version = 0;
    WallTime now;
    AfterCommit& after;
    // The rows of system tables on which conditions are checked. SystemRows::read() must have been
    // called after `snapshot` was taken. Null if no write is for a system table.
    const SystemRows* system = nullptr;
};

// Decides all writes on one snapshot. Errors: those of Snapshot; corrupt
Result<DecidedWrites> decide_writes(const MultiWrite& writes, const WriteMoment& moment);

// Returns the capacity in the answers, multiplied by `factor`, with one entry for each table.
std::vector<ConsumedCapacity> consumed_by(const std::vector<WriteAnswer>& answers, double factor);
// Returns the item collections that the writes changed. Contains each collection once.
std::vector<WrittenCollection> collections_of(const MultiWrite& writes,
                                              const std::vector<WriteAnswer>& answers);

}  // namespace rocklock::table
