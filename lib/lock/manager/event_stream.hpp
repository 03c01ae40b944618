// The events of the lock table, and the clients that watch them.
//
// Events are published when what they depend on is as durable as it must be. Any thread that reads
// them publishes first. Only while a client watches does a decision call the manager's thread,
// which makes durable what no other thread does.
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

// Threads:  thread-safe. Its mutex is taken after the manager's, or alone.
// Lifetime: borrows the storage.
class EventStream {
public:
    using Answers = std::vector<std::pair<LockService::WatchCompletion, Result<EventPage>>>;

    EventStream(const Storage& storage, std::size_t max_kept)
        : storage_(storage), is_on_(max_kept > 0), log_(max_kept) {}

    bool is_on() const { return is_on_; }
    // Begins with the events of a recovery. What lies below `first` was never known here.
    void start(std::uint64_t first, const std::vector<LockEvent>& events);
    // Adds the events of a decision. Returns whether a client watches.
    bool add(const std::vector<LockEvent>& events, const CommitDependency& dependency);

    // Returns the events that are there, or has the client wait for some: then `done` is called
    // once, and nothing is returned. `done` is left alone if something is returned.
    std::optional<Result<EventPage>> watch(Ticket ticket, WatchRequest request,
                                           LockService::WatchCompletion& done, BootTime now);
    bool is_watching(Ticket ticket) const;
    // Marks watches as cancelled, for take_answers(). Returns whether there was one of them.
    bool cancel(std::span<const Ticket> tickets);
    // Takes the watches that are answered now, with their answers: there are events, the wait
    // timeout is over, the watch was cancelled, or `end` says why there are no more events.
    Answers take_answers(const std::optional<Error>& end, BootTime now);

    // Whether a client waits for events that are not published yet.
    bool is_awaited();
    // Returns when the first wait timeout of a watch ends.
    std::optional<BootTime> first_timeout() const;
    // No client waits any more.
    void close();

    // Errors: invalid_argument if no events are kept
    Result<std::vector<std::optional<LockEvent>>> find(const std::vector<std::uint64_t>& sequences);
    // Goes on with a search for a millisecond or so. None: it is not complete. Errors: as find()
    std::optional<Result<InRange<LockEvent>>> search(EventSearch& search);
    // How many events are kept, and how many were dropped.
    std::pair<std::uint64_t, std::uint64_t> counts() const;

private:
    // A client that waits for an event.
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
