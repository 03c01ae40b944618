// Keeps requests while a server reads its sockets after a stall.
//
//     running ──check(): the time was not checked for too long──► stalled
//        ▲                                                          │ defer(): all but renewals
//        └────────────── take_deferred(): nothing is left ◄─────────┘
//
// While it is stalled, renewals are judged as of the last check before the stall, since they may
// have been sent in time; everything else waits until the server has read what its clients sent.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// A request that came during a stall; one without `done` is a CancelWait or a Disconnect.
struct DeferredRequest {
    Event event;
    Ticket ticket{};
    LockService::Completion done;
};

// Threads: one at a time.
class StallGate {
public:
    // Watches the time from now on. `unread_for` may be empty; see ServerService::on_stall().
    void watch(std::function<void()> notify, std::function<std::chrono::nanoseconds()> unread_for,
               BootTime now);

    bool is_watching() const { return notify_ != nullptr; }

    // Checks the time, if it is watching. Returns what must be called, without a mutex, if it finds
    // a stall.
    std::function<void()> check(BootTime now, bool closing);
    // Something was decided: from now on the time is checked regularly if there are sessions.
    void decided(BootTime now, bool has_sessions);

    bool stalled() const { return stalled_since_.has_value(); }
    // Returns the moment by which queries are answered: that of the last check during a stall.
    Instant view_time(Instant now) const;
    // Returns when the time must be checked, or `due` if that is sooner and there is no stall.
    std::optional<BootTime> next_wake(std::optional<BootTime> due) const;

    // Keeps a request for after the stall. Returns false for one that is decided now: there is no
    // stall, or it is a renewal, whose time it then sets.
    bool defer(Event& event, Ticket ticket, LockService::Completion& done);
    // Keeps what was withdrawn during a stall.
    void defer(Event event);
    // Returns what was deferred first. Empty: nothing is left, and the stall is over.
    std::optional<DeferredRequest> take_deferred(BootTime now);
    // Ends the stall, and returns what was deferred.
    std::deque<DeferredRequest> close();

private:
    BootTime last_read(BootTime now);

    std::function<void()> notify_;
    // For how long a thread of the server has not read its sockets.
    std::function<std::chrono::nanoseconds()> unread_for_;
    BootTime next_unread_check_{};
    // Whether the time is checked regularly.
    bool beating_ = false;
    BootTime last_check_{};
    // From the last check before a stall to its end.
    std::optional<BootTime> stalled_since_;
    std::deque<DeferredRequest> deferred_;
};

}  // namespace rocklock::manager
