// The inside of the lock manager. One struct, whose methods lie in files by what they do:
//
//     lock_manager.cpp     opening, closing, looking
//     manager_decide.cpp   one decision: the table, the commit, who is told; blocking calls
//     manager_deliver.cpp  asynchronous calls, and what happens by time
//     manager_stall.cpp    what waits while a server reads its sockets after a stall
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "base/parker.hpp"
#include "lock/history.hpp"
#include "lock/lock_manager.hpp"
#include "lock/table_core.hpp"
#include "lock/wake_thread.hpp"

namespace rocklock {

namespace manager {

// Between two searches for waiters that were forgotten, and between two rounds of trimming.
inline constexpr std::chrono::seconds search_every{5};
inline constexpr std::chrono::seconds trim_every{1};
// So long a deferred commit may wait for another one to be written with.
inline constexpr std::chrono::milliseconds linger{1};
// How often a server's time is minded while there are sessions, and what is a stall.
inline constexpr std::chrono::milliseconds beat{100};
inline constexpr std::chrono::milliseconds stall{250};

// The commits that something rests on.
struct Standing {
    CommitNumber number = 0;
    Durability durability = Durability::deferred;
    // And this one must be written: a renewal, for example, whose deadline is shown.
    CommitNumber kept = 0;
};

// A thread that waits for its answer.
struct Caller {
    Parker parker;
    std::optional<Result<Answer>> answer;
    Standing standing;
};

// Who gets the answer of a request that waits.
struct Pending {
    Caller* caller = nullptr;
    LockService::Completion done;
};

// Something to be told once its commit is as durable as it must be.
struct Delivery {
    Standing standing;
    LockService::Completion done;
    std::optional<Result<Answer>> answer;
    // The answer is to be looked up in the history, under this ticket.
    std::optional<AskHistory> history;
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
};

// A request that came during a stall; one without `done` is a CancelWait.
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
    using Standing = manager::Standing;

    Core(Storage& used_storage, Clock& used_clock, LockManagerOptions chosen, const SessionKey& key)
        : storage(used_storage),
          clock(used_clock),
          options(std::move(chosen)),
          session_key(key),
          table(options.table, key),
          trimmer({options.history_age, options.history_records}) {}

    Storage& storage;
    Clock& clock;
    const LockManagerOptions options;
    const SessionKey session_key;
    MadeHere made_here;
    mutable Mutex mutex;
    std::function<void(const LostNotice&)> tell_lost ROCKLOCK_GUARDED_BY(mutex);
    std::function<void(const WantedNotice&)> tell_wanted ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    // Held while the history is read; taken before `mutex`.
    Mutex trimming;
    HistoryTrimmer trimmer ROCKLOCK_GUARDED_BY(trimming);
    // Kept for its memory.
    Decision decision ROCKLOCK_GUARDED_BY(mutex);
    boost::unordered_flat_map<Ticket, Pending, table::TicketHash> pending
        ROCKLOCK_GUARDED_BY(mutex);
    std::uint64_t next_ticket ROCKLOCK_GUARDED_BY(mutex) = 1;
    // The last commit of all, and the last that is to be durable: what looking waits for.
    CommitNumber last_commit ROCKLOCK_GUARDED_BY(mutex) = 0;
    CommitNumber last_durable ROCKLOCK_GUARDED_BY(mutex) = 0;
    // The last that is to be written or more.
    CommitNumber last_kept ROCKLOCK_GUARDED_BY(mutex) = 0;
    // Refusals, told at once; the rest in order of their commits.
    std::deque<Delivery> ready ROCKLOCK_GUARDED_BY(mutex);
    std::deque<Delivery> committing ROCKLOCK_GUARDED_BY(mutex);
    bool delivering ROCKLOCK_GUARDED_BY(mutex) = false;
    bool closing ROCKLOCK_GUARDED_BY(mutex) = false;
    std::optional<Error> failed ROCKLOCK_GUARDED_BY(mutex);
    BootTime last_decided ROCKLOCK_GUARDED_BY(mutex){};
    // When the thread has set itself to wake; it is called when something is due before.
    BootTime wakes_at ROCKLOCK_GUARDED_BY(mutex){BootTime::max()};
    BootTime next_search ROCKLOCK_GUARDED_BY(mutex){};
    BootTime next_trim ROCKLOCK_GUARDED_BY(mutex){};
    // Deferred commits may be in the queue that nobody has waited for. The thread has been called
    // then, and writes them at `linger_until`, which it sets.
    std::atomic<bool> lingering{false};
    std::optional<BootTime> linger_until ROCKLOCK_GUARDED_BY(mutex);
    std::function<void()> tell_stall ROCKLOCK_GUARDED_BY(mutex);
    // Whether the time is minded: for a server, while there are sessions.
    bool beating ROCKLOCK_GUARDED_BY(mutex) = false;
    BootTime last_look ROCKLOCK_GUARDED_BY(mutex){};
    // From the last look before a stall to resume().
    std::optional<BootTime> stalled_since ROCKLOCK_GUARDED_BY(mutex);
    std::deque<Deferred> deferred ROCKLOCK_GUARDED_BY(mutex);
    // A decision of the thread's own: nobody else makes it durable.
    bool decided_by_time ROCKLOCK_GUARDED_BY(mutex) = false;
    WakeThread thread;

