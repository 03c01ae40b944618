// Several writes that are one commit: what BatchWriteItem and TransactWriteItems have in common.
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

// Why each of several actions is in the way, in their order; none where all have no code.
using Reasons = std::vector<CancellationReason>;
bool has_cause(const Reasons& reasons);
// As the reason of one action. What is wrong with the store itself is no reason.
std::optional<CancellationReason> reason_of(const Error& error);
Error cancelled(Reasons reasons);

// Lifetime: borrows the requests.
struct MultiWrite {
    std::vector<ReadWrite> reads;
    std::vector<SchemaPointer> schemas;
    std::vector<PlannedWrite> plans;

    std::vector<std::string> rows() const;
};

// Errors: invalid_argument  the first fault that needs no table
Result<MultiWrite> read_writes(const std::vector<WriteItem>& requests);

// The fault of a transaction whose items have more than 4 MB together.
std::optional<Error> check_transaction_size(std::size_t bytes);

// Finds the tables. Errors: resource_not_found
Result<void> find_tables(MultiWrite& writes, const Catalog& catalog);

// The faults that are the whole request's although they need the definitions: a table that is only
// read, an empty value of a key, two writes of one item, which are said to be `twice`.
std::optional<Error> check_together(const MultiWrite& writes, std::string_view twice);

// Plans all of them, or stops at the first that does not fit its table. Errors: invalid_argument;
// `at` is its place then
Result<void> bind_writes(MultiWrite& writes, std::size_t& at);

struct DecidedWrites {
    Decision decision;
    std::vector<WriteAnswer> answers;
    Reasons reasons;
    // The first of the errors behind the reasons.
    std::optional<Error> refused;
    // Whether there was an item, of each.
    std::vector<bool> found;
    // Those that were refused and are to be kept.
    std::vector<KeptWrite> late;
    // Whose grants let the others in.
    std::vector<std::string> writers;
};

// What a decision of several writes is made with. Lifetime: borrows all of it.
struct WriteMoment {
    LockGate* gate = nullptr;
    const Snapshot& snapshot;
    std::uint64_t version = 0;
    WallTime now;
    AfterCommit& after;
    // Looked at behind the snapshot. None: no system's row is checked.
    const SystemRows* system = nullptr;
};

// Decides all of them on one moment. Errors: those of Snapshot; corrupt
Result<DecidedWrites> decide_writes(const MultiWrite& writes, const WriteMoment& moment);

// What the answers tell together.
std::vector<ConsumedCapacity> consumed_by(const std::vector<WriteAnswer>& answers, double factor);
std::vector<WrittenCollection> collections_of(const MultiWrite& writes,
                                              const std::vector<WriteAnswer>& answers);

}  // namespace rocklock::table
