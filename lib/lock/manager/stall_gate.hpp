// Defers requests while a server reads its sockets after a stall.
//
//     running ──check(): the time was not checked for too long──► stalled
//        ▲                                                          │ defer(): all but renewals
//        └────────────── take_deferred(): none is left ◄────────────┘
//
// During a stall, renewals are judged as of the last check before it, since they may have been sent
// in time. All other requests wait until the server has read the input of its clients.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// A request that arrived during a stall. A CancelWait or a Disconnect has no `done`.
struct DeferredRequest {
    Event event;
    Ticket ticket{};
    LockService::Completion done;
};

// Threads: one at a time.
class StallGate {
public:
    // Starts watching the time. `unread_for` may be empty; see ServerService::on_stall().
    void watch(std::function<void()> notify, std::function<std::chrono::nanoseconds()> unread_for,
               BootTime now);

    bool is_watching() const { return notify_ != nullptr; }

    // Checks the time if watch() was called. If it finds a stall, returns the function that the
    // caller must call without holding a mutex; otherwise returns null.
    std::function<void()> check(BootTime now, bool closing);
    // Called after each decision. If there are sessions, the time is checked regularly from now on.
    void decided(BootTime now, bool has_sessions);

    bool stalled() const { return stalled_since_.has_value(); }
    // Returns the time at which queries are answered. During a stall, this is the last check before
    // it.
    Instant view_time(Instant now) const;
    // Returns the time of the next check, or `due` if that is earlier and there is no stall.
    std::optional<BootTime> next_wake(std::optional<BootTime> due) const;

    // Defers a request until the stall is over. Returns false if it must be decided now: there is
    // no stall, or it is a renewal, in which case its `as_of` is set.
    bool defer(Event& event, Ticket ticket, LockService::Completion& done);
    // Defers a CancelWait or a Disconnect.
    void defer(Event event);
    // Returns the oldest deferred request. If there is none, ends the stall and returns nullopt.
    std::optional<DeferredRequest> take_deferred(BootTime now);
    // Ends the stall, and returns all deferred requests.
    std::deque<DeferredRequest> close();

private:
    BootTime last_read(BootTime now);

    std::function<void()> notify_;
    // Returns for how long a thread of the server has not read its sockets. May be null.
    std::function<std::chrono::nanoseconds()> unread_for_;
    BootTime next_unread_check_{};
    // Whether the time is checked regularly.
    bool beating_ = false;
    BootTime last_check_{};
    // The time of the last check before the stall. Set until the stall ends.
    std::optional<BootTime> stalled_since_;
    std::deque<DeferredRequest> deferred_;
};

}  // namespace rocklock::manager