    // What a decision leaves to do when the mutex is released.
    struct Aftermath {
        std::optional<Result<Answer>> own;
        std::optional<AskHistory> history;
        Standing standing;
        std::vector<Parker*> wake;
        bool call_thread = false;
        // To be told that a stall is over.
        std::function<void()> tell_stall;
    };

    Result<void> recover();
    // What a child of the process that opened the store is told, before it touches a mutex.
    std::optional<Error> not_ours() const;
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex);
    Ticket take_ticket() ROCKLOCK_REQUIRES(mutex) { return Ticket{next_ticket++}; }
    void decide(const Event& event, Ticket ticket, Aftermath& after) ROCKLOCK_REQUIRES(mutex);
    Standing commit(bool synced) ROCKLOCK_REQUIRES(mutex);
    void distribute(Ticket own, const Standing& standing, Aftermath& after)
        ROCKLOCK_REQUIRES(mutex);
    void tell(Pending to, Result<Answer> answer, const Standing& standing, Aftermath& after)
        ROCKLOCK_REQUIRES(mutex);
    void finish(Aftermath& after) ROCKLOCK_EXCLUDES(mutex);
    // What is answered without a commit of its own rests on these.
    Standing standing_now() const ROCKLOCK_REQUIRES(mutex) {
        if (options.durability == Durability::durable) {
            return {last_durable, Durability::durable, last_kept};
        }
        return {last_kept, Durability::written};
    }

    void look_at_time(Aftermath& after) ROCKLOCK_REQUIRES(mutex);
    // The moment to judge by what is only looked at.
    Instant looking_now() const ROCKLOCK_REQUIRES(mutex);
    std::optional<BootTime> next_wake() const ROCKLOCK_REQUIRES(mutex);
    bool defer(Event& event, Ticket ticket, LockService::Completion& done) ROCKLOCK_REQUIRES(mutex);
    void resume() ROCKLOCK_EXCLUDES(mutex);

    Result<Answer> call(Event event, const std::stop_token& stop) ROCKLOCK_EXCLUDES(mutex);
    std::variant<Result<Answer>, Retake> settle_own(Aftermath& after) ROCKLOCK_EXCLUDES(mutex);
    Result<Answer> await(Caller& caller, Ticket ticket, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    Result<void> durable(const Standing& standing) ROCKLOCK_EXCLUDES(mutex);
    Result<void> leave(const Standing& standing) ROCKLOCK_EXCLUDES(mutex);
    void fail(const Error& error) ROCKLOCK_EXCLUDES(mutex);
    void answer_all(const Error& error, Aftermath& after) ROCKLOCK_REQUIRES(mutex);
    void submit(Event event, Ticket ticket, LockService::Completion done) ROCKLOCK_EXCLUDES(mutex);
    void submit_now(const Event& event, Ticket ticket, LockService::Completion done)
        ROCKLOCK_EXCLUDES(mutex);
    void cancel(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    void cancel_now(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> decide_due() ROCKLOCK_EXCLUDES(mutex);
    void trim() ROCKLOCK_EXCLUDES(trimming, mutex);
    void deliver_done() ROCKLOCK_EXCLUDES(mutex);
    bool take_delivery(Delivery& delivery) ROCKLOCK_REQUIRES(mutex);
    void deliver(Delivery& delivery) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> work() ROCKLOCK_EXCLUDES(mutex);
    bool linger_is_over() ROCKLOCK_REQUIRES(mutex);
    Result<void> await_looking(const Standing& standing) ROCKLOCK_EXCLUDES(mutex);
};

}  // namespace rocklock
