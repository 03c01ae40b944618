// The lock manager: the lock table with a clock, a storage and threads around it.
//
//     submit(request) ─► with the mutex:  read the clock, table.apply(), storage.enqueue(batch)
//                     ─► without it:      the storage makes the batch durable
//                     ─► completions and notices, in the order of the decisions
//
// The mutex orders decisions, and the storage's queue keeps that order, so what is recovered is
// always a prefix of what was decided. No I/O happens under the mutex. A deferred batch (a release)
// is left in the queue for the next one to take along; when none comes within a millisecond, the
// manager's thread writes it.
//
// What may be seen before it is durable: refusals rest on decided state and are answered at once.
// Grants, replays and notices are told when their commit is as durable as the verb demands. Showing
// and listing wait for the commits of what they show. When a commit fails, everything decided after
// it fails too, and nothing more is granted by this manager (fail closed).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/server_service.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock {

struct LockManagerOptions {
    // `written` lowers what is durable by default.
    Durability durability = Durability::durable;
    // Starts the manager's own thread, which makes asynchronous commits durable, wakes waiters by
    // time and cleans up. Off: nothing happens by itself; see tick(), decide_due() and
    // deliver_done().
    bool background = true;
    // The store was put back from a copy: its sessions and grants end, and tokens go on above all
    // that may have been given since the copy was made.
    bool restored = false;
    // Random names for sessions. None: the system's.
    std::function<SessionId()> session_ids;
    // Ended grants are kept at least this long or this many, and always long enough for a repeated
    // request (ten minutes).
    std::chrono::milliseconds history_age = std::chrono::hours{24};
    std::uint64_t history_records = 1'000'000;
    // How many events are kept for those who watch; 0: none are made.
    std::size_t events_kept = 0;
    // Counts how long acquires take: two readings of the clock for each.
    bool timings = false;
    // A wait that lasts so long is told of, once, while it waits. Zero: never. Called as on_lost()
    // is.
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    LockTableOptions table;
};

// Between two marks that are equal nobody has locked anything in exclusive, or freed it.
struct ReadMark {
    std::uint64_t changes = 0;
    // Whether anything is held so.
    bool any = false;
    friend bool operator==(const ReadMark&, const ReadMark&) = default;
};

// What was read, and by whom; nobody: without a session.
struct PlainRead {
    std::vector<std::string> resources;
    std::optional<SessionId> reader;
    bool strict = false;
};

// Threads:    thread-safe.
// Lifetime:   borrows `storage` and `clock`; both must outlive it.
// Durability: as `Durability` says for each verb; docs/semantics.md has the table.
class LockManager final : public ServerService {
public:
    // Recovers the table. Errors: corrupt, and those of the storage: io_error, no_space, read_only.
    static Result<std::unique_ptr<LockManager>> open(Storage& storage, Clock& clock,
                                                     LockManagerOptions options = {});
    // Closes.
    ~LockManager() override;

    Ticket submit(Request request, Completion done) override;
    Ticket enqueue(Request request, Completion done) override;
    std::optional<std::chrono::milliseconds> flush() override;
    void on_flush_needed(std::function<void()> notify) override;
    void cancel(Ticket ticket) override;
    void disconnect(Disconnect disconnected) override;
    Result<Answer> call(Request request, std::stop_token stop = {}) override;

    Result<LockView> show(std::string_view resource) override;
    Result<LockPage> list(const ListLocks& request) override;
    Result<std::vector<SessionView>> sessions(std::string_view principal) override;
    Result<std::vector<Grant>> grants(const SessionId& session) override;
    Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) override;
    bool holds(const SessionId& session, std::string_view resource, Mode mode) override;
    std::vector<LockClass> classes() override;
    std::vector<WaitEdge> wait_graph() override;
    std::vector<Deadlock> recent_deadlocks() override;
    Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) override;
    LockStatistics statistics() override;
    void on_stall(std::function<void()> notify,
                  std::function<std::chrono::nanoseconds()> unread_for = {}) override;
    void resume() override;
    Result<Outliers> outliers(std::uint32_t limit) override;
    Result<HistoryPage> history(const HistoryRequest& request) override;
    Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) override;
    Ticket submit_watch(WatchRequest request, WatchCompletion done) override;

    // What there is of these at one instant, in their order; committed as it is answered.
    //
    // Errors: those of the storage
    Result<std::vector<LookupResult>> lookup(const std::vector<LookupKey>& places);
    // Of up to 2,048 locks in all an instant; as list(). Errors: those of the storage
    Result<InRange<Holder>> held(HeldSearch search);
    // Events that are kept, as of now but for what is dropped meanwhile.
    //
    // Errors: invalid_argument, where none are kept; those of the storage
    Result<InRange<LockEvent>> events(EventSearch search);
    // Those of these numbers, in their order.
    Result<std::vector<std::optional<LockEvent>>> events_at(
        const std::vector<std::uint64_t>& sequences);

    // What lets a write of data in. The grant is so as long as its record has the version and the
    // moment has not come: both are to be conditions of the write's commit, and the answer is for
    // that commit alone.
    //
    // `drafts_of` becomes the principal as whose draft the write is to be kept: the token is of a
    // grant that covered the resource, and expired, or was stolen or broken, and the class keeps
    // drafts. Otherwise it stays as it was.
    //
    // Errors: lock_required  the session holds nothing that covers the resource in write or
    //                        exclusive, or the token is another session's. Facts: blockers
    //         stale_token    the grant has ended, with its session or without. Facts: ended,
    //                        blockers
    //         those of the storage
    Result<Fence> fence(const FenceRequest& request, std::string* drafts_of = nullptr);
    // The refusal of a write that shows nothing: lock_required.
    Error lock_missing(std::string_view resource);

    // What a plain read must take before it reads; without a mutex.
    ReadMark read_mark() const;
    // Behind the read: whether it may be told. False where one of the resources was just being
    // locked in exclusive, or freed: then read again.
    //
    // Errors: locked         another session holds one in exclusive. Facts: blockers
    //         lock_required  `strict`, and the class of one has the policy exclusive_read: who
    //                        reads must hold it too
    Result<bool> let_read(const ReadMark& mark, const PlainRead& read);

    // Set before the first request. Called in order, one at a time, on the thread that completes.
    void on_lost(std::function<void(const LostNotice&)> notify);
    void on_wanted(std::function<void(const WantedNotice&)> notify);

    // Without the background thread: decides what is due, makes it durable, gives the answers, and
    // says when to come again.
    std::optional<BootTime> tick();
    // The two halves of tick(), for a simulator that owns the storage's progress: decides what is
    // due, and gives the answers whose commits are done. Neither waits for the storage.
    std::optional<BootTime> decide_due();
    void deliver_done();

    // The moment of the last decision or tick: what a stalled server judges late renewals by
    // (RenewSession::as_of).
    BootTime last_decision() const;

    // The table's own check of itself; for tests.
    std::optional<std::string> audit_invariants();
    // Set once a commit has failed: nothing is answered any more but this.
    std::optional<Error> failure() const;

    // Answers every waiter with `closing`, commits what is queued, stops the thread. Sessions keep
    // their leases.
    Result<void> close();

private:
    struct Core;
    explicit LockManager(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace rocklock
