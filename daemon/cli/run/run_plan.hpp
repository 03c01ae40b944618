// The options of `rocklock run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "daemon/cli/exit_status.hpp"

namespace rocklock {

enum class OnLost { term, kill, ignore };
// The effect if `run` is killed. hold: the lock is held until the command and its descendants have
// ended. kill: the command and its descendants are killed.
enum class OnDeath { hold, kill };

struct RunPlan {
    // The request for the lock, without its session and its request id.
    Acquire request;
    std::vector<std::string> command;
    std::string principal;
    // If absent, the lease of the class of the resources applies.
    std::optional<std::chrono::milliseconds> lease;
    OnLost on_lost = OnLost::term;
    OnDeath on_death = OnDeath::hold;
    // The exit status if the lock was not acquired.
    int busy_status = exit_status::busy;
    // The descriptor to which events are written as lines of JSON, or -1.
    int status_fd = -1;
    // If true, the lock is held until all processes of the command's process group have ended.
    bool wait_group = false;
    bool quiet = false;
};

}  // namespace rocklock
