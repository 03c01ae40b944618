// The implementation of the lock table: one struct with its methods grouped into files by topic.
//
//     lock_table.cpp     apply(): passes the event to its handler, then calls serve_queues()
//     session.cpp        opens, renews, joins a process to, closes and expires sessions
//     resolve.cpp        determines the locks that a request needs from the locks that it names
//     acquire.cpp        turns a request into a grant, a refusal or entries in the queues
//     granting.cpp       makes grants, their records and answers; reacquires
//     conflicts.cpp      finds conflicts of a request; only reads
//     wait.cpp           queues, the choice of the next waiter to be served, and timeouts
//     deadlock.cpp       the wait-for graph
//     end.cpp            release, convert, transfer, break, and the end of a grant
//     steal.cpp          steals, and the answers of holders to them
//     notices.cpp        notices to the owners of sessions
//     events.cpp         events for watchers
//     fence_check.cpp    finds the grant that permits a write, and the holder that forbids a read
//     recover.cpp        recovery from the records; records of sessions and classes
//     views.cpp          queries
//     queries.cpp        lookups of single objects; searches in the order of keys
//     search.cpp         queries over the whole table, in steps
//     audit.cpp          checks the invariants of the table
//
// Parts of the state with rules of their own are classes: SessionTable, WaitTable (tickets and
// order of arrival), ServeList (what a decision still has to examine), NumberReservation.
//
// During one apply() no Wait leaves its queues and no Resource is freed, except in functions with
// comments that say so. Resources that are left empty are removed at the end.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "lock/model/hash_mix.hpp"
#include "lock/model/hot_names.hpp"
#include "lock/model/last_grants.hpp"
#include "lock/model/lock_class.hpp"
#include "lock/model/modes.hpp"
#include "lock/model/nodes.hpp"
#include "lock/model/resource_index.hpp"
#include "lock/model/ticket_map.hpp"
#include "lock/model/user_usage.hpp"
#include "lock/records/records.hpp"
#include "lock/table/lock_table.hpp"
#include "lock/table/notice_waits.hpp"
#include "lock/table/number_reservation.hpp"
#include "lock/table/serve_list.hpp"
#include "lock/table/session_table.hpp"
#include "lock/table/wait_table.hpp"

namespace rocklock {

namespace lock_model {

struct GrantHash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t id) const { return spread(id); }
    std::size_t operator()(const Grant* grant) const { return (*this)(number(grant->id)); }
};
struct GrantEqual {
    using is_transparent = void;
    bool operator()(const Grant* a, const Grant* b) const { return a == b; }
    bool operator()(std::uint64_t id, const Grant* grant) const { return id == number(grant->id); }
    bool operator()(const Grant* grant, std::uint64_t id) const { return id == number(grant->id); }
};

// The first use of a request id. Exactly one member is set.
struct Remembered {
    GrantId grant{};
    // For OpenSession: the session that it opened.
    SessionId session;
    // The ticket of a request that still waits.
    Ticket waiting{};

    static Remembered of(GrantId grant) { return {grant, {}, {}}; }
    static Remembered of(const SessionId& session) { return {{}, session, {}}; }
    static Remembered of(Ticket waiting) { return {{}, {}, waiting}; }
};

// Selects the conflicts that find_conflicts() lists. For every value, it determines whether there
// are conflicts.
enum class Collect : std::uint8_t { nothing, holds, holds_and_waits };

// The conflicts of a request.
struct Conflicts {
    Collect collect = Collect::nothing;
    std::vector<const Hold*> holds;
    std::vector<const WaitLock*> waits;
    // Grants that have expired but are not cleaned up. They are ended in the batch of the grant
    // that replaces them.
    std::vector<GrantId> dead;
    bool blocked = false;
    // The earliest time at which the result may change without another event.
    BootTime recheck_at{BootTime::max()};
    std::optional<BootTime> closed_until;
};

// Returns whether two waiting requests for one resource conflict. Two requests for permits always
// do: permits are granted in order of arrival, regardless of how many are left.
inline bool in_conflict(const RequestedLock& one, const RequestedLock& other) {
    return (one.permits > 0 && other.permits > 0) || conflicting(one.mode, other.mode);
}

