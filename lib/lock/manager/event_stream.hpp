// The events of the lock table, and the clients that watch them.
//
// An event can be read after it was published, and it can be published when its commit is as
// durable as required. No thread waits until events can be published: the functions that read
// events first publish those that can be published. If a client watches, a decision with events
// wakes the manager's thread, which makes the commits of the events durable unless another thread
// does.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "lock/manager/event_log.hpp"

namespace rocklock::manager {

// Threads:  thread-safe. Its mutex is locked after the mutex of the manager, or alone.
// Lifetime: borrows the storage.
class EventStream {
public:
    using Answers = std::vector<std::pair<LockService::WatchCompletion, Result<EventPage>>>;

    EventStream(const Storage& storage, std::size_t max_kept)
        : storage_(storage), is_on_(max_kept > 0), log_(max_kept) {}

    bool is_on() const { return is_on_; }
    // Starts the log with the events that the recovery has caused. `first` is the lowest possible
    // sequence of this run; a client that asks for earlier events gets EventPage::gap.
    void start(std::uint64_t first, const lock_model::EncodedEvents& events);
    // Adds the events of a decision to the log. They are published when `dependency` is done.
    // Returns whether a client watches.
    bool add(const lock_model::EncodedEvents& events, const CommitDependency& dependency);

    // Returns the events that match, if there are any or if the request does not wait. Otherwise,
    // moves `done` into a watch, which calls it once later, and returns nullopt.
    std::optional<Result<EventPage>> watch(Ticket ticket, WatchRequest request,
                                           LockService::WatchCompletion& done, BootTime now);
    bool is_watching(Ticket ticket) const;
    // Marks the watches with these tickets as cancelled, so that take_answers() takes them. Returns
    // whether there was at least one.
    bool cancel(std::span<const Ticket> tickets);
    // Takes the watches that are complete, with their answers. A watch is complete if there are
    // events, its wait timeout has passed, or it was cancelled. If `end` is set, all watches
    // complete with that error.
    Answers take_answers(const std::optional<Error>& end, BootTime now);

    // Returns whether a client waits for events that are not published yet.
    bool is_awaited();
    // Returns the earliest wait timeout of the watches, or nullopt if there is none.
    std::optional<BootTime> first_timeout() const;
    // After this, watch() never waits.
    void close();

    // Returns the events with these sequences. Errors: invalid_argument if no events are kept.
    Result<std::vector<std::optional<LockEvent>>> find(const std::vector<std::uint64_t>& sequences);
    // Continues a search for about a millisecond. Returns nullopt until it is complete. Errors: as
    // find().
    std::optional<Result<InRange<LockEvent>>> search(EventSearch& search);
    // Returns the number of kept events and the number of dropped ones.
    std::pair<std::uint64_t, std::uint64_t> counts() const;

private:
    struct Watch {
        WatchRequest request;
        LockService::WatchCompletion done;
        BootTime timeout_ends{BootTime::max()};
        bool cancelled = false;
    };

    const Storage& storage_;
    const bool is_on_;
    mutable Mutex mutex_;
    EventLog log_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<Ticket, Watch> watches_ ROCKLOCK_GUARDED_BY(mutex_);
    bool closed_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock::manager
