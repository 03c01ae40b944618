// Defers requests after a stall of the server, until the server has read its sockets.
//
//     running ──check(): the time was not checked for too long──► stalled
//        ▲                                                          │ defer(): all but renewals
//        └────────────── take_deferred(): none is left ◄────────────┘
//
// While the gate is in the state "stalled", renewals are decided as if they had arrived at the time
// of the last check before the stall, because they may have been sent in time. All other requests
// wait until the server has read the input of its clients.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// A request that arrived in the state "stalled". A CancelWait or a Disconnect has no `done`.
struct DeferredRequest {
    Event event;
    Ticket ticket{};
    LockService::Completion done;
};

// Threads: one at a time.
class StallGate {
public:
    // Starts the regular checks of the time. `unread_for` may be empty; see
    // ServerService::on_stall().
    void watch(std::function<void()> notify, std::function<std::chrono::nanoseconds()> unread_for,
               BootTime now);

    bool is_watching() const { return notify_ != nullptr; }

    // Checks the time if watch() was called. If this detects a stall, returns `notify`, which the
    // caller must call without holding a mutex; otherwise returns null.
    std::function<void()> check(BootTime now, bool closing);
    // Called after each decision. If there are sessions, the time is checked regularly from now on.
    void decided(BootTime now, bool has_sessions);

    bool stalled() const { return stalled_since_.has_value(); }
    // Returns the time for which queries are answered: `now` or, in the state "stalled", the time
    // of the last check before the stall.
    Instant view_time(Instant now) const;
    // Returns the time of the next check, or `due` if that is earlier and there is no stall.
    std::optional<BootTime> next_wake(std::optional<BootTime> due) const;

    // In the state "stalled", defers the request and returns true. A renewal is not deferred:
    // defer() sets its RenewSession::as_of and returns false. In the state "running", does nothing
    // and returns false. If defer() returns false, the caller must decide the request now.
    bool defer(Event& event, Ticket ticket, LockService::Completion& done);
    // Defers a CancelWait or a Disconnect.
    void defer(Event event);
    // Takes the oldest deferred request. If there is none, ends the state "stalled" and returns
    // nullopt.
    std::optional<DeferredRequest> take_deferred(BootTime now);
    // Ends the state "stalled", and returns all deferred requests.
    std::deque<DeferredRequest> close();

private:
    BootTime last_read(BootTime now);

    std::function<void()> notify_;
    // See ServerService::on_stall(). May be null.
    std::function<std::chrono::nanoseconds()> unread_for_;
    BootTime next_unread_check_{};
    // Whether the time is checked regularly.
    bool beating_ = false;
    BootTime last_check_{};
    // In the state "stalled": the time of the last check before the stall. Otherwise nullopt.
    std::optional<BootTime> stalled_since_;
    std::deque<DeferredRequest> deferred_;
};

}  // namespace rocklock::manager