// Returns the error for an operation on a grant that has ended.
Error ended_error(const Ending& ending);
// Returns an error if the reason of a forced change is empty or invalid.
std::optional<Error> check_reason(std::string_view reason);

// Returns the time at which a wait that begins now times out. Returns BootTime::max() if the clock
// cannot represent that time.
constexpr BootTime patience_end(BootTime now, std::chrono::milliseconds patience) {
    const auto remaining = std::chrono::floor<std::chrono::milliseconds>(BootTime::max() - now);
    return patience > remaining ? BootTime::max() : now + patience;
}

// Returns the smaller of two limits. Zero means no limit.
constexpr std::chrono::milliseconds tighter(std::chrono::milliseconds a,
                                            std::chrono::milliseconds b) {
    if (a == std::chrono::milliseconds{0}) return b;
    if (b == std::chrono::milliseconds{0}) return a;
    return std::min(a, b);
}

struct Timers {
    // Returns the next time at which a session may expire or has to be warned. Requires a timer in
    // `sessions`.
    BootTime next_session() const { return std::max(sessions.top().at, sweeps_from); }

    // Deadlines of sessions and caps of grants. They are processed by the sweep, which may lag.
    TimerHeap sessions;
    TimerHeap grants;
    // Until this time the sweep does not process `sessions`, even if a timer is due.
    BootTime sweeps_from{};
    // Ends of wait timeouts and of closed times of resources, which must be served on time.
    TimerHeap waits;
    TimerHeap closures;
};

// Statistics about contention: the names with the most waits, and the last deadlocks.
struct ContentionLog {
    HotNames names;
    std::vector<Deadlock> deadlocks;
};

// State that recovery collects and that is applied after all records have been read.
struct RecoveryState {
    // A resource of a grant that was upgraded, and the token of the upgrade.
    struct Converted {
        std::string name;
        std::uint64_t token = 0;
        GrantId grant{};
    };
    std::vector<Converted> converted;
    // Recovered grants that have not been added to Core::grants. Their resources have not been
    // added to Core::resources.
    std::vector<Near<Grant>> grants;
    // Grants whose maximum hold time starts again.
    std::vector<Near<Grant>> recapped;
};

// The arguments of make_grant(), except for the locks.
struct GrantRequest {
    Session* session = nullptr;
    std::string_view note;
    const Metadata* metadata = nullptr;
    std::chrono::milliseconds max_hold{0};
    RequestKey request;
    std::uint64_t fingerprint = 0;
    bool waited = false;
};

}  // namespace lock_model

struct LockTable::Core {
    using Grant = lock_model::Grant;
    using Hold = lock_model::Hold;
    using Resource = lock_model::Resource;
    using Session = lock_model::Session;
    using Wait = lock_model::Wait;
    using WaitLock = lock_model::WaitLock;
    using RequestedLock = lock_model::RequestedLock;
    using Collect = lock_model::Collect;
    using Conflicts = lock_model::Conflicts;
    using RequestKey = lock_model::RequestKey;
    using milliseconds = std::chrono::milliseconds;

    Core(const LockTableOptions& table_options, const SessionKey& session_key);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Sets `now` of the core for the duration of a query, and restores it afterwards. All functions
    // of the core evaluate deadlines at `now`.
    class AsOf {
    public:
        AsOf(Core& core, Instant now) : core_(core), before_(core.now) { core.now = now; }
        ~AsOf() { core_.now = before_; }
        AsOf(const AsOf&) = delete;
        AsOf& operator=(const AsOf&) = delete;

    private:
        Core& core_;
        Instant before_;
    };

    LockTableOptions options;
    SessionKey key;

    // ---- State ----
    lock_model::ResourceIndex resources;
    boost::unordered_flat_set<Near<Grant>, lock_model::GrantHash, lock_model::GrantEqual> grants;
    SessionTable sessions;
    WaitTable waits;
    boost::unordered_flat_map<RequestKey, lock_model::Remembered, lock_model::RequestKeyHash>
        requests;
    lock_model::LastGrants last_grants;
    ClassTable classes;
    lock_model::Timers timers;
    NumberReservation numbers;
    // The number of holds and waits with `subtree`. If it is 0, no search has to visit the paths
    // above a resource.
    std::uint64_t subtree_marks = 0;
    ExclusiveHolds exclusive;
    std::uint64_t ended_records = 0;
    std::uint32_t boot_epoch = 1;
    LockStatistics counts;
    lock_model::ContentionLog contention;
    lock_model::UserUsage usage;
    NoticeWaits notice_waits;

