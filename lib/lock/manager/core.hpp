// The implementation of the lock manager: one struct with its methods grouped into files by topic.
//
//     lock_manager.cpp     opens and closes the manager; lists and other queries
//     decide.cpp           makes one decision, enqueues its commit, distributes its responses;
//                          blocking calls
//     deliver.cpp          asynchronous calls, the delivery of responses, work that is due by time
//     stall.cpp            detects stalls, and continues after them
//     fence_check.cpp      checks writes and reads of bound items
//     queries.cpp          looks up single objects in the table, and searches the kept events
//     watch.cpp            waits for events
//
// Parts of the state are classes:
//   - CommitScheduler: the last commits, and which thread syncs them;
//   - DeliveryQueue: responses that wait for their commits;
//   - EventStream: events, and the requests that watch them;
//   - StallGate: after a stall of the process, the requests that wait until the server has read the
//     renewals that arrived during the stall.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/fifo.hpp"
#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "base/parker.hpp"
#include "base/timings.hpp"
#include "lock/manager/commit_scheduler.hpp"
#include "lock/manager/delivery_queue.hpp"
#include "lock/manager/event_stream.hpp"
#include "lock/manager/lock_manager.hpp"
#include "lock/manager/stall_gate.hpp"
#include "lock/manager/table_audit.hpp"
#include "lock/manager/wake_thread.hpp"
#include "lock/records/history.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

namespace manager {

// The interval between two searches for waiters that should have been granted, and the minimum
// interval between two rounds of trimming. Trimming deletes old records of the history. While
// requests are decided, a round is divided into steps.
inline constexpr std::chrono::seconds search_every{5};
inline constexpr std::chrono::seconds trim_every{1};
// If a complete round of trimming has deleted no record, the manager's thread wakes for the next
// round after this time at the latest.
inline constexpr std::chrono::minutes trim_pause{1};
// Waits must be examined when their wait timeout ends, or when a lease that blocks them ends. One
// decision examines at most `served_at_once` waits for this reason. After at most
// `serves_before_a_sweep` such decisions, the next decision also cleans up expired grants and
// sessions.
inline constexpr std::size_t served_at_once = 128;
inline constexpr unsigned serves_before_a_sweep = 16;
// While the storage is congested, the clean-up of what has expired pauses for this time.
inline constexpr std::chrono::milliseconds expiry_pause{1};
// The interval between two steps of a search for waiters.
inline constexpr std::chrono::milliseconds search_step_every{5};
// The pause between two steps of a query over the whole lock table. Without the pause, the querying
// thread would usually lock the mutex again before a thread that waits for the mutex can lock it.
inline constexpr std::chrono::microseconds step_pause{100};
// A thread that waits for the response to its blocking call.
struct Caller {
    Parker parker;
    std::optional<Result<Answer>> answer;
    CommitDependency dependency;
};

// The recipient of the response to a waiting request: a blocked caller, or a completion.
struct Pending {
    Caller* caller = nullptr;
    LockService::Completion done;
};

// A ReadMark in one atomic word, so that readers need no mutex.
class AtomicReadMark {
public:
    void store(const ExclusiveHolds::State& state) {
        word_.store(state.changes << 1U | (state.holds > 0 ? 1U : 0U));
    }
    ReadMark load() const {
        const std::uint64_t word = word_.load();
        return {word >> 1U, (word & 1U) != 0};
    }

private:
    std::atomic<std::uint64_t> word_{0};
};

// The times at which the manager's thread must work, and the kind of work that it has done last.
struct Schedule {
    // The time at which the manager's thread will wake by itself. If a decision creates work for an
    // earlier time, the deciding thread wakes the manager's thread with WakeThread::call().
    BootTime wakes_at{BootTime::max()};
    BootTime next_search{};
    BootTime next_trim{};
    // The number of the last commit at the last trimming.
    CommitNumber trimmed_at = 0;
    // The number of steps of trimming that directly followed each other, because no request was
    // decided.
    unsigned trims_in_a_row = 0;
    // The time at which the thread wakes for trimming; max() if there is no record to trim.
    BootTime trim_wake{BootTime::max()};
    // The time at which the thread writes deferred commits for which no other thread has waited.
    std::optional<BootTime> defer_until;
    // The number of Tick events that have only served waits, since the last Tick that also cleaned
    // up.
    unsigned served_in_a_row = 0;
    // Set if the manager's thread has made a decision. The thread must then make the decision
    // durable itself, because no other thread does. Also set if one write was not sufficient for
    // this.
    bool decided_by_time = false;
    // Whether the last flush() has delivered only responses that need no commit. The next flush()
    // then commits.
    bool delivered_first = false;
    // Notified when the delay of a commit ends (CommitDelay).
    CondVar delay_over;
    // Decides when the table is audited, in debug and sanitizer builds.
    TableAudit audit;
};

struct Callbacks {
    std::function<void(const LostNotice&)> notify_lost;
    std::function<void(const WantedNotice&)> notify_wanted;
    std::function<void(const AnsweredNotice&)> notify_answered;
    std::function<void()> notify_flusher;
};

}  // namespace manager

