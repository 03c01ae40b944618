// `rocklock run`: lock, run a command, release.
//
//     waiting ──granted──► command starts ──► running ──ended──► releasing ──► its status
//        │                                      │ lease not renewed in time, or lost
//        ├─ refused ──► 75                      └──► stopping: TERM, after 5 s KILL ──► 76
//        └─ signal ──► 128 + n
//
// While running, the session is renewed every third of its lease. The lease counts from the moment
// before a renewal was sent, and the command is stopped one margin before that ends: whatever
// became of the daemon, nothing runs under a lock that somebody else may have.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/manager.hpp"

namespace rocklock {

enum class OnLost { term, kill, ignore };

struct RunPlan {
    std::vector<LockRequest> locks;
    std::vector<std::string> command;
    std::string principal;
    std::string note;
    // None: what the class of the resources says.
    std::optional<std::chrono::milliseconds> lease;
    std::chrono::milliseconds patience{};
    OnLost on_lost = OnLost::term;
    // The exit status when the lock is not to be had.
    int busy_status = exit_status::busy;
    // Where to tell what happened, as JSON; -1: nowhere.
    int status_fd = -1;
    // Keep the lock until the whole process group has ended.
    bool wait_group = false;
    bool quiet = false;
};

// Blocks the signals that it passes on; call this before any other thread is started.
void block_signals_to_pass_on();

// Returns the exit status. Call it on the main thread.
int run_under_lock(Manager& manager, const RunPlan& plan);

}  // namespace rocklock