    // ---- The event being decided ----
    Instant now{};
    Decision* decision = nullptr;
    Ticket ticket{};
    SessionId fresh;
    ServeList serving;
    lock_model::RecoveryState recovery;

    // ---- lock_table.cpp ----
    void apply(const Event& event);
    // Serves the queues and the waits that the event has listed in `serving`, and removes resources
    // that are empty.
    void serve_queues();
    void serve_all();
    void answer(Ticket to, Answer reply) { decision->replies.push_back({to, std::move(reply)}); }
    void refuse(Ticket to, Error error);
    void need(Durability durability) {
        decision->durability = std::max(decision->durability, durability);
    }
    void write(Family family, std::string record_key, std::string value);
    void erase(Family family, std::string record_key);
    void keep_numbers_safe();
    void reserve_numbers();
    void handle(const CancelWait& event);
    void handle(const Disconnect& event);
    void withdraw(Ticket waiting);
    void handle(const Tick& event);
    void handle(const Request& request);
    WallTime wall_of(BootTime boot) const;

    // ---- give_back.cpp ----
    void give_back(const UndeliveredGrant& undelivered);

    // ---- session.cpp ----
    Session* opened_by(const RequestKey& id);
    void handle(const OpenSession& request);
    void handle(const RenewSession& request);
    void handle(const JoinProcess& request);
    void handle(const CloseSession& request);
    void handle(const EndSession& request);
    // Returns the session if it is live. Otherwise completes the request with an error, if
    // necessary after a history lookup, and returns null.
    Session* require_session(const SessionId& id);
    Session& make_session(const OpenSession& request, milliseconds lease,
                          const RequestKey& request_key);
    std::optional<Error> check_open(const OpenSession& request, milliseconds lease) const;
    // Return an error if `lease` is longer than a class allows: the class of `at`, the class of any
    // resource of `grant`, or the class of any resource that the session holds or waits for.
    std::optional<Error> lease_too_long(const Resource& at, milliseconds lease) const;
    std::optional<Error> lease_too_long(const Grant& grant, milliseconds lease) const;
    std::optional<Error> lease_too_long_for_locks(const Session& session, milliseconds lease) const;
    SessionInfo info(const Session& session) const;
    // Computes an HMAC. Used only in responses to the owner of a new session or grant.
    SessionInfo info_with_secret(const Session& session) const;
    void extend(Session& session);
    void write_session(const Session& session);
    void write_deadline(Session& session);
    void end_with_answer(Session& session, Ending ending);
    // Ends the session. From now on none of its grants is live. Cleans up at most `budget` of them;
    // the sweep cleans up the rest.
    void end_session(Session& session, Ending ending, std::size_t budget = Tick{}.budget);
    void note_shared_end(Session& session);
    // Cleans up at most `budget` grants of an ended session, and frees the session if none is left.
    // Returns the number of grants that were cleaned up.
    std::size_t clean(Session& session, std::size_t budget);
    void forget_session(Session& session);
    // Subtracts the session from the usage of its user, and frees it.
    void free_session(Session& session);
    std::optional<Error> check_new_texts(const Session& session, const RenewSession& request) const;
    void count_session(Session& session);
    Error session_error(const Ending& ending) const;

