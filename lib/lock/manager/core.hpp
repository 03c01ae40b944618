// The inside of the lock manager. One struct, whose methods lie in files by what they do:
//
//     lock_manager.cpp     opening, closing, looking
//     decide.cpp           one decision: the table, the commit, who is told; blocking calls
//     deliver.cpp          asynchronous calls, and what happens by time
//     fence_check.cpp      what lets writes of data in, and keeps plain reads out
//     queries.cpp          looking at single things, and at events
//     watch.cpp            waiting for events
//
// Its parts: CommitScheduler (which commits are the last, and which thread syncs them),
// DeliveryQueue (answers that wait for their commits), EventStream (events and their watches) and
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
#include "lock/manager/wake_thread.hpp"
#include "lock/records/history.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

namespace manager {

// Between two searches for waiters that were forgotten, and between two rounds of trimming.
inline constexpr std::chrono::seconds search_every{5};
inline constexpr std::chrono::seconds trim_every{1};
// So many who wait for the time are served in one decision; and so many of those come before one
// that cleans up, while there are more.
inline constexpr std::size_t served_at_once = 128;
inline constexpr unsigned serves_before_a_sweep = 16;
// Between two steps of that search.
inline constexpr std::chrono::milliseconds search_step_every{5};
// Between two steps of a question others take their turn: whoever unlocks a mutex and locks it
// again at once mostly keeps it.
inline constexpr std::chrono::microseconds step_pause{100};
// A thread that waits for its answer.
struct Caller {
    Parker parker;
    std::optional<Result<Answer>> answer;
    CommitDependency dependency;
};

// Who gets the answer of a request that waits.
struct Pending {
    Caller* caller = nullptr;
    LockService::Completion done;
};

// What was measured outside of the table, by many threads at once.
class Timings {
public:
    void add(std::chrono::nanoseconds duration) {
        const auto& bounds = histogram_bounds::calls;
        std::size_t bucket = 0;
        while (bucket < bounds.size() && duration > bounds[bucket]) ++bucket;
        counts_[bucket].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(duration.count(), std::memory_order_relaxed);
    }
    Histogram take_stock() const {
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

// ReadMark as one word, for readers without the mutex.
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

// When the manager's thread has something to do.
struct Schedule {
    // When the thread has set itself to wake; it is called if something is due before.
    BootTime wakes_at{BootTime::max()};
    BootTime next_search{};
    BootTime next_trim{};
    // When it writes deferred commits that no other thread has waited for.
    std::optional<BootTime> defer_until;
    // How many ticks since the last one that cleaned up.
    unsigned served_in_a_row = 0;
    // A decision of the thread's own: no other thread makes it durable.
    bool decided_by_time = false;
    // flush() has delivered what needs no commit, and the commit comes next.
    bool delivered_first = false;
};

struct Callbacks {
    std::function<void(const LostNotice&)> notify_lost;
    std::function<void(const WantedNotice&)> notify_wanted;
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
    MadeHere made_here;
    mutable Mutex mutex;
    manager::Callbacks callbacks ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    manager::EventStream events;
    manager::Timings acquires;
    // Set after each decision, before any answer of it is delivered.
    manager::AtomicReadMark marked;
    // Kept for its memory.
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
    // Held while the history is read; taken before `mutex`.
    Mutex trimming ROCKLOCK_ACQUIRED_BEFORE(mutex);
    HistoryTrimmer trimmer ROCKLOCK_GUARDED_BY(trimming);
    // Deferred commits may be in the queue that no thread has waited for. The thread has been
    // called then, and writes them at `schedule.defer_until`.
    std::atomic<bool> deferring{false};
    WakeThread thread;

    // What a decision leaves to do when the mutex is released.
    struct DeferredActions {
        std::optional<Result<Answer>> own;
        std::optional<HistoryLookup> history;
        CommitDependency dependency;
        std::vector<Parker*> wake;
        bool call_thread = false;
        // Something is to be told.
        bool deliver = false;
        // To be told that a stall is over.
        std::function<void()> notify_stall;
        // An answer was told of what is not written yet, and nobody who flushes will write it.
        bool leaves = false;
        // The thread may have ended already.
        bool alone = false;
        // Of an acquire, with `timings`: when it was decided.
        std::optional<BootTime> acquired_at;
        // Of a departure: refusals are told by the caller, since they are very many at once.
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
    // What a child of the process that opened the store is told, before it touches a mutex.
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
    // The moment by which queries are answered.
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
    Result<void> leave(const CommitDependency& dependency) ROCKLOCK_EXCLUDES(mutex);
    void fail(const Error& error) ROCKLOCK_EXCLUDES(mutex);
    void answer_all(const Error& error, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    // Who tells what is decided.
    enum class DeliveryBy : std::uint8_t { by_thread, by_flush };
    Ticket submit(Request request, LockService::Completion done, DeliveryBy delivery_by)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> flush() ROCKLOCK_EXCLUDES(mutex);
    void commit_here(const CommitDependency& last, const CommitDependency& synced)
        ROCKLOCK_EXCLUDES(mutex);
    std::optional<std::chrono::milliseconds> write_deferred() ROCKLOCK_EXCLUDES(mutex);
    void take_up(const Event& event, Ticket ticket, LockService::Completion done,
                 DeliveryBy delivery_by, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void see_to(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    void submit_now(const Event& event, Ticket ticket, LockService::Completion done,
                    DeliveryBy delivery_by = DeliveryBy::by_thread) ROCKLOCK_EXCLUDES(mutex);
    void cancel(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    void disconnect(Disconnect disconnected) ROCKLOCK_EXCLUDES(mutex);
    // What is withdrawn rather than asked.
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
    // Whether there was one of them.
    bool cancel_watches(std::span<const Ticket> tickets) ROCKLOCK_EXCLUDES(mutex);
    // Answers the watches whose events are published, whose wait timeout is over, or that get no
    // more events.
    void deliver_events() ROCKLOCK_EXCLUDES(mutex);
    // Why there are no more events; none while all is well.
    std::optional<Error> end_of_events() ROCKLOCK_EXCLUDES(mutex);
    void note_answered(const DeferredActions& after, const Result<Answer>& answer);
};

}  // namespace rocklock
