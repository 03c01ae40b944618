// The inside of the lock manager. One struct, whose methods lie in files by what they do:
//
//     lock_manager.cpp     opening, closing, looking
//     decide.cpp           one decision: the table, the commit, who is told; blocking calls
//     deliver.cpp          asynchronous calls, and what happens by time
//     fence_check.cpp      what lets writes of data in, and keeps plain reads out
//     queries.cpp          looking at single things, and at events
//     stall.cpp            what waits while a server reads its sockets after a stall
//     watch.cpp            events, and who waits for them
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
#include "lock/manager/commit_dependency.hpp"
#include "lock/manager/event_log.hpp"
#include "lock/manager/lock_manager.hpp"
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
// So long a deferred commit may wait for another one to be written with.
inline constexpr std::chrono::milliseconds max_defer{1};
// For so many answers whoever flushes syncs by itself.
inline constexpr std::size_t few = 2;
// A device whose syncs take longer than this, in a mean of the last eight or so, is left to the
// thread for a while, so that nobody who asks for something else waits for it.
inline constexpr std::chrono::milliseconds slow_sync{2};
inline constexpr std::chrono::milliseconds slow_for{200};
// How often a server's time is minded while there are sessions, and what is a stall.
inline constexpr std::chrono::milliseconds beat{100};
inline constexpr std::chrono::milliseconds stall{250};
// How often the server's threads are asked for how long they have not read their sockets.
inline constexpr std::chrono::milliseconds unread_check_every{20};

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

// What a decision tells others than its caller.
struct Notifications {
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<SlowWait> slow;
};

// Something to be told once its commit is as durable as it must be. It is moved about often.
struct Delivery {
    CommitDependency dependency;
    LockService::Completion done;
    std::optional<Result<Answer>> answer;
    // The answer is to be looked up in the history, under this ticket.
    std::optional<HistoryLookup> history;
    std::unique_ptr<Notifications> notifications;
    // Of an acquire that did not wait, with `timings`.
    std::optional<BootTime> acquired_at;
};

// Who waits for an event.
struct Watch {
    WatchRequest request;
    LockService::WatchCompletion done;
    BootTime patience_ends{BootTime::max()};
    bool cancelled = false;
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

// The commit that reserves numbers, and which.
struct Reservation {
    CommitNumber commit = 0;
    ReservedNumbers numbers;
};

// A request that came during a stall; one without `done` is a CancelWait or a Disconnect.
struct Deferred {
    Event event;
    Ticket ticket{};
    LockService::Completion done;
};

}  // namespace manager

struct LockManager::Core {
    using Caller = manager::Caller;
    using Deferred = manager::Deferred;
    using Delivery = manager::Delivery;
    using Pending = manager::Pending;
    using CommitDependency = manager::CommitDependency;

    Core(Storage& used_storage, Clock& used_clock, LockManagerOptions chosen, const SessionKey& key)
        : storage(used_storage),
          clock(used_clock),
          options(std::move(chosen)),
          session_key(key),
          table(table_options(options), key),
          log(options.events_kept),
          trimmer({options.history_age, options.history_records}) {}