    // ---- acquire.cpp ----
    void handle(const Acquire& request);
    std::optional<Error> check_user(const Acquire& request, const Session* session) const;
    void handle(const Reacquire& request);
    void handle(const ReacquireLocks& event);
    bool granted_since(const Resource& at, bool subtree, GrantId grant) const;
    struct Resolved {
        std::vector<RequestedLock> requested_locks;
        milliseconds max_hold{0};
        milliseconds max_lease{0};
        milliseconds lease = limits::lease_default;
    };
    // For a lock with `modes`, uses the strongest of them.
    Result<Resolved> resolve(const std::vector<LockRequest>& locks);
    // Returns the locks with `mode` set to the first of their `modes` that does not conflict now,
    // or to the last one.
    std::vector<LockRequest> choose_modes(const Session& session, std::vector<LockRequest> locks);
    std::optional<Error> resolve_one(const LockRequest& lock, Resolved& resolved);
    std::optional<Error> add_dependants(const LockRequest& lock, const LockClass& lock_class,
                                        std::size_t root, Resolved& resolved);
    // Answers a repeated request from its first execution. Returns false if the request id is not
    // known.
    bool replay(const RequestKey& id, std::uint64_t fingerprint, const Acquire& request);
    // Applies `held` if the session already holds one of the requested names. Returns true if that
    // has completed the request.
    bool check_own_holds(Ticket to, Session& session,
                         std::span<const RequestedLock> requested_locks, Held held);
    // Does the same for a request with several `modes` for a lock: a grant that covers the weakest
    // of them suffices.
    bool check_own_holds(const Acquire& request, Session& session, const Resolved& strongest);
    // Returns the session's live hold on exactly this name, or null. Holds that were acquired as
    // dependants do not count.
    Hold* own_hold(const Session& session, const Resource& at) const;
    Grant* own_cover(Session& session, std::span<const RequestedLock> requested_locks) const;
    Grant& make_grant(const lock_model::GrantRequest& grant_request,
                      std::span<const RequestedLock> requested_locks,
                      const std::vector<GrantId>& dead);
    // Ends those of `dead` that still exist, except for grants of the session `taker`.
    void end_dead(const std::vector<GrantId>& dead, const Session& taker);
    void link(Hold& hold);
    void unlink(Hold& hold);
    void write_grant(Grant& grant);
    void remember_cap(Grant& grant, milliseconds max_hold, BootTime cap);
    rocklock::Grant view(const Grant& grant) const;
    rocklock::Grant answer_grant(const Grant& grant) const;
    RequestKey request_key(const SessionId* session, const OpenSession* opens,
                           std::string_view request_id) const;
    lock_model::GrantExtra& extra_of(Grant& grant);

