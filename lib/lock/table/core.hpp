// The implementation of the lock table: one struct, whose methods are grouped into files by topic.
//
//     lock_table.cpp     apply(): passes the event to its handler, then calls serve_queues()
//     session.cpp        opens, renews, joins a process to, closes and expires sessions
//     resolve.cpp        determines the locks that a request needs from the locks that it names
//     acquire.cpp        turns a request into a grant, a refusal or places in the queues
//     granting.cpp       makes grants, their records and answers; reacquires
//     conflicts.cpp      finds conflicts of a request; only reads
//     wait.cpp           queues, the choice of the next waiter to be served, and timeouts
//     deadlock.cpp       the wait-for graph
//     end.cpp            release, convert, transfer, break, and the end of a grant
//     steal.cpp          steals, and the answers of holders to them
//     events.cpp         events for watchers
//     fence_check.cpp    finds the grant that permits a write, and the holder that forbids a read
//     recover.cpp        recovery from the records; records of sessions and classes
//     views.cpp          queries
//     search.cpp         queries over the whole table, in steps
//     audit.cpp          checks the invariants of the table
//
// Parts of the state with rules of their own are classes: SessionTable, WaitTable (tickets and
// order of arrival), ServeList (what a decision still has to examine), NumberReservation.
//
// During one apply() no Wait leaves its queues and no Resource is freed, except by the functions
// whose comments say so. Resources that are left empty are removed at the end.
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

// What a request id was used for.
struct Remembered {
    GrantId grant{};
    // For OpenSession.
    SessionId session;
    // A wait that has not been decided.
    Ticket waiting{};

    static Remembered of(GrantId grant) { return {grant, {}, {}}; }
    static Remembered of(const SessionId& session) { return {{}, session, {}}; }
    static Remembered of(Ticket waiting) { return {{}, {}, waiting}; }
};

// What of all that is in the way is to be named.
enum class Collect : std::uint8_t { nothing, holds, holds_and_waits };

// What is in the way of a request.
struct Conflicts {
    Collect collect = Collect::nothing;
    std::vector<const Hold*> holds;
    std::vector<const WaitLock*> waits;
    // Ended by the clock but not cleaned up: they end in the batch of the grant that takes their
    // place.
    std::vector<GrantId> dead;
    bool blocked = false;
    // The earliest moment at which time alone may change the answer.
    BootTime recheck_at{BootTime::max()};
    std::optional<BootTime> closed_until;
};

// Of two that wait: permits are waited for in order, however many are left.
inline bool in_conflict(const RequestedLock& one, const RequestedLock& other) {
    return (one.permits > 0 && other.permits > 0) || conflicting(one.mode, other.mode);
}

// The refusal of what is done to a grant that has ended.
Error ended_error(const Ending& ending);
// What is forced is explained.
std::optional<Error> check_reason(std::string_view reason);

// When a wait is over that begins now. What the clock cannot count to never comes.
constexpr BootTime patience_end(BootTime now, std::chrono::milliseconds patience) {
    const auto most = std::chrono::floor<std::chrono::milliseconds>(BootTime::max() - now);
    return patience > most ? BootTime::max() : now + patience;
}

// The smaller of two limits of which zero means none.
constexpr std::chrono::milliseconds tighter(std::chrono::milliseconds a,
                                            std::chrono::milliseconds b) {
    if (a == std::chrono::milliseconds{0}) return b;
    if (b == std::chrono::milliseconds{0}) return a;
    return std::min(a, b);
}

// The timers of a lock table.
struct Timers {
    // The next time at which a session may expire or has to be warned. Requires a timer in
    // `sessions`.
    BootTime next_session() const { return std::max(sessions.top().at, sweeps_from); }

    // Deadlines of sessions and caps of grants, which the sweep serves.
    TimerHeap sessions;
    TimerHeap grants;
    // The sweep of the sessions pauses until then, whatever their timers say.
    BootTime sweeps_from{};
    // Waits and closures, which have to be served on time.
    TimerHeap waits;
    TimerHeap closures;
};

// What recovery collects from the records until they all have been read.
struct RecoveryState {
    // A name whose holder was converted upward, and the token of that conversion.
    struct Converted {
        std::string name;
        std::uint64_t token = 0;
        GrantId grant{};
    };
    std::vector<Converted> converted;
    // Grants that the table does not contain yet, nor their resources.
    std::vector<Near<Grant>> grants;
    // Grants whose maximum hold time starts again.
    std::vector<Near<Grant>> recapped;
};

