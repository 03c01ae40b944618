// The options of `rocklock run`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "daemon/cli/exit_status.hpp"

namespace rocklock {

enum class OnLost { term, kill, ignore };
// If `run` is killed: hold the lock until the command and its descendants have ended, or kill them.
enum class OnDeath { hold, kill };

struct RunPlan {
    std::vector<LockRequest> locks;
    std::vector<std::string> command;
    std::string principal;
    std::string note;
    // None: the lease of the class of the resources applies.
    std::optional<std::chrono::milliseconds> lease;
    std::chrono::milliseconds patience{};
    OnLost on_lost = OnLost::term;
    OnDeath on_death = OnDeath::hold;
    // The exit status if the lock was not acquired.
    int busy_status = exit_status::busy;
    // The descriptor to which events are written as lines of JSON; -1: none.
    int status_fd = -1;
    // If true, the lock is held until all processes of the command's process group have ended.
    bool wait_group = false;
    bool quiet = false;
};

}  // namespace rocklock