    // ---- wait.cpp ----
    Resource& resource(std::string_view name);
    // Inserts a new resource into the index and below its parent.
    Resource& enter(Resource& made);
    Resource* find(std::string_view name) const;
    void remove_if_empty(Resource& resource);
    // Calls `visit(resource, only_subtree)` for each resource with locks that may conflict with
    // `requested`: its own resource; the resources above it, of which only locks with `subtree`
    // cover it; and, if `requested` has `subtree`, all resources below it.
    template <typename F>
    void for_each_meeting(const RequestedLock& requested, const F& visit) const {
        visit(*requested.resource, false);
        if (subtree_marks > 0) {
            const Resource* above = requested.resource->parent;
            for (; above != nullptr; above = above->parent) visit(*above, true);
        }
        if (requested.subtree) {
            for_each_inside(*requested.resource,
                            [&](const Resource& inside) { visit(inside, false); });
        }
    }
    // Returns the conflicts of `requested_locks` for `session`. `wait` is the waiting request to
    // which they belong, or null for a request that has just arrived. `collect` determines which
    // conflicts are listed.
    Conflicts find_conflicts(const Session& session, std::span<const RequestedLock> requested_locks,
                             const Wait* wait, bool conversion,
                             Collect collect = Collect::nothing) const;
    void add_holds(const Session& session, const RequestedLock& requested,
                   Conflicts& conflicts) const;
    void add_permits(const RequestedLock& requested, Conflicts& conflicts) const;
    void add_closures(const Resource& at, Conflicts& conflicts) const;
    void add_waits(const Session& session, const RequestedLock& requested, const Wait* wait,
                   bool conversion, Conflicts& conflicts) const;
    bool blocks(const WaitLock& lock, const Session& session, const RequestedLock& requested,
                const Wait* wait, bool conversion) const;
    void add_hold(const Session& session, const RequestedLock& requested, const Hold& hold,
                  Conflicts& conflicts) const;
    void add_live_hold(const Hold& hold, Conflicts& conflicts) const;
    void add_closure(BootTime until, Conflicts& conflicts) const;
    // Returns whether the session's own holds cover the requested lock. If so, the request need not
    // wait for earlier waiters.
    bool covered(const Session& session, const RequestedLock& requested) const;
    bool held_covers(const Session& session, const Resource& at, const RequestedLock& requested,
                     bool below) const;
    // Calls `visit` for every resource below `above`, at any depth.
    template <typename F>
    static void for_each_inside(const Resource& above, const F& visit) {
        std::vector<const Resource*> open{&above};
        while (!open.empty()) {
            const Resource& next = *open.back();
            open.pop_back();
            for (const Resource* child = next.children; child != nullptr; child = child->next) {
                visit(*child);
                open.push_back(child);
            }
        }
    }
    Error conflict(ErrorCode code, const Session& session, const Conflicts& conflicts) const;
    Holder show_holder(const Hold& hold) const;
    SessionView show_session(const Session& session) const;
    // Returns the waiter without its position in the queue.
    Waiter name_waiter(const WaitLock& lock) const;
    // Returns the waiter with its position in the queue. Takes time proportional to the position.
    Waiter show_waiter(const WaitLock& lock) const;
    // Appends the request to the queues of its resources. If a limit or a deadlock forbids that,
    // refuses the request.
    void begin_wait(std::unique_ptr<Wait> made, std::span<const RequestedLock> requested_locks);
    std::optional<Error> check_queues(const Session& session,
                                      std::span<const RequestedLock> requested_locks) const;
    void notify_wanted(const Wait& wait, const Conflicts& conflicts);
    void enqueue(Wait& wait);
    void dequeue(Wait& wait);
    // Removes the wait from all lists and frees it.
    void end_wait(Wait& wait);
    void arm(Wait& wait, BootTime recheck_at);
    // Completes a waiting request if that is possible now. Returns true if the request has been
    // completed and the wait freed.
    bool reconsider(Wait& wait);
    // Refuses the oldest request that has timed out, with `patience_expired`. Called only if no
    // other waiter can be granted.
    void lose_patience();
    void grant_waiting(Wait& wait, const Conflicts& conflicts);
    template <typename Do>
    void for_own_waits(const Session& session, const Resource& at, bool related, Do act);
    void recheck_own(const Wait& head, const Resource& at);
    void recheck_covered(const Grant& grant);
    // Lists the queues to be served after a hold or a wait on `resource` has ended or become
    // weaker.
    void changed(Resource& resource, bool subtree);
    void serve(Resource& resource);
    void serve_time(std::size_t budget);
    void sweep(std::size_t budget);
    void sweep_sessions(std::size_t budget);
    // One step of a consistency check: finds, counts and serves waiters that should have been
    // granted before.
    void search();

    // ---- deadlock.cpp ----
    // An edge from a waiting session to a session for which it waits.
    struct Edge {
        const Session* to = nullptr;
        const Resource* at = nullptr;
        bool holds = false;
        // The resource is counted in permits, so that a release by another holder can also end the
        // wait.
        bool counted = false;
    };
    // Returns the sessions for which a waiting request waits: live holders and earlier waiters that
    // conflict with it. If `moved` is not null, computes this as if that grant belonged to `owner`.
    std::vector<Edge> blockers(const Wait& wait, const Grant* moved, const Session* owner) const;
    class BlockerSearch;
    class Swept;
    class CycleSearch;
    class StuckSearch;
    // Returns a chain of sessions from `start` back to itself, in which each waits for the next
    // one. Returns an empty chain if there is none. If `moved` is not null, searches as if that
    // grant belonged to `start`. If `new_wait` is not null, it is a wait of `start`, and only
    // cycles through that wait are searched.
    std::vector<CycleStep> find_cycle(const Session& start, const Grant* moved = nullptr,
                                      const Wait* new_wait = nullptr) const;
    Error deadlock(std::vector<CycleStep> cycle);

