// The history: reads the records of ended grants and sessions, and deletes them when they are old.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/retention.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/model/history_lookup.hpp"
#include "lock/model/session_key.hpp"
#include "lock/records/records.hpp"

namespace rocklock {

// Returns the record of a grant, ended or not, with all of its locks, or nullopt if there is no
// record.
// Errors: corrupt, io_error.
Result<std::optional<records::GrantRecord>> read_grant(const Storage& storage, GrantId grant);

// Completes a request about a grant or a session that the lock table does not contain. Returns an
// answer, an error, or the event to decide next. `key` is the key from which the secrets of
// sessions are derived.
using HistoryAnswer = std::variant<Result<Answer>, ReacquireLocks>;
HistoryAnswer answer_from_history(const Storage& storage, const SessionKey& key,
                                  const HistoryLookup& asked);

// Returns the error for a request of a session that the lock table does not contain:
// session_expired with the ending of the session, or session_not_found.
Error past_session_error(const Storage& storage, const SessionId& session);

// Returns the holder of the newest ended grant of a resource. Follows the chain of the resource's
// grants from `last`. Returns nullopt if the record of that grant has been deleted.
Result<std::optional<PastHolder>> read_past_holder(const Storage& storage,
                                                   std::string_view resource, GrantId last);

// Returns a page of the grants on a name, newest first. `present` contains those in the lock table,
// newest first. The ended grants are read from the storage, along the chain of the name's grants
// from `last` to older ones. HistoryPage::next is the start of the next page.
Result<HistoryPage> read_history(const Storage& storage, const HistoryRequest& request,
                                 GrantId last, std::vector<HistoryRow> present);

Result<std::vector<AuditRow>> read_audit(const Snapshot& snapshot, std::uint64_t after,
                                         std::uint32_t limit);
// Returns the keys of the oldest rows of the audit log with a sequence of at most `through`: at
// most `limit` keys. If `from` is not empty, omits the rows before this key.
std::vector<std::string> audit_keys(const Snapshot& snapshot, std::string_view from,
                                    std::uint64_t through, std::size_t limit);

// Finds records of ended grants and sessions, and rows of the audit log, that are old enough to be
// deleted. Each call of collect() examines the next part of the records. collect() does not access
// the lock table, so the manager can make decisions at the same time.
//
// The ages of grants and sessions are measured with the boot clock, from the deadline that they had
// when they ended. A change of the wall clock therefore never makes such a record appear older than
// it is. The ages of rows of the audit log, and of grants and sessions that had no deadline, are
// measured with the wall clock, because their records contain no other time of their end.
class HistoryTrimmer {
public:
    // The state of the lock table at the time of the snapshot.
    struct Facts {
        BootTime now;
        WallTime wall;
        std::uint32_t boot_epoch = 0;
        std::uint64_t ended_records = 0;
        std::uint64_t ended_sessions = 0;
        std::uint64_t audit_rows = 0;
        // Whether grants of ended sessions are still being cleaned up.
        bool cleaning = false;
    };
    // The deletions of one call. `batch` deletes the records; `grants`, `sessions` and `audit_rows`
    // describe what the lock table must forget.
    struct Round {
        std::vector<ForgottenGrant> grants;
        std::uint64_t sessions = 0;
        std::uint64_t audit_rows = 0;
        // Whether all records have been examined, so that the next call starts at the first records
        // again.
        bool complete = false;
        Batch batch;
    };
    explicit HistoryTrimmer(const Retention& retention) : retention_(retention) {}

    void set_retention(const Retention& retention) { retention_ = retention; }

    // Examines at most `budget` records of each kind.
    Round collect(const Snapshot& snapshot, const Facts& facts, std::size_t budget);

private:
    // The members of a record that determine its age.
    struct Age {
        std::uint32_t epoch = 0;
        BootTime deadline;
        std::chrono::milliseconds lease;
        WallTime ended_at;
    };
    bool may_be_deleted(const Age& record, bool excess, const Facts& facts) const;
    void visit_grant(std::string_view key, std::string_view value, const Snapshot& snapshot,
                     const Facts& facts, Round& round) const;
    void visit_session(std::string_view key, std::string_view value, const Facts& facts,
                       Round& round) const;
    void collect_audit(const Snapshot& snapshot, const Facts& facts, std::size_t budget,
                       Round& round);

    Retention retention_;
    // The keys at which the next round starts. If empty, it starts at the first key.
    std::string grants_from_;
    std::string sessions_from_;
    // No row of the audit log has a key before this one.
    std::string audit_from_ = records::audit_key(0);
};

}  // namespace rocklock
