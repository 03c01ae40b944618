// The implementation of the lock manager: one struct with its methods grouped into files by topic.
//
//     lock_manager.cpp     opens and closes the manager; queries
//     decide.cpp           makes one decision, enqueues its commit, distributes its responses;
//                          blocking calls
//     deliver.cpp          asynchronous calls, the delivery of responses, work that is due by time
//     stall.cpp            detects stalls, and continues after them
//     fence_check.cpp      checks writes of bound items and plain reads
//     queries.cpp          looks up single objects and events
//     watch.cpp            waits for events
//
// Its parts are classes: CommitScheduler (the last commits, and which thread syncs them),
// DeliveryQueue (responses that wait for their commits), EventStream (events and their watches) and
// StallGate (requests that wait while a server reads its sockets after a stall).
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
// interval between two rounds of trimming the history.
inline constexpr std::chrono::seconds search_every{5};
inline constexpr std::chrono::seconds trim_every{1};
// If waits are due by time, one decision serves at most `served_at_once` of them. After at most
// `serves_before_a_sweep` such decisions, the next decision also cleans up.
inline constexpr std::size_t served_at_once = 128;
inline constexpr unsigned serves_before_a_sweep = 16;
// The interval between two steps of a search for waiters.
inline constexpr std::chrono::milliseconds search_step_every{5};
// The pause between two steps of a query over the whole table. Without it, the thread that has
// unlocked the mutex would mostly lock it again before a waiting thread can.
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

// Durations that many threads record without the mutex.
class Timings {
public:
    void add(std::chrono::nanoseconds duration) {
        const auto& bounds = histogram_bounds::calls;
        std::size_t bucket = 0;
        while (bucket < bounds.size() && duration > bounds[bucket]) ++bucket;
        counts_[bucket].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(duration.count(), std::memory_order_relaxed);
    }
    Histogram snapshot() const {
        std::array<std::uint64_t, histogram_bounds::calls.size() + 1> counts{};
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load();
        Histogram result(histogram_bounds::calls);
        result.set(counts, std::chrono::nanoseconds(sum_.load()));
        return result;
    }

private:
    std::array<std::atomic<std::uint64_t>, histogram_bounds::calls.size() + 1> counts_{};
    std::atomic<std::int64_t> sum_{0};
};

// A ReadMark in one word, so that readers need no mutex.
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

// The times at which the manager's thread has work to do.
struct Schedule {
    // The time at which the thread will wake by itself. If something is due earlier, the thread is
    // called.
    BootTime wakes_at{BootTime::max()};
    BootTime next_search{};
    BootTime next_trim{};
    // The time at which the thread writes deferred commits for which no other thread has waited.
    std::optional<BootTime> defer_until;
    // The number of ticks since the last one that cleaned up.
    unsigned served_in_a_row = 0;
    // The thread has made a decision itself. No other thread makes that decision durable.
    bool decided_by_time = false;
    // The last flush() has delivered the responses that need no commit; the next one commits.
    bool delivered_first = false;
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
          trimmer({options.history_age, options.history_records}) {}

    Storage& storage;
    Clock& clock;
    const LockManagerOptions options;
    const SessionKey session_key;
    ForkCheck fork_check;
    mutable Mutex mutex;
    manager::Callbacks callbacks ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    manager::EventStream events;
    manager::Timings acquires;
    // Set after each decision, before any of its responses is delivered.
    manager::AtomicReadMark marked;
    // This is a member only so that its memory is reused.
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
    // True if the queue may contain deferred commits for which no thread has waited. In that case,
    // the manager's thread has been called, and writes them at `schedule.defer_until`.
    std::atomic<bool> deferring{false};
    WakeThread thread;

    // The work that remains to be done after a decision, when the mutex has been unlocked.
    struct DeferredActions {
        std::optional<Result<Answer>> own;
        std::optional<HistoryLookup> history;
        CommitDependency dependency;
        std::vector<Parker*> wake;
        bool call_thread = false;
        // There are deliveries to be made.
        bool deliver = false;
        // Called to notify the server of a stall.
        std::function<void()> notify_stall;
        // The response is delivered before its commit is written, and no flush() will write that
        // commit.
        bool leaves = false;
        // The manager is closing, so its thread may have ended.
        bool alone = false;
        // The time of the decision of an acquire, if `timings` is on.
        std::optional<BootTime> acquired_at;
        // For a Disconnect: the caller delivers the refusals itself, since there may be very many.
        bool delivers_refusals = false;
        std::vector<std::pair<LockService::Completion, Result<Answer>>> refused;
    };

    static LockTableOptions table_options(const LockManagerOptions& options) {
        LockTableOptions result = options.table;
        result.events = options.events_kept > 0;
        result.slow_wait = options.slow_wait;
        return result;
    }

    Result<void> recover();
    // Returns an error in a child of the process that opened the store. Checked before any mutex is
    // locked.
    std::optional<Error> not_ours() const;
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex);
    Ticket take_ticket() ROCKLOCK_REQUIRES(mutex) { return Ticket{next_ticket++}; }
    void decide(const Event& event, Ticket ticket, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void sync_reservation() ROCKLOCK_EXCLUDES(mutex);
    void distribute(Ticket own, const CommitDependency& dependency, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
    void complete(Pending to, Result<Answer> answer, const CommitDependency& dependency,
                  DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void finish(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    void check_time(DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    // Returns the time at which queries are answered.
    Instant view_time() const ROCKLOCK_REQUIRES(mutex) { return stalls.view_time(clock.now()); }
    std::optional<BootTime> next_wake() const ROCKLOCK_REQUIRES(mutex) {
        return stalls.next_wake(table.next_wake());
    }
    void resume() ROCKLOCK_EXCLUDES(mutex);

    Result<Answer> call(Event event, const std::stop_token& stop) ROCKLOCK_EXCLUDES(mutex);
    std::variant<Result<Answer>, ReacquireLocks> finish_own(DeferredActions& after)
        ROCKLOCK_EXCLUDES(mutex);
    Result<Answer> await(Caller& caller, Ticket ticket, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    Result<void> durable(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    Result<void> write_later(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    void fail(const Error& error) ROCKLOCK_EXCLUDES(mutex);
    void answer_all(const Error& error, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    // Whether the manager's thread or flush() delivers the response.
    enum class DeliveryBy : std::uint8_t { by_thread, by_flush };
    Ticket submit(Request request, LockService::Completion done, DeliveryBy delivery_by)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> flush() ROCKLOCK_EXCLUDES(mutex);
    void commit_here(const CommitDependency& last, const CommitDependency& synced)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> write_deferred() ROCKLOCK_EXCLUDES(mutex);
    void decide_and_register(const Event& event, Ticket ticket, LockService::Completion done,
                             DeliveryBy delivery_by, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
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
    void deliver_done() ROCKLOCK_EXCLUDES(mutex);
    void deliver(Delivery& delivery) ROCKLOCK_EXCLUDES(mutex);
    void notify(const manager::Notifications& notifications) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> work() ROCKLOCK_EXCLUDES(mutex);
    bool notify_flusher_if_any() ROCKLOCK_EXCLUDES(mutex);
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
    // Completes the watches with published events, those that have timed out or were cancelled,
    // and, if no more events will follow, all of them.
    void deliver_events() ROCKLOCK_EXCLUDES(mutex);
    // Returns the reason why no more events will follow, or nullopt if the manager is running
    // normally.
    std::optional<Error> end_of_events() ROCKLOCK_EXCLUDES(mutex);
    void note_answered(const DeferredActions& after, const Result<Answer>& answer);
};

}  // namespace rocklock
