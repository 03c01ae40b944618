// The implementation of the lock table: one struct with its methods grouped into files by topic.
//
//     lock_table.cpp     apply(): passes the event to its handler, then calls serve_queues()
//     session.cpp        opens, renews, closes and expires sessions; adds processes to them
//     resolve.cpp        determines the locks that a request needs from the locks that it names
//     acquire.cpp        turns a request into a grant, a refusal or entries in the queues
//     granting.cpp       makes grants, their records and answers; reacquires
//     give_back.cpp      gives back grants whose responses were lost
//     conflicts.cpp      finds conflicts of a request; only reads
//     resources.cpp      creates and removes resources
//     wait.cpp           queues, the choice of the next waiter to be served, and timeouts
//     sweep.cpp          cleans up what has expired; searches for overlooked waiters
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
// Parts of the state that have invariants of their own are classes: SessionTable; WaitTable
// (tickets and order of arrival); ServeList (the queues and waits that a decision must still
// examine); NumberReservation.
//
// During one apply(), no Wait leaves its queues and no Resource is freed, except in functions whose
// comments say so. At the end of apply(), resources that have become empty are removed or added to
// `idle`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "lock/model/grant_index.hpp"
#include "lock/model/idle_resources.hpp"
#include "lock/model/last_grants.hpp"
#include "lock/model/lock_class.hpp"
#include "lock/model/modes.hpp"
#include "lock/model/nodes.hpp"
#include "lock/model/request_table.hpp"
#include "lock/model/resource_index.hpp"
#include "lock/model/ticket_map.hpp"
#include "lock/model/user_usage.hpp"
#include "lock/records/records.hpp"
#include "lock/table/conflicts.hpp"
#include "lock/table/core_parts.hpp"
#include "lock/table/lock_table.hpp"
#include "lock/table/notice_waits.hpp"
#include "lock/table/number_reservation.hpp"
#include "lock/table/serve_list.hpp"
#include "lock/table/session_table.hpp"
#include "lock/table/wait_table.hpp"

namespace rocklock {

struct LockTable::Core {
    using Grant = lock_model::Grant;
    using Hold = lock_model::Hold;
    using Resource = lock_model::Resource;
    using Session = lock_model::Session;
    using Slot = lock_model::Slot;
    using Wait = lock_model::Wait;
    using WaitLock = lock_model::WaitLock;
    using RequestedLock = lock_model::RequestedLock;
    using Alternative = lock_model::Alternative;
    using QueuePlace = lock_model::QueuePlace;
    using Collect = lock_model::Collect;
    using Conflicts = lock_model::Conflicts;
    using RequestKey = lock_model::RequestKey;
    using RequestOutcome = lock_model::RequestOutcome;
    using milliseconds = std::chrono::milliseconds;

    // The number of sessions or resources whose memory is prefetched together.
    static constexpr std::size_t loaded_together = 16;
    static constexpr std::size_t cache_line = 64;