struct LockManager::Core {
    using Caller = manager::Caller;
    using Delivery = manager::Delivery;
    using Pending = manager::Pending;
    using CommitDependency = manager::CommitDependency;

    Core(Storage& used_storage, Clock& used_clock, LockManagerOptions chosen, const SessionKey& key)
        : storage(used_storage),
          clock(used_clock),
          options(std::move(chosen)),
          session_key(key),
          table(table_options(options), key),
          events(used_storage, options.events_kept),
          commits(used_storage, options.durability),
          trimmer(options.retention) {}

    Storage& storage;
    Clock& clock;
    const LockManagerOptions options;
    const SessionKey session_key;
    ForkCheck fork_check;
    mutable Mutex mutex;
    manager::Callbacks callbacks ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    manager::EventStream events;
    Timings acquires;
    // The state of the lock table's exclusive holds after the last decision. It is stored before
    // any response of the decision is delivered.
    manager::AtomicReadMark marked;
    // The decision in progress. It is a member only so that its memory is reused.
    Decision decision ROCKLOCK_GUARDED_BY(mutex);
    TicketMap<Pending, TicketShares{9, 11}> pending ROCKLOCK_GUARDED_BY(mutex);
    std::uint64_t next_ticket ROCKLOCK_GUARDED_BY(mutex) = 1;
    manager::CommitScheduler commits ROCKLOCK_GUARDED_BY(mutex);
    manager::DeliveryQueue deliveries ROCKLOCK_GUARDED_BY(mutex);
    manager::StallGate stalls ROCKLOCK_GUARDED_BY(mutex);
    manager::Schedule schedule ROCKLOCK_GUARDED_BY(mutex);
    BootTime last_decided ROCKLOCK_GUARDED_BY(mutex){};
    bool closing ROCKLOCK_GUARDED_BY(mutex) = false;
    std::optional<Error> failed ROCKLOCK_GUARDED_BY(mutex);
    // Held while the history is read. Locked before `mutex`.
    Mutex trimming ROCKLOCK_ACQUIRED_BEFORE(mutex);
    HistoryTrimmer trimmer ROCKLOCK_GUARDED_BY(trimming);
    // Whether the storage's queue may contain deferred commits for which no thread has waited. If
    // so, the manager's thread has been notified, and writes these commits at
    // `schedule.defer_until`.
    std::atomic<bool> deferring{false};
    WakeThread thread;

    // The work that remains after a decision, and is done after the mutex was unlocked.
    struct DeferredActions {
        // Returns the answer to the request of the caller, or null if it waits.
        const Result<Answer>* answer() const {
            return in_decision != nullptr ? in_decision : own ? &*own : nullptr;
        }

        std::optional<Result<Answer>> own;
        // The answer to a request of decide_now(). It stays in `decision`, so the pointer is valid
        // only until the mutex is unlocked.
        const Result<Answer>* in_decision = nullptr;
        // Whether the answer is left in `decision` instead of being moved to `own`.
        bool leave_in_decision = false;
        std::optional<HistoryLookup> history;
        CommitDependency dependency;
        std::vector<Parker*> wake;
        bool call_thread = false;
        // Whether responses or notices must be delivered.
        bool deliver = false;
        // Called to notify the server of a stall.
        std::function<void()> notify_stall;
        // Whether the response is delivered before its commit is written, and no flush() will write
        // the commit.
        bool leaves = false;
        // Whether the manager is closing, so that its thread may have ended.
        bool alone = false;
        // The time of the decision of an acquire, if `timings` is on.
        std::optional<BootTime> acquired_at;
        // For a Disconnect: whether the calling thread delivers the refusals itself, because there
        // may be very many.
        bool delivers_refusals = false;
        std::vector<std::pair<LockService::Completion, Result<Answer>>> refused;
    };

    static LockTableOptions table_options(const LockManagerOptions& options) {
        LockTableOptions result = options.table;
        result.events = options.events_kept > 0;
        result.slow_wait = options.slow_wait;
        // No loss is reported before on_lost() has set a callback.
        result.reports_losses = [](const SessionId&) { return false; };
        return result;
    }

