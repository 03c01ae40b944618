// Reads the records of ended grants and sessions, and deletes them when they are old.
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

// Returns the record of a grant, live or ended, with all of its locks, or nullopt if there is none.
// Errors: corrupt, io_error.
Result<std::optional<records::GrantRecord>> read_grant(const Storage& storage, GrantId grant);

// Completes a request about a grant or a session that the table does not know. Returns an answer,
// an error, or the event to decide next. `key` is the key from which the secrets of sessions are
// derived.
using HistoryAnswer = std::variant<Result<Answer>, ReacquireLocks>;
HistoryAnswer answer_from_history(const Storage& storage, const SessionKey& key,
                                  const HistoryLookup& asked);

// Returns the error for a request of a session that the table does not know: session_expired with
// the ending, or session_not_found.
Error past_session_error(const Storage& storage, const SessionId& session);

// Returns the last holder of a resource whose grant has ended. Follows the chain of grants from
// `last`. Returns nullopt if the record of that grant has been deleted.
Result<std::optional<PastHolder>> read_past_holder(const Storage& storage,
                                                   std::string_view resource, GrantId last);

// Returns the grants on a name, newest first: those of `present`, which the table has and which are
// in the same order, and those in the storage, which form a chain from `last`. `next` of the page
// is the start of the next page.
Result<HistoryPage> read_history(const Storage& storage, const HistoryRequest& request,
                                 GrantId last, std::vector<HistoryRow> present);

Result<std::vector<AuditRow>> read_audit(const Snapshot& snapshot, std::uint64_t after,
                                         std::uint32_t limit);

// Finds records of ended grants and sessions that are old enough to be deleted. Each call of
// collect() examines the next part of the records. It does not access the table, so that the
// manager can make decisions meanwhile.
//
// Ages are measured with the boot clock, from the deadline at the time of the end. Changes
// of the wall clock therefore never make a record appear older than it is.
class HistoryTrimmer {
public:
    struct Limits {
        std::chrono::milliseconds age;
        std::uint64_t records = 0;
    };
    // The state of the table at the time of the snapshot.
    struct Facts {
        BootTime now;
        std::uint32_t boot_epoch = 0;
        std::uint64_t ended_records = 0;
        std::uint64_t ended_sessions = 0;
        // Whether grants of ended sessions are still being cleaned up.
        bool cleaning = false;
    };
    // The records that `batch` deletes, which the table must forget.
    struct Round {
        std::vector<ForgottenGrant> grants;
        std::uint64_t sessions = 0;
        Batch batch;
    };
    explicit HistoryTrimmer(Limits limits) : limits_(limits) {}

    // Examines at most `budget` records of each kind.
    Round collect(const Snapshot& snapshot, const Facts& facts, std::size_t budget);

private:
    // The members of a record that determine its age.
    struct Age {
        std::uint32_t epoch = 0;
        BootTime deadline;
        std::chrono::milliseconds lease;
    };
    bool may_be_deleted(const Age& record, bool excess, const Facts& facts) const;
    void visit_grant(std::string_view key, std::string_view value, const Snapshot& snapshot,
                     const Facts& facts, Round& round) const;
    void visit_session(std::string_view key, std::string_view value, const Facts& facts,
                       Round& round) const;

    Limits limits_;
    // The keys at which the next round starts. Empty: at the first key.
    std::string grants_from_;
    std::string sessions_from_;
};

}  // namespace rocklock
