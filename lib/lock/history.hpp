// What has ended: read back from its records, and forgotten when it is old.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage.hpp>

#include "lock/lock_table.hpp"
#include "lock/records.hpp"

namespace rocklock {

// The record of a grant, live or ended, with all its locks. Errors: corrupt, io_error.
Result<std::optional<records::GrantRecord>> read_grant(const Storage& storage, GrantId grant);

// What the history answers to a request about a grant or session that the table does not know: an
// answer, an error, or the event to decide next.
using HistoryAnswer = std::variant<Result<Answer>, Retake>;
HistoryAnswer answer_from_history(const Storage& storage, const LockTable& table,
                                  const AskHistory& asked);

// The last holder of a resource who has ended, going back from `last`; none when it was forgotten.
Result<std::optional<PastHolder>> read_past_holder(const Storage& storage,
                                                   std::string_view resource, GrantId last);

Result<std::vector<AuditRow>> read_audit(const Snapshot& snapshot, std::uint64_t after,
                                         std::uint32_t limit);

// Goes round the records of what has ended and forgets what is old enough, some at a time.
//
// Ages are counted on the boot clock, from the deadline that stood at the end, so an old record is
// at least as old as it is taken for, whatever is done to the wall clock.
class HistoryTrimmer {
public:
    struct Limits {
        std::chrono::milliseconds age;
        std::uint64_t records = 0;
    };
    explicit HistoryTrimmer(Limits limits) : limits_(limits) {}

    // Reads at most `budget` records and deletes those that may go, in `batch`; the table forgets
    // them.
    void trim(const Snapshot& snapshot, LockTable& table, BootTime now, std::uint32_t boot_epoch,
              std::size_t budget, Batch& batch);

private:
    bool may_go(std::uint32_t epoch, BootTime deadline, std::chrono::milliseconds lease,
                bool excess, BootTime now, std::uint32_t boot_epoch) const;

    Limits limits_;
    // Where each round goes on.
    std::string grants_from_;
    std::string sessions_from_;
};

}  // namespace rocklock
