// The work of the supervisor of `rocklock run` after the death of `run`.
//
//     run dies ──► hold: renewing until no descendant remains ──► released ──► supervisor exits
//             └──► kill: the same, and all descendants are killed
//
// The supervisor uses the session of `run`, which is also bound to the supervisor's process. If the
// lock is lost, the supervisor stops the command in the same way as `run`. If the supervisor dies,
// the kernel kills the command. The daemon releases the lock when the supervisor and the command
// have ended.
#pragma once

#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/run/run_plan.hpp"
#include "daemon/cli/run/supervisor.hpp"

namespace rocklock {

// Continues the run of a parent process that was killed. `manager` is the connection of the parent
// to a daemon: it is used only to open a new connection to the same daemon. `deadline` is the last
// deadline that the parent has sent.
void succeed(Descendants& descendants, const LockConnection& manager, const RunPlan& plan,
             const Grant& grant, std::optional<BootTime> deadline);

// As succeed(), for a parent process that had opened a store itself (--db). The lock has ended with
// the parent and cannot be renewed, so this kills all descendants.
void end_with_store(Descendants& descendants);

}  // namespace rocklock
