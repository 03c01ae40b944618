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
// Returns the error as the reason of one action. Returns nullopt for an error of the store itself.
std::optional<CancellationReason> reason_of(const Error& error);
Error cancelled(Reasons reasons);

// Lifetime: borrows the requests.
struct MultiWrite {
    std::vector<ReadWrite> reads;
    std::vector<SchemaPointer> schemas;
    std::vector<PlannedWrite> plans;

    std::vector<std::string> rows() const;
};

// Parses the requests. Errors: invalid_argument for the first error that can be found without the
// table.
Result<MultiWrite> read_writes(const std::vector<WriteItem>& requests);

// Returns an error if the items of a transaction have more than 4 MB in total.
std::optional<Error> check_transaction_size(std::size_t bytes);

// Finds the tables. Errors: resource_not_found
Result<void> find_tables(MultiWrite& writes, const Catalog& catalog);

// Checks the requests against the definitions of their tables, and returns an error that refuses
// all of them together: a read-only table, an empty key value, or two writes of one item. The
// message for two writes of one item is `twice`. Other errors of a transaction refuse single
// actions.
std::optional<Error> check_together(const MultiWrite& writes, std::string_view twice);

// Plans all writes, or stops at the first one that does not fit its table. Errors:
// invalid_argument; `at` is then the index of that write
Result<void> bind_writes(MultiWrite& writes, std::size_t& at);

struct DecidedWrites {
    Decision decision;
    std::vector<WriteAnswer> answers;
    Reasons reasons;
    // The error of the first refused write.
    std::optional<Error> refused;
    // For each write, whether the item existed.
    std::vector<bool> found;
    // The refused writes that are to be kept as drafts.
    std::vector<KeptWrite> late;
    // The principals of the grants that allowed the other writes.
    std::vector<std::string> writers;
};

// The inputs of a decision on several writes. Lifetime: borrows all of them.
struct WriteMoment {
    LockGate* gate = nullptr;
    const Snapshot& snapshot;
    std::uint64_t version = 0;
    WallTime now;
    AfterCommit& after;
    // Must be read after the snapshot was taken. Null if no row of a system table is checked.
    const SystemRows* system = nullptr;
};

// Decides all writes on one snapshot. Errors: those of Snapshot; corrupt
Result<DecidedWrites> decide_writes(const MultiWrite& writes, const WriteMoment& moment);

// Return the consumed capacity and the written collections of all answers.
std::vector<ConsumedCapacity> consumed_by(const std::vector<WriteAnswer>& answers, double factor);
std::vector<WrittenCollection> collections_of(const MultiWrite& writes,
                                              const std::vector<WriteAnswer>& answers);

}  // namespace rocklock::table