    Core(const LockTableOptions& table_options, const SessionKey& session_key);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Sets Core::now for the duration of a query, and restores it afterwards. All functions of Core
    // evaluate deadlines at this time.
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
    lock_model::IdleResources idle;
    lock_model::GrantIndex grants;
    SessionTable sessions;
    WaitTable waits;
    lock_model::RequestTable requests;
    lock_model::LastGrants last_grants;
    ClassTable classes;
    lock_model::Timers timers;
    NumberReservation numbers;
    struct HoldMarks {
        // The number of holds and waits with `subtree`. If it is 0, a search for conflicts need not
        // visit the paths above a resource.
        std::uint64_t subtrees = 0;
        ExclusiveHolds exclusive;
        std::uint64_t grants_with_min_hold = 0;
    };
    HoldMarks hold_marks;
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
    void handle(const Event& event);
    // Completes a decision after its event was handled.
    void finish_decision();
    // Serves the queues and the waits that the event has added to `serving`, and removes resources
    // that have become empty.
    void serve_queues();
    void serve_all();
    template <typename Reply>
    void answer(Ticket to, Reply&& reply) {
        decision->replies.emplace_back(to, std::in_place_type<std::decay_t<Reply>>,
                                       std::forward<Reply>(reply));
    }
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
    // Returns the session if it has not ended. Otherwise completes the request with an error, if
    // necessary after a lookup in the history, and returns null.
    Session* require_session(const SessionId& id);
    Session& make_session(const OpenSession& request, milliseconds lease,
                          const RequestKey& request_key);
    std::optional<Error> check_open(const OpenSession& request, milliseconds lease) const;
    // Return an error if `lease`, which can be `no_expiry`, is not allowed by the class of `at`, by
    // the class of any resource of `grant`, or by the class of any resource that the session holds
    // or waits for.
    std::optional<Error> lease_too_long(const Resource& at, milliseconds lease) const;
    std::optional<Error> lease_too_long(const Grant& grant, milliseconds lease) const;
    std::optional<Error> lease_too_long_for_locks(const Session& session, milliseconds lease) const;
    SessionInfo info(const Session& session) const;
    // As info(), with the secret. Computes an HMAC, and is therefore used only in responses to the
    // owner of a new session or grant.
    SessionInfo info_with_secret(const Session& session) const;
    void extend(Session& session);
    void write_session(const Session& session);
    void write_deadline(Session& session);
    void end_with_answer(Session& session, Ending ending);
    // Ends the session. From now on, none of its grants is live. Cleans up at most `budget` of
    // these grants; the sweep of later Ticks cleans up the others.
    void end_session(Session& session, Ending ending, std::size_t budget = Tick{}.budget);
    void note_shared_end(Session& session);
    // Cleans up at most `budget` grants of an ended session, and frees the session if no grant is
    // left. Returns the number of grants that were cleaned up.
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
        // Most requests need a single lock, for which no memory is allocated.
        boost::container::small_vector<RequestedLock, 1> requested_locks;
        // As in Wait.
        std::vector<Alternative> alternatives;
        milliseconds max_hold{0};
        milliseconds max_lease{0};
        milliseconds lease = limits::lease_default;
    };
    // Determines the locks that a request needs. For a lock with `modes`, uses the strongest of the
    // modes. `slot` applies if the request has a single lock and its resource does not exist yet.
    Result<Resolved> resolve(const std::vector<LockRequest>& locks, Slot slot = Slot::with);
    // As resolve(), but each lock becomes an alternative of its own.
    Result<Resolved> resolve_any(const std::vector<LockRequest>& locks, Slot slot);
    // Returns an error if a class does not allow the lease, the priority or the minimum hold.
    std::optional<Error> check_classes(const Acquire& request, const Resolved& resolved,
                                       milliseconds lease) const;
    // Returns an error if a class does not allow the priority.
    std::optional<Error> check_priority(std::uint32_t priority,
                                        std::span<const RequestedLock> requested_locks) const;
    // Sets the mode of each lock to the first of its `modes` that does not conflict now or, if all
    // of them conflict, to the last. Returns the changed locks.
    std::vector<LockRequest> choose_modes(const Session& session, const QueuePlace& place,
                                          std::vector<LockRequest> locks);
    // Appends the lock. `slot` applies if its resource does not exist yet.
    std::optional<Error> resolve_one(const LockRequest& lock, Slot slot, Resolved& resolved);
    std::optional<Error> add_dependants(const LockRequest& lock, const LockClass& lock_class,
                                        std::size_t root, Resolved& resolved);
    // Returns an error if the class of a requested resource is drained, or if a drained class can
    // apply to a name below a requested subtree.
    std::optional<Error> check_draining(std::span<const RequestedLock> requested_locks) const;
    // If the request id is known, answers the repeated request with the result of its first
    // execution. Returns whether the request id is known.
    bool replay(const RequestKey& id, std::uint64_t fingerprint, const Acquire& request);
    // If the session already holds one of the requested resources, completes the request: with the
    // existing grant if `held` allows that and one grant of the session covers the whole request,
    // otherwise with the error already_held. Returns whether the request was completed.
    bool check_own_holds(Ticket to, Session& session,
                         std::span<const RequestedLock> requested_locks, Held held);
    // As above, for any kind of request; `strongest` is the result of resolve(). If a lock has
    // several `modes`, a grant of the session is sufficient if it covers the weakest mode.
    bool check_own_holds(const Acquire& request, Session& session, const Resolved& strongest);
    // As above, but for a request that needs any one of several locks.
    bool check_own_alternatives(Ticket to, Session& session,
                                std::span<const RequestedLock> requested_locks,
                                std::span<const Alternative> alternatives, Held held);
    void use_own_grant(Ticket to, Session& session, Grant& cover, Held held);
    // Grants, refuses or queues a request that has been validated.
    void grant_or_wait(const Acquire& request, Session& session, const Resolved& resolved,
                       const RequestKey& id, std::uint64_t fingerprint);
    // Returns the session's live hold on exactly this name, or null. Holds that were acquired as
    // dependants do not count.
    Hold* own_hold(const Session& session, const Resource& at) const;
    Grant* own_cover(Session& session, std::span<const RequestedLock> requested_locks) const;
    Grant& make_grant(const lock_model::GrantRequest& grant_request,
                      std::span<const RequestedLock> requested_locks,
                      const std::vector<GrantId>& dead);
    // Ends those grants in `dead` that still exist, except for grants of the session `taker`.
    void end_dead(const std::vector<GrantId>& dead, const Session& taker);
    // Makes a grant with these locks, or a plain grant if that is possible.
    Grant& new_grant(std::span<const RequestedLock> requested_locks);
    void link(Hold& hold);
    void unlink(Hold& hold);
    void write_grant(Grant& grant);
    void remember_cap(Grant& grant, milliseconds max_hold, BootTime cap);
    void remember_min_hold(Grant& grant, milliseconds min_hold);
    rocklock::Grant view(const Grant& grant) const;
    void fill_view(rocklock::Grant& result, const Grant& grant) const;
    // Answers the request with this grant. Returns the answer, which is valid until the next answer
    // of the decision. The answer is built in place, because it is slow to move.
    rocklock::Grant& answer_grant(Ticket to, const Grant& grant);
    RequestKey request_key(const SessionId* session, const OpenSession* opens,
                           std::string_view request_id) const;

