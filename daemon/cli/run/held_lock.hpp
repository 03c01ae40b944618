// The lock that `rocklock run` holds while it executes a command. HeldLock renews the lock, and
// stops the command before another session can get the lock.
//
// A renewal is due at most a third of the lease after the previous one. The deadline is computed
// from the time at which the last successful renewal was sent. The command is stopped one safety
// margin before the deadline. Therefore, the command never runs while another session can hold the
// lock, even if the daemon has stopped.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/run/call_worker.hpp"
#include "daemon/cli/run/run_plan.hpp"

namespace rocklock {

inline BootTime boot_now() { return system_clock().now().boot; }
// Converts a time of the boot clock to one of the steady clock.
std::chrono::steady_clock::time_point steady_at(BootTime moment);

// Threads:  one thread.
// Lifetime: borrows the parameters of the constructor. While this object exists, the worker must
//           make no other calls.
class HeldLock {
public:
    struct Callbacks {
        // Sends a signal to the command.
        std::function<void(int)> signal_command;
        // Reports a session that asks to take over the lock.
        std::function<void(const Wanted&)> wanted;
    };

    HeldLock(LockConnection& manager, CallWorker& worker, const RunPlan& plan, Grant grant,
             Callbacks callbacks);

    const Grant& grant() const { return grant_; }
    const SessionInfo& session() const { return session_; }
    // Until this time, no other session can hold the lock.
    BootTime deadline() const { return deadline_; }
    // The time at which the command is stopped: one safety margin before the deadline.
    BootTime stop_at() const;

    // Called by the supervisor when it takes over the lock of a dead `run` process. Uses the
    // deadline that the dead process computed last, and schedules a renewal for now.
    void resume(BootTime deadline);

    // Handles the reply to a renewal, starts the next renewal if it is due, and stops the command
    // if the lock is lost. Returns the time at which to call advance() again, or nullopt if the
    // next call is needed only when the worker has a reply.
    std::optional<BootTime> advance();

    // lost() returns true if this object has found that the lock has ended, or that it would end
    // within the safety margin. certainly_lost() returns true only if it is known that the lock has
    // ended: the daemon has reported it, or the deadline had passed when the loss was found.
    bool lost() const { return lost_; }
    bool certainly_lost() const { return certainly_lost_; }
    // Whether a SIGKILL to the command is scheduled.
    bool will_kill() const { return kill_at_.has_value(); }

    // Handles the reply to the release. If the reply shows that the lock had ended before the
    // release, and lost() is false, reports the loss to the user.
    void released(const Result<Reply>& reply);

private:
    // The name of the resource for messages: the first resource of the request or, with --any, the
    // resource that was granted.
    const std::string& resource() const;
    void renew_if_due(BootTime now);
    void on_renewed(const Result<Reply>& reply);
    void stop_if_due(BootTime now);
    void lose(const std::string& why, bool certain);
    std::string why_lost(const Error& error);
    std::string ended_before(const Result<Reply>& reply);

    LockConnection& manager_;
    CallWorker& worker_;
    const RunPlan& plan_;
    const Callbacks callbacks_;
    const Grant grant_;
    const SessionInfo session_;
    BootTime deadline_;
    BootTime renew_at_;
    BootTime renewal_sent_;
    bool lost_ = false;
    bool certainly_lost_ = false;
    std::optional<BootTime> kill_at_;
};

}  // namespace rocklock
