// Named moments of a commit at which a test may end the process, to see what is left of it.
//
// In production nobody sets the hook: passing a point costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace rocklock {

enum class KillPoint : std::uint8_t {
    // Decided, and nothing of it in the log.
    before_write,
    // In the log, which the operating system has; not synced.
    after_write,
    // Synced, and nobody was answered.
    after_sync,
};

std::string_view to_string(KillPoint point);

// Called by the thread that passes the point, which may hold anything but the mutexes of the lock
// manager and of the group commit.
using KillHook = void (*)(KillPoint point);

inline std::atomic<KillHook> kill_hook{nullptr};

inline bool kill_points_watched() { return kill_hook.load(std::memory_order_relaxed) != nullptr; }

inline void kill_point(KillPoint point) {
    if (const KillHook hook = kill_hook.load(std::memory_order_relaxed)) hook(point);
}

}  // namespace rocklock