    // ---- resources.cpp ----
    // Returns the resource. If it does not exist, creates it, with or without a slot.
    Resource& resource(std::string_view name, Slot slot = Slot::without);
    // Inserts a new resource into the index and below its parent. `name` is its name.
    Resource& enter(Resource& made, const lock_model::HashedName& name);
    Resource* find(std::string_view name) const;
    // If the resource is no longer needed, adds it to `idle`, which may remove the oldest idle
    // resource, or removes it.
    void retire_if_unused(Resource& resource);
    void retire_unused(std::span<Resource* const> group);
    void load_together(std::span<Resource* const> group) const;
    // Frees the idle resources and the empty page of `grants`, so that the arena can return its
    // memory to the system. Must be called while `idle` does not accept resources.
    void free_unused();
    void remove(Resource& resource);

    // ---- wait.cpp ----
    // Calls `visit(resource, only_subtree)` for each resource whose locks may conflict with
    // `requested`: the requested resource; the resources above it; and, if `requested` has
    // `subtree`, all resources below it. `only_subtree` is true for the resources above, because
    // only their locks with `subtree` can conflict.
    template <typename F>
    void for_each_meeting(const RequestedLock& requested, const F& visit) const {
        visit(*requested.resource, false);
        if (hold_marks.subtrees > 0) {
            const Resource* above = requested.resource->parent();
            for (; above != nullptr; above = above->parent()) visit(*above, true);
        }
        if (requested.subtree) {
            for_each_inside(*requested.resource,
                            [&](const Resource& inside) { visit(inside, false); });
        }
    }
    // Returns the place of a request that has just arrived.
    QueuePlace arriving(std::uint32_t priority = 0) const {
        return {false, now.boot - options.priority_step * priority, QueuePlace::newest};
    }
    // Returns the conflicts of `requested_locks` for a request of `session` at the place `place` in
    // the queues. `collect` determines which of the conflicts are listed.
    Conflicts find_conflicts(const Session& session, std::span<const RequestedLock> requested_locks,
                             const QueuePlace& place, Collect collect = Collect::nothing) const;
    // Returns the result for the first alternative that is not blocked, with its index
    // (Conflicts::alternative). If all are blocked, returns the conflicts of all alternatives.
    Conflicts find_conflicts_of_any(const Session& session,
                                    std::span<const RequestedLock> requested_locks,
                                    std::span<const Alternative> alternatives,
                                    const QueuePlace& place, Collect collect) const;
    Conflicts find_conflicts(const Wait& wait, Collect collect = Collect::nothing) const;
    Conflicts find_conflicts(const Session& session, const Resolved& resolved,
                             const QueuePlace& place, Collect collect = Collect::nothing) const;
    void add_holds(const Session& session, const RequestedLock& requested,
                   Conflicts& conflicts) const;
    void add_permits(const RequestedLock& requested, Conflicts& conflicts) const;
    void add_closures(const Resource& at, Conflicts& conflicts) const;
    void add_waits(const Session& session, const RequestedLock& requested, const QueuePlace& place,
                   Conflicts& conflicts) const;
    bool blocks(const WaitLock& lock, const Session& session, const RequestedLock& requested) const;
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
            for (const Resource* child = next.children(); child != nullptr;
                 child = child->next_sibling()) {
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
    // Returns the waiter with its position in the queue. The cost of the call is proportional to
    // the position.
    Waiter show_waiter(const WaitLock& lock) const;
    // Appends the request to the queues of its resources. If a limit is exceeded, or if the wait
    // would complete a deadlock, refuses the request.
    void begin_wait(std::unique_ptr<Wait> made, std::span<const RequestedLock> requested_locks);
    std::optional<Error> check_queues(const Session& session,
                                      std::span<const RequestedLock> requested_locks) const;
    void notify_wanted(const Wait& wait, const Conflicts& conflicts);
    void enqueue(Wait& wait);
    void dequeue(Wait& wait);
    // Removes the wait from all lists and frees it.
    void end_wait(Wait& wait);
    void arm(Wait& wait, BootTime recheck_at);
    // Completes a waiting request if it can be completed now. Returns true if the request has been
    // completed; the wait has then been freed.
    bool reconsider(Wait& wait);
    // Refuses, with the error `patience_expired`, the oldest request that has timed out. Called
    // only if no other waiter can be granted.
    void lose_patience();
    void grant_waiting(Wait& wait, const Conflicts& conflicts);
    template <typename Do>
    void for_own_waits(const Session& session, const Resource& at, bool related, Do act);
    void recheck_own(const Wait& head, const Resource& at);
    void recheck_covered(const Grant& grant);
    // Adds to `serving` the queues that must be served after a hold or a wait on `resource` has
    // ended or become weaker.
    void changed(Resource& resource, bool subtree);
    void serve(Resource& resource);
    // Serves the queues and waits in `serving` strictly in the order of QueuePlace. Used while a
    // request waits for any one of several locks.
    void serve_in_order();
    void serve_time(std::size_t budget);
    void load_together(std::span<Wait* const> group) const;

    // ---- sweep.cpp ----
    void sweep(std::size_t budget);
    void sweep_sessions(std::size_t budget);
    std::size_t sweep_session(Session& session, std::size_t& early);
    void load_together(std::span<Session* const> group) const;
    // Executes one step of the search that Tick::search requests: finds, counts and serves waiters
    // that should have been granted before.
    void search();

    // ---- deadlock.cpp ----
    // An edge from a waiting session to a session for which it waits.
    struct Edge {
        const Session* to = nullptr;
        const Resource* at = nullptr;
        bool holds = false;
        // Whether the resource is counted in permits, so that a release by another holder can also
        // end the wait.
        bool counted = false;
    };
    // Returns edges to the sessions for which a waiting request waits: to live holders and to
    // earlier waiters that conflict with the request. If `moved` is not null, the edges are
    // computed as if the grant `moved` belonged to `owner`.
    std::vector<Edge> blockers(const Wait& wait, const Grant* moved, const Session* owner) const;
    // As above, but returns only the edges for one alternative of the request.
    std::vector<Edge> blockers(const Wait& wait, const Alternative& one, const Grant* moved,
                               const Session* owner) const;
    class BlockerSearch;
    class Swept;
    class CycleSearch;
    class StuckSearch;
    // Returns a chain of sessions from `start` back to `start`, in which each session waits for the
    // next, or an empty chain if there is none. If `moved` is not null, searches as if the grant
    // `moved` belonged to `start`. If `new_wait` is not null, it is a wait of `start`, and only
    // cycles through this wait are searched.
    std::vector<CycleStep> find_cycle(const Session& start, const Grant* moved = nullptr,
                                      const Wait* new_wait = nullptr) const;
    // Returns the cycle that would exist if these locks were granted to a request that has just
    // arrived. A cycle can exist only if the request overtakes waiters.
    std::vector<CycleStep> cycle_when_granted(Session& session,
                                              std::span<const RequestedLock> requested_locks,
                                              std::uint32_t priority);
    Error deadlock(std::vector<CycleStep> cycle);

    // ---- end.cpp ----
    void handle(const Release& request);
    void handle(const Convert& request);
    void handle(const Transfer& request);
    void handle(const Break& request);
    // Returns the grant if it is live and belongs to `session`. Otherwise completes the request, if
    // necessary after a lookup in the history, and returns null.
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
    // Checks the right `steal_by` if `done` is "stolen", and `break_by` if `done` is "broken".
    // Returns an error if the class of a resource of the grant gives this right to none of
    // `identities`. An empty `steal_by` gives the right to all clients. If `identities` is
    // nullopt, rights are not checked.
    std::optional<Error> check_right(const Grant& grant,
                                     const std::optional<std::vector<std::string>>& identities,
                                     std::string_view done) const;
    // Returns the error of a steal, or nullopt if the steal is allowed. If a class has
    // StealPolicy::ask, asks the holder if necessary.
    std::optional<Error> judge_steal(const Steal& request, const Session& thief, Grant& victim);
    // Returns the stored question of the thief to the holder, with the holder's answer. If the
    // thief has not asked before, stores the question and sends it, with the reason, to the holder.
    Result<lock_model::Ask> ask_holder(const Session& thief, Grant& victim, const StealTerms& terms,
                                       const std::string& reason);
    void forget_old_refusals(Grant& grant, milliseconds steal_after) const;
    Error steal_refusal(const Hold& hold, StealPolicy policy, std::string why,
                        std::optional<BootTime> until) const;
    // Returns whether another session waits for a lock that conflicts with this grant.
    bool waited_for(const Grant& grant) const;
    bool waited_for(const Hold& hold) const;
    bool is_own_alternative(const WaitLock& lock) const;

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
    // `by` and `reason` are empty for most events.
    void note(EventType type, const Hold& hold, WallTime at, std::string_view by = {},
              std::string_view reason = {});
    lock_model::EventFacts event_facts(EventType type, const Hold& hold, WallTime at);
    void note_grant(const Grant& grant);
    void note_conversion(const Grant& grant);
    void note_end(const Grant& grant, const Ending& ending);
    void note_wanted(const Hold& hold, const Wanted& wanted);
    // Creates the events `warned` for the grants of the session, whose lease is about to expire.
    // Returns the number of events.
    std::size_t warn(Session& session);
    BootTime warning_time(const Session& session) const;
    // Sets the timer for the warning or the deadline, whichever is earlier.
    void arm_session(Session& session);
    void note_slow(Wait& wait);
    bool slow(const Wait& wait) const;

    // ---- fence_check.cpp ----
    // Returns the grant on which the request relies, or the reason why there is no such grant.
    std::variant<Grant*, NoFence> believed_grant(const FenceRequest& request,
                                                 const Session* session);
    Grant* writing_grant(const Session& session, std::string_view name) const;

    // ---- recover.cpp ----
    void handle(const PutClass& request);
    void handle(const DeleteClass& request);
    void handle(const DrainClass& request);
    void handle(const ResumeClass& request);
    // Stores the class with its new value of `draining`, and adds a row to the audit log.
    void set_draining(LockClass lock_class, Outcome outcome, const std::string& by,
                      const std::string& reason);
    std::optional<Error> kinds_change(const ClassTable& after) const;
    void classes_changed();
    Result<void> recover(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_classes(const Snapshot& records);
    void count_audit_rows(const Snapshot& records);
    Result<void> recover_sessions(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_grants(const Snapshot& records, const RecoveryFacts& facts);
    Result<void> recover_grant(records::GrantRecord& record, const RecoveryFacts& facts);
    static Grant& make_recovered(const records::GrantRecord& record);
    // Replaces a plain grant by a grant that can be linked to `at`, because the resource of the
    // plain grant is not in the index. Frees the plain grant and its resource.
    static Grant& move_to(Resource& at, Grant& plain);
    void recover_ended(const records::GrantRecord& record, const RecoveryFacts& facts);
    // Inserts the grants of `recovery` into the indexes.
    void enter_recovered();
    // Returns the grant, which may have been moved.
    Grant& enter_recovered_grant(Grant& recovered);
    void recover_deadline(Session& session, const records::DeadlineRecord& seen,
                          const RecoveryFacts& facts);
    void arm_recovered();
    void end_restored();
    void finish_recovery(const RecoveryFacts& facts);

    // ---- audit.cpp ----
    class Audit;
};

}  // namespace rocklock
