// `rocklock run`: acquires a lock, runs a command, and releases the lock.
//
//     waiting ──granted──► command starts ──► running ──ended──► releasing ──► its exit status
//        │                                      │ lease not renewed in time, or lock lost
//        ├─ refused ──► 75                      └──► stopping: TERM, after 5 s KILL ──► 76
//        └─ signal ──► 128 + n
//
// While the command runs, the lock is renewed as held_lock.hpp describes. If this process is killed
// during that time, its supervisor continues (see supervisor.hpp and succession.hpp).
#pragma once

#include <optional>

#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/run/command.hpp"
#include "daemon/cli/run/run_plan.hpp"

namespace rocklock {

// Blocks the signals that are forwarded to the command. Call it before other threads are started.
void block_signals_to_pass_on();

// Acquires the lock, runs the command and releases the lock. Returns the exit status of the
// program. Call it on the main thread. If this process opens a store itself, which starts threads,
// `forked` is the command, whose supervisor was forked before that. Otherwise, it is nullopt.
int run_under_lock(LockConnection& manager, const RunPlan& plan, std::optional<Command> forked);

}  // namespace rocklock
