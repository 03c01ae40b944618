// `rocklock run`: acquires a lock, runs a command, and releases the lock.
//
//     waiting ──granted──► command starts ──► running ──ended──► releasing ──► its exit status
//        │                                      │ lease not renewed in time, or lock lost
//        ├─ refused ──► 75                      └──► stopping: TERM, after 5 s KILL ──► 76
//        └─ signal ──► 128 + n
//
// While the command runs, the session is renewed after each third of its lease. The local deadline
// is computed from the time before a renewal was sent, and the command is stopped one margin before
// the deadline. Therefore the command does not run under a lock that another session may hold, even
// if the daemon has stopped.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/lock_connection.hpp"

namespace rocklock {

enum class OnLost { term, kill, ignore };

struct RunPlan {
    std::vector<LockRequest> locks;
    std::vector<std::string> command;
    std::string principal;
    std::string note;
    // None: the lease of the class of the resources applies.
    std::optional<std::chrono::milliseconds> lease;
    std::chrono::milliseconds patience{};
    OnLost on_lost = OnLost::term;
    // The exit status if the lock was not acquired.
    int busy_status = exit_status::busy;
    // The descriptor to which events are written as lines of JSON; -1: none.
    int status_fd = -1;
    // If true, the lock is held until all processes of the command's process group have ended.
    bool wait_group = false;
    bool quiet = false;
};

// Blocks the signals that are forwarded to the command. Call it before other threads are started.
void block_signals_to_pass_on();

// Acquires the lock, runs the command and releases the lock. Returns the exit status of the
// program. Call it on the main thread.
int run_under_lock(LockConnection& manager, const RunPlan& plan);

}  // namespace rocklock