// A request to be granted: what make_grant() needs to know.
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
    using HotNames = lock_model::HotNames;
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

    // The core shows things as of its `now`; looking moves that for as long as it takes.
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
    // The number of holds and waits with `subtree`. If it is 0, no path is followed up or down.
    std::uint64_t subtree_marks = 0;
    ExclusiveHolds exclusive;
    std::uint64_t ended_records = 0;
    std::uint32_t boot_epoch = 1;
    LockStatistics counts;
    HotNames hot_names;
    lock_model::UserUsage usage;
    std::vector<Deadlock> deadlocks;

    // ---- The event being decided ----
    Instant now{};
    Decision* decision = nullptr;
    Ticket ticket{};
    SessionId fresh;
    ServeList serving;
    lock_model::RecoveryState recovery;

    // ---- lock_table.cpp ----
    void apply(const Event& event);
    // Serves the queues that the event left to be served, and frees what is empty.
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

    // ---- session.cpp ----
    Session* opened_by(const RequestKey& id);
    void handle(const OpenSession& request);
    void handle(const RenewSession& request);
    void handle(const JoinProcess& request);
    void handle(const CloseSession& request);
    void handle(const EndSession& request);
    // The session, if it lives; otherwise the request is answered, and nothing is returned.
    Session* require_session(const SessionId& id);
    Session& make_session(const OpenSession& request, milliseconds lease,
                          const RequestKey& request_key);
    std::optional<Error> check_open(const OpenSession& request, milliseconds lease) const;
    // The class of `at` allows only a shorter one; that of one of the resources of a grant; of what
    // a session holds and waits for.
    std::optional<Error> lease_too_long(const Resource& at, milliseconds lease) const;
    std::optional<Error> lease_too_long(const Grant& grant, milliseconds lease) const;
    std::optional<Error> lease_too_long_for_locks(const Session& session, milliseconds lease) const;
    SessionInfo info(const Session& session) const;
    // An HMAC: only where somebody becomes the owner.
    SessionInfo info_with_secret(const Session& session) const;
    void extend(Session& session);
    void write_session(const Session& session);
    void write_deadline(Session& session);
    void end_with_answer(Session& session, Ending ending);
    // Ends it: from now on none of its grants lives. They are cleaned up by clean().
    void end_session(Session& session, Ending ending, std::size_t budget = Tick{}.budget);
    void note_shared_end(Session& session);
    // Cleans up at most `budget` grants of ended sessions; frees a session that has none left.
    std::size_t clean(Session& session, std::size_t budget);
    void forget_session(Session& session);
    // Takes it out of what its user has, and frees it.
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
    // A lock with `modes` in the strongest of them.
    Result<Resolved> resolve(const std::vector<LockRequest>& locks);
    // Each with the one of its `modes` that it takes now.
    std::vector<LockRequest> choose_modes(const Session& session, std::vector<LockRequest> locks);
    std::optional<Error> resolve_one(const LockRequest& lock, Resolved& resolved);
    std::optional<Error> add_dependants(const LockRequest& lock, const LockClass& lock_class,
                                        std::size_t root, Resolved& resolved);
    // Answers a request whose id was seen before. False: it was not.
    bool replay(const RequestKey& id, std::uint64_t fingerprint, const Acquire& request);
    // What `Held` says of requested locks on names that the session holds. True: the request is
    // answered.
    bool check_own_holds(Ticket to, Session& session,
                         std::span<const RequestedLock> requested_locks, Held held);
    // To have one of a lock's `modes` is enough.
    bool check_own_holds(const Acquire& request, Session& session, const Resolved& strongest);
    // The session's own live hold on that very name, dependants aside.
    Hold* own_hold(const Session& session, const Resource& at) const;
    Grant* own_cover(Session& session, std::span<const RequestedLock> requested_locks) const;
    Grant& make_grant(const lock_model::GrantRequest& grant_request,
                      std::span<const RequestedLock> requested_locks,
                      const std::vector<GrantId>& dead);
    // Ends those of `dead` that are not ended yet, `taker`'s own aside.
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
    // Puts a new one among the others.
    Resource& enter(Resource& made);
    Resource* find(std::string_view name) const;
    void remove_if_empty(Resource& resource);
    // Where others' locks may meet `requested`: `visit(resource, only_subtree)` for its resource,
    // for those above it, whose locks reach down to it with `subtree` only, and, if it has
    // `subtree` itself, for all inside.
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
    // What is in the way of `requested_locks` for `session`. `wait` is the request's own place in
    // the queues, none for one that has just arrived. `collect`: what of it is to be named.
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
    // Whether the session's own holds cover the requested lock, so that it queues behind nobody.
    bool covered(const Session& session, const RequestedLock& requested) const;
    bool held_covers(const Session& session, const Resource& at, const RequestedLock& requested,
                     bool below) const;
    // Every resource below `above`, at any depth.
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
    // Without its position.
    Waiter name_waiter(const WaitLock& lock) const;
    // With it, which takes as long as many stand before.
    Waiter show_waiter(const WaitLock& lock) const;
    // Queues the request, unless a limit or a deadlock forbids: then it is refused.
    void begin_wait(std::unique_ptr<Wait> made, std::span<const RequestedLock> requested_locks);
    std::optional<Error> check_queues(const Session& session,
                                      std::span<const RequestedLock> requested_locks) const;
    void tell_wanted(const Wait& wait, const Conflicts& conflicts);
    void tell_wanted(Session& holder, const Wanted& wanted);
    void enqueue(Wait& wait);
    void dequeue(Wait& wait);
    // Takes it out of everything and frees it.
    void end_wait(Wait& wait);
    void arm(Wait& wait, BootTime recheck_at);
    // Decides a waiting request if that can be done now. True when it is gone.
    bool reconsider(Wait& wait);
    // The first of those who waited long enough, when nobody can be granted any more.
    void lose_patience();
    void grant_waiting(Wait& wait, const Conflicts& conflicts);
    template <typename Do>
    void for_own_waits(const Session& session, const Resource& at, bool related, Do act);
    void recheck_own(const Wait& head, const Resource& at);
    void recheck_covered(const Grant& grant);
    // A hold or a wait on `resource` has gone or become weaker: others may be served.
    void changed(Resource& resource, bool subtree);
    void serve(Resource& resource);
    void serve_time(std::size_t budget);
    void sweep(std::size_t budget);
    void sweep_sessions(std::size_t budget);
    // The safety net, a step of it: counts and serves waiters that should have been granted before.
    void search();

    // ---- deadlock.cpp ----
    // One session that waits, and one that it waits for.
    struct Edge {
        const Session* to = nullptr;
        const Resource* at = nullptr;
        bool holds = false;
        // One of several on a counting resource: others may make room too.
        bool counted = false;
    };
    // Whom a waiting request waits for: live holders and earlier waiters in its way. With `moved`,
    // as if that grant were `owner`'s.
    std::vector<Edge> blockers(const Wait& wait, const Grant* moved, const Session* owner) const;
    class BlockerSearch;
    class Swept;
    class CycleSearch;
    class StuckSearch;
    // A chain of sessions from `start` back to itself, each waiting for the next; empty if there is
    // none. With `moved`, as if that grant were `start`'s; with `begun`, a wait of `start`, only
    // through that one.
    std::vector<CycleStep> find_cycle(const Session& start, const Grant* moved = nullptr,
                                      const Wait* begun = nullptr) const;
    Error deadlock(std::vector<CycleStep> cycle);

    // ---- end.cpp ----
    void handle(const Release& request);
    void handle(const Convert& request);
    void handle(const Transfer& request);
    void handle(const Break& request);
    // The caller's grant if it lives; otherwise the request is answered, and nothing is returned.
    Grant* require_grant(const SessionId& session, GrantId id, HistoryLookup::Verb verb);
    void end_grant(Grant& grant, const Ending& ending);
    std::optional<records::Closure> closure_of(const Hold& hold, Outcome outcome) const;
    std::vector<records::Closure> close_resources(const Grant& grant, Outcome outcome);
    void answer_convert(Ticket to, const Grant& grant, bool waited);
    void notify_lost(const Grant& grant, const Ending& ending);
    void write_audit(const Grant& grant, const Ending& ending);
    void apply_modes(Grant& grant, std::span<const Mode> modes, const RequestKey& convert_request,
                     std::uint64_t fingerprint);
    std::optional<Error> check_receiver(const Grant& moved, const Session& receiver) const;
    std::optional<Error> left_behind(const Grant& moved, const Session& owner) const;
    std::vector<CycleStep> cycle_when_raised(Grant& grant, std::span<const Mode> modes);
    Grant& take_over(Grant& victim, Session& thief, const Ending& ending);
    Result<std::vector<Mode>> modes_after(const Grant& grant, const Convert& request) const;
    std::vector<RequestedLock> wishes_up(const Grant& grant, std::span<const Mode> modes) const;
    Ending ending_of(const Grant& grant) const;

    // ---- steal.cpp ----
    void handle(const Steal& request);
    void handle(const AnswerWanted& request);
    struct StealTerms;
    StealTerms steal_terms(const Grant& victim) const;
    // Why this steal is refused, if it is; asks the holder where that is to be asked.
    std::optional<Error> judge_steal(const Steal& request, const Session& thief, Grant& victim);
    // What the thief has asked and was answered; asks for it if it has not.
    Result<lock_model::Ask> ask_holder(const Session& thief, Grant& victim,
                                       const StealTerms& terms);
    void forget_old_refusals(Grant& grant, milliseconds steal_after) const;
    Error steal_refusal(const Hold& hold, StealPolicy policy, std::string why,
                        std::optional<BootTime> until) const;
    // Whether somebody waits whom this grant keeps from being granted.
    bool waited_for(const Grant& grant) const;
    bool waited_for(const Hold& hold) const;

    // ---- events.cpp ----
    void note(EventType type, const Hold& hold, WallTime at);
    void note_grant(const Grant& grant);
    void note_conversion(const Grant& grant);
    void note_end(const Grant& grant, const Ending& ending);
    void note_wanted(const Hold& hold, const Wanted& wanted);
    // Says that the session's lease runs low; how many of its grants that concerned.
    std::size_t warn(Session& session);
    BootTime warning_time(const Session& session) const;
    // Sets the timer for what comes first, its warning or its deadline.
    void arm_session(Session& session);
    void note_slow(Wait& wait);
    bool slow(const Wait& wait) const;

    // ---- fence_check.cpp ----
    // The grant with the token of the request.
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