    // ---- end.cpp ----
    void handle(const Release& request);
    void handle(const Convert& request);
    void handle(const Transfer& request);
    void handle(const Break& request);
    // Returns the grant if it is live and belongs to `session`. Otherwise completes the request, if
    // necessary after a history lookup, and returns null.
    Grant* require_grant(const SessionId& session, GrantId id, HistoryLookup::Verb verb);
    void end_grant(Grant& grant, const Ending& ending);
    std::optional<records::Closure> closure_of(const Hold& hold, Outcome outcome) const;
    std::vector<records::Closure> close_resources(const Grant& grant, Outcome outcome);
    void answer_convert(Ticket to, const Grant& grant, bool waited);
    void write_audit(const Grant& grant, const Ending& ending);
    void apply_modes(Grant& grant, std::span<const Mode> modes, const RequestKey& convert_request,
                     std::uint64_t fingerprint);
    std::optional<Error> check_receiver(const Grant& moved, const Session& receiver) const;
    std::optional<Error> conflict_after_move(const Grant& moved, const Session& owner) const;
    std::vector<CycleStep> cycle_when_raised(Grant& grant, std::span<const Mode> modes);
    Grant& take_over(Grant& victim, Session& thief, const Ending& ending);
    Result<std::vector<Mode>> modes_after(const Grant& grant, const Convert& request) const;
    std::vector<RequestedLock> requested_upgrades(const Grant& grant,
                                                  std::span<const Mode> modes) const;
    Ending ending_of(const Grant& grant) const;

    // ---- steal.cpp ----
    void handle(const Steal& request);
    void handle(const AnswerWanted& request);
    struct StealTerms;
    StealTerms steal_terms(const Grant& victim) const;
    // Returns the refusal of a steal, or nullopt if it is allowed. If a class requires it, asks the
    // holder.
    std::optional<Error> judge_steal(const Steal& request, const Session& thief, Grant& victim);
    // Returns the request of the thief to take over the grant, with the answer of the holder. If
    // the thief has not asked before, asks the holder and states the reason.
    Result<lock_model::Ask> ask_holder(const Session& thief, Grant& victim, const StealTerms& terms,
                                       const std::string& reason);
    void forget_old_refusals(Grant& grant, milliseconds steal_after) const;
    Error steal_refusal(const Hold& hold, StealPolicy policy, std::string why,
                        std::optional<BootTime> until) const;
    // Returns whether another session waits for a lock that conflicts with this grant.
    bool waited_for(const Grant& grant) const;
    bool waited_for(const Hold& hold) const;

    // ---- notices.cpp ----
    void handle(const AwaitNotices& request);
    static Notices take_notices(Session& session);
    void notify_wanted(Session& holder, Wanted wanted);
    void notify_lost(const Grant& grant, const Ending& ending);
    void notify_answer(const SessionId& asker, TakeOverAnswer given);
    void answer_notice_waits(Session& session);
    void end_notice_waits(Session& session);
    void time_out_notice_waits();

    // ---- events.cpp ----
    void note(EventType type, const Hold& hold, WallTime at);
    void note_grant(const Grant& grant);
    void note_conversion(const Grant& grant);
    void note_end(const Grant& grant, const Ending& ending);
    void note_wanted(const Hold& hold, const Wanted& wanted);
    // Emits `warned` events because the lease of the session is about to expire. Returns their
    // number.
    std::size_t warn(Session& session);
    BootTime warning_time(const Session& session) const;
    // Sets the timer for the warning or the deadline, whichever is earlier.
    void arm_session(Session& session);
    void note_slow(Wait& wait);
    bool slow(const Wait& wait) const;

    // ---- fence_check.cpp ----
    // Returns the grant with the token of the request.
    std::variant<Grant*, NoFence> believed_grant(const FenceRequest& request,
                                                 const Session* session);
    Grant* writing_grant(const Session& session, std::string_view name) const;

    // ---- recover.cpp ----
    void handle(const PutClass& request);
    void handle(const DeleteClass& request);
    std::optional<Error> kinds_change(const ClassTable& after) const;
    void classes_changed();
    Result<void> recover(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_classes(const Snapshot& records);
    Result<void> recover_sessions(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_grants(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_grant(records::GrantRecord& record, const RecoveryFacts& facts);
    void recover_ended(const records::GrantRecord& record, const RecoveryFacts& facts);
    void enter_recovered();
    void recover_deadline(Session& session, const records::DeadlineRecord& seen,
                          const RecoveryFacts& facts);
    void arm_recovered();
    void end_restored();
    void finish_recovery(const RecoveryFacts& facts);

    // ---- audit.cpp ----
    class Audit;
};

}  // namespace rocklock