    Storage& storage;
    Clock& clock;
    const LockManagerOptions options;
    const SessionKey session_key;
    MadeHere made_here;
    mutable Mutex mutex;
    std::function<void(const LostNotice&)> notify_lost ROCKLOCK_GUARDED_BY(mutex);
    std::function<void(const WantedNotice&)> notify_wanted ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    // What has happened, and who waits to hear of it. Taken after `mutex`, or by itself.
    Mutex watching ROCKLOCK_ACQUIRED_AFTER(mutex);
    EventLog log ROCKLOCK_GUARDED_BY(watching);
    std::map<Ticket, manager::Watch> watches ROCKLOCK_GUARDED_BY(watching);
    // Nobody is left to answer one who would wait.
    bool unwatched ROCKLOCK_GUARDED_BY(watching) = false;
    manager::Timings acquires;
    // Behind each decision, before anybody is told of it.
    manager::AtomicReadMark marked;
    // Held while the history is read; taken before `mutex`.
    Mutex trimming;
    HistoryTrimmer trimmer ROCKLOCK_GUARDED_BY(trimming);
    // Kept for its memory.
    Decision decision ROCKLOCK_GUARDED_BY(mutex);
    TicketMap<Pending, TicketShares{9, 11}> pending ROCKLOCK_GUARDED_BY(mutex);
    std::uint64_t next_ticket ROCKLOCK_GUARDED_BY(mutex) = 1;
    // The last commit of all, and the last that is to be durable: what looking waits for.
    CommitNumber last_commit ROCKLOCK_GUARDED_BY(mutex) = 0;
    CommitNumber last_durable ROCKLOCK_GUARDED_BY(mutex) = 0;
    // The last that is to be written or more.
    CommitNumber last_kept ROCKLOCK_GUARDED_BY(mutex) = 0;
    // The last reservation of numbers, until it is known to be durable.
    std::optional<manager::Reservation> reservation ROCKLOCK_GUARDED_BY(mutex);
    // Refusals, told at once; the rest in order of their commits.
    Fifo<Delivery> ready ROCKLOCK_GUARDED_BY(mutex);
    Fifo<Delivery> committing ROCKLOCK_GUARDED_BY(mutex);
    bool delivering ROCKLOCK_GUARDED_BY(mutex) = false;
    bool closing ROCKLOCK_GUARDED_BY(mutex) = false;
    std::optional<Error> failed ROCKLOCK_GUARDED_BY(mutex);
    BootTime last_decided ROCKLOCK_GUARDED_BY(mutex){};
    // When the thread has set itself to wake; it is called when something is due before.
    BootTime wakes_at ROCKLOCK_GUARDED_BY(mutex){BootTime::max()};
    BootTime next_search ROCKLOCK_GUARDED_BY(mutex){};
    BootTime next_trim ROCKLOCK_GUARDED_BY(mutex){};
    // How many ticks since the last one that cleaned up.
    unsigned served_in_a_row ROCKLOCK_GUARDED_BY(mutex) = 0;
    // Deferred commits may be in the queue that nobody has waited for. The thread has been called
    // then, and writes them at `defer_until`, which it sets.
    std::atomic<bool> deferring{false};
    std::optional<BootTime> defer_until ROCKLOCK_GUARDED_BY(mutex);
    // The same for those who flush: since when a deferred commit may lie there.
    std::optional<BootTime> left_since ROCKLOCK_GUARDED_BY(mutex);
    // How long a sync takes, and until when they are the thread's.
    std::chrono::nanoseconds sync_takes ROCKLOCK_GUARDED_BY(mutex){};
    BootTime slow_until ROCKLOCK_GUARDED_BY(mutex){};
    // What needs no commit was told, and the commit comes next.
    bool delivered_first ROCKLOCK_GUARDED_BY(mutex) = false;
    // How many were told together last.
    std::size_t last_group ROCKLOCK_GUARDED_BY(mutex) = 0;
    std::function<void()> notify_flusher ROCKLOCK_GUARDED_BY(mutex);
    std::function<void()> notify_stall ROCKLOCK_GUARDED_BY(mutex);
    // For how long a thread of the server has not read its sockets; asked for again from
    // `next_unread_check` on.
    std::function<std::chrono::nanoseconds()> unread_for ROCKLOCK_GUARDED_BY(mutex);
    BootTime next_unread_check ROCKLOCK_GUARDED_BY(mutex){};
    // Whether the time is minded: for a server, while there are sessions.
    bool beating ROCKLOCK_GUARDED_BY(mutex) = false;
    BootTime last_time_check ROCKLOCK_GUARDED_BY(mutex){};
    // From the last look before a stall to resume().
    std::optional<BootTime> stalled_since ROCKLOCK_GUARDED_BY(mutex);
    std::deque<Deferred> deferred ROCKLOCK_GUARDED_BY(mutex);
    // A decision of the thread's own: nobody else makes it durable.
    bool decided_by_time ROCKLOCK_GUARDED_BY(mutex) = false;
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
    CommitDependency commit(bool synced) ROCKLOCK_REQUIRES(mutex);
    void confirm_reservation() ROCKLOCK_REQUIRES(mutex);
    void sync_reservation() ROCKLOCK_EXCLUDES(mutex);
    void distribute(Ticket own, const CommitDependency& dependency, DeferredActions& after)
        ROCKLOCK_REQUIRES(mutex);
    void complete(Pending to, Result<Answer> answer, const CommitDependency& dependency,
                  DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void finish(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    // What is answered without a commit of its own rests on these.
    CommitDependency current_dependency() const ROCKLOCK_REQUIRES(mutex) {
        if (options.durability == Durability::durable) {
            return {last_durable, Durability::durable, last_kept};
        }
        return {last_kept, Durability::written};
    }

    void check_time(DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    BootTime last_read(BootTime now) ROCKLOCK_REQUIRES(mutex);
    // The moment to judge by what is only looked at.
    Instant view_time() const ROCKLOCK_REQUIRES(mutex);
    std::optional<BootTime> next_wake() const ROCKLOCK_REQUIRES(mutex);
    bool defer(Event& event, Ticket ticket, LockService::Completion& done) ROCKLOCK_REQUIRES(mutex);
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
    std::optional<std::chrono::milliseconds> write_what_is_left() ROCKLOCK_EXCLUDES(mutex);
    void take_up(const Event& event, Ticket ticket, LockService::Completion done,
                 DeliveryBy delivery_by, DeferredActions& after) ROCKLOCK_REQUIRES(mutex);
    void see_to(DeferredActions& after) ROCKLOCK_EXCLUDES(mutex);
    void submit_now(const Event& event, Ticket ticket, LockService::Completion done,
                    DeliveryBy delivery_by = DeliveryBy::by_thread) ROCKLOCK_EXCLUDES(mutex);
    void cancel(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    void disconnect(Disconnect disconnected) ROCKLOCK_EXCLUDES(mutex, watching);
    // What is withdrawn rather than asked.
    void end_now(const Event& event) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> decide_due() ROCKLOCK_EXCLUDES(mutex);
    Tick next_tick(BootTime now, bool search) ROCKLOCK_REQUIRES(mutex);
    void trim() ROCKLOCK_EXCLUDES(trimming, mutex);
    void deliver_done() ROCKLOCK_EXCLUDES(mutex);
    std::optional<Delivery> take_delivery(std::size_t& refusals) ROCKLOCK_REQUIRES(mutex);
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

    bool log_is_on() const { return options.events_kept > 0; }
    // Puts the decision's events into the log. Whether somebody waits for any.
    bool log_events(const CommitDependency& dependency) ROCKLOCK_REQUIRES(mutex)
        ROCKLOCK_EXCLUDES(watching);
    void submit_watch(Ticket ticket, WatchRequest request, LockService::WatchCompletion done)
        ROCKLOCK_EXCLUDES(mutex, watching);
    Result<EventPage> watch(const WatchRequest& request, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex, watching);
    bool cancel_watch(Ticket ticket) ROCKLOCK_EXCLUDES(watching) {
        return cancel_watches({&ticket, 1});
    }
    // Whether there was one of them.
    bool cancel_watches(std::span<const Ticket> tickets) ROCKLOCK_EXCLUDES(watching);
    // Answers those whose events may be told, whose patience is over, or who can't be told any
    // more.
    void deliver_events() ROCKLOCK_EXCLUDES(mutex, watching);
    // What the thread must know: whether somebody waits for events that are not told yet, and when
    // the first patience ends.
    bool events_awaited() ROCKLOCK_EXCLUDES(watching);
    std::optional<BootTime> first_impatience() ROCKLOCK_EXCLUDES(watching);
    // Why nobody is told anything any more; nothing while all is well.
    std::optional<Error> end_of_events() ROCKLOCK_EXCLUDES(mutex);
    void note_answered(const DeferredActions& after, const Result<Answer>& answer);
};

}  // namespace rocklock