    Result<void> recover();
    // Returns an error in a child of the process that opened the store. Must be called before any
    // mutex is locked.
    std::optional<Error> not_ours() const;
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex);
    Ticket take_ticket() ROCKLOCK_REQUIRES(mutex) { return Ticket{next_ticket++}; }
    void decide(const Event& event, Ticket ticket, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex) {
        decide(event, ticket, clock.now(), after);
    }
    // `now` must have been read with the mutex held.
    void decide(const Event& event, Ticket ticket, Instant now, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
    // `what` is an Event, or a Request, which would be slow to move into an Event.
    template <typename What>
    void decide_on(const What& what, Ticket ticket, Instant now, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
    void sync_reservation() ROCKLOCK_EXCLUDES(mutex);
    void distribute(Ticket own, const CommitDependency& dependency, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
    void complete(Pending to, Result<Answer> answer, const CommitDependency& dependency,
                  DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void finish(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    void check_time(BootTime now, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    // Returns the time at which queries are answered.
    Instant view_time() const ROCKLOCK_REQUIRES(mutex) { return stalls.view_time(clock.now()); }
    std::optional<BootTime> next_wake() const ROCKLOCK_REQUIRES(mutex) {
        return stalls.next_wake(table.next_wake());
    }
    void resume() ROCKLOCK_EXCLUDES(mutex);

    Result<Answer> call(const Request& request, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    template <typename What>
    std::optional<Result<Answer>> call_on(const What& what, const std::stop_token& stop,
                                          DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    Result<Answer> finish_own(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    Result<Answer> await(Caller& caller, Ticket ticket, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    Result<void> durable(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    Result<void> write_later(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    void fail(const Error& error) ROCKLOCK_EXCLUDES(mutex);
    void answer_all(const Error& error, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    // Whether the manager's thread or flush() delivers the response.
    enum class DeliveryBy : std::uint8_t { by_thread, by_flush };
    Ticket submit(Request&& request, LockService::Completion done, DeliveryBy delivery_by)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> flush() ROCKLOCK_EXCLUDES(mutex);
    void commit_here(const CommitDependency& last, const CommitDependency& synced)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> write_deferred() ROCKLOCK_EXCLUDES(mutex);
    // The recipient of the response to a new request: a completion, or `direct` if it is not null.
    struct Recipient {
        DeliveryBy delivery_by = DeliveryBy::by_thread;
        LockService::Completion done;
        DirectRequest* direct = nullptr;

        LockService::Completion completion(Ticket ticket) {
            return direct != nullptr ? direct->waits(ticket) : std::move(done);
        }
    };
    void decide_and_register(const Event& event, Ticket ticket, Instant now, Recipient to,
                             DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    bool decide_now(const Event& event, DirectRequest& request) ROCKLOCK_EXCLUDES(mutex);
    void run_deferred(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    void submit_now(const Event& event, Ticket ticket, LockService::Completion done,
                    DeliveryBy delivery_by = DeliveryBy::by_thread) ROCKLOCK_EXCLUDES(mutex);
    void cancel(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    void disconnect(Disconnect disconnected) ROCKLOCK_EXCLUDES(mutex);
    // Executes a CancelWait or a Disconnect.
    void end_now(const Event& event) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> decide_due() ROCKLOCK_EXCLUDES(mutex);
    Tick next_tick(BootTime now, bool search) ROCKLOCK_REQUIRES(mutex);
    void trim() ROCKLOCK_EXCLUDES(trimming, mutex);
    Result<std::uint64_t> trim_audit(std::uint64_t through) ROCKLOCK_EXCLUDES(trimming, mutex);
    // Sets the time at which the thread wakes for trimming; max() if there are no records to trim.
    void plan_trim(BootTime at) ROCKLOCK_REQUIRES(mutex);
    void deliver_done() ROCKLOCK_EXCLUDES(mutex);
    struct DeliveryFacts {
        // The failure of the storage, if any.
        std::optional<Error> failure;
        // The time of the delivery.
        BootTime boot;
        std::chrono::steady_clock::time_point now;
    };
    void deliver(Delivery& delivery, const DeliveryFacts& facts) ROCKLOCK_EXCLUDES(mutex);
    void notify(const manager::Notifications& notifications) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> work() ROCKLOCK_EXCLUDES(mutex);
    bool notify_flusher_if_any() ROCKLOCK_EXCLUDES(mutex);
    // Waits until the commit of the responses should begin. Returns whether it has recorded the
    // beginning of a commit.
    bool delay_commit() ROCKLOCK_EXCLUDES(mutex);
    bool defer_is_over() ROCKLOCK_REQUIRES(mutex);
    Result<void> await_dependency(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    Result<void> await_events() ROCKLOCK_EXCLUDES(mutex);
    Result<NoFence> find_ended(const FenceRequest& request) const;
    template <typename Found, typename Search>
    Result<Found> complete(Search search) ROCKLOCK_EXCLUDES(mutex);

    void submit_watch(Ticket ticket, WatchRequest request, LockService::WatchCompletion done)
        ROCKLOCK_EXCLUDES(mutex);
    Result<EventPage> watch(const WatchRequest& request, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    bool cancel_watch(Ticket ticket) { return cancel_watches({&ticket, 1}); }
    // Returns whether at least one of the tickets belongs to a watch.
    bool cancel_watches(std::span<const Ticket> tickets) ROCKLOCK_EXCLUDES(mutex);
    // Completes the watches for which events were published, and the watches that have timed out or
    // were cancelled. If no more events will follow, completes all watches.
    void deliver_events() ROCKLOCK_EXCLUDES(mutex);
    // Returns the reason why no more events will follow, or nullopt if the manager is running
    // normally.
    std::optional<Error> end_of_events() ROCKLOCK_EXCLUDES(mutex);
    void note_answered(const DeferredActions& after, const Result<Answer>& answer);
};

}  // namespace rocklock
