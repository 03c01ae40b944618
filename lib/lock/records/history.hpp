// What has ended: read back from its records, and forgotten when it is old.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/model/history_lookup.hpp"
#include "lock/model/session_key.hpp"
#include "lock/records/records.hpp"

namespace rocklock {

// The record of a grant, live or ended, with all its locks. Errors: corrupt, io_error.
Result<std::optional<records::GrantRecord>> read_grant(const Storage& storage, GrantId grant);

// What the history answers to a request about a grant or session that the table does not know: an
// answer, an error, or the event to decide next. `key` is what the secrets of sessions are made
// with.
using HistoryAnswer = std::variant<Result<Answer>, ReacquireLocks>;
HistoryAnswer answer_from_history(const Storage& storage, const SessionKey& key,
                                  const HistoryLookup& asked);

// What became of a session that the table does not know.
Error past_session_error(const Storage& storage, const SessionId& session);

// The last holder of a resource who has ended, going back from `last`; none when it was forgotten.
Result<std::optional<PastHolder>> read_past_holder(const Storage& storage,
                                                   std::string_view resource, GrantId last);

// The grants on a name, newest first: those on disk, going back from `last`, and those in the table
// that `present` has, in the same order. `next` of the page says where to go on.
Result<HistoryPage> read_history(const Storage& storage, const HistoryRequest& request,
                                 GrantId last, std::vector<HistoryRow> present);

Result<std::vector<AuditRow>> read_audit(const Snapshot& snapshot, std::uint64_t after,
                                         std::uint32_t limit);

// Goes round the records of what has ended and finds what is old enough to be forgotten, some at a
// time. The table is not touched, so that others can decide meanwhile.
//
// Ages are counted on the boot clock, from the deadline that stood at the end, so an old record is
// at least as old as it is taken for, whatever is done to the wall clock.
class HistoryTrimmer {
public:
    struct Limits {
        std::chrono::milliseconds age;
        std::uint64_t records = 0;
    };
    // Of the table, at the moment of the snapshot.
    struct Facts {
        BootTime now;
        std::uint32_t boot_epoch = 0;
        std::uint64_t ended_records = 0;
        std::uint64_t ended_sessions = 0;
        // Grants of ended sessions are still being cleaned up.
        bool cleaning = false;
    };
    // What is to be forgotten by the table, and deleted with `batch`.
    struct Round {
        std::vector<ForgottenGrant> grants;
        std::uint64_t sessions = 0;
        Batch batch;
    };
    explicit HistoryTrimmer(Limits limits) : limits_(limits) {}

    // Reads at most `budget` records of each kind.
    Round collect(const Snapshot& snapshot, const Facts& facts, std::size_t budget);

private:
    // What decides how old a record is.
    struct Age {
        std::uint32_t epoch = 0;
        BootTime deadline;
        std::chrono::milliseconds lease;
    };
    bool may_go(const Age& record, bool excess, const Facts& facts) const;
    void visit_grant(std::string_view key, std::string_view value, const Snapshot& snapshot,
                     const Facts& facts, Round& round) const;
    void visit_session(std::string_view key, std::string_view value, const Facts& facts,
                       Round& round) const;

    Limits limits_;
    // Where each round goes on.
    std::string grants_from_;
    std::string sessions_from_;
};

}  // namespace rocklock
