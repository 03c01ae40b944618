// Named points of a commit or a flush at which a test can kill the process, to check what recovery
// restores.
//
// In production, no hook is set, and passing a point costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace rocklock {

enum class KillPoint : std::uint8_t {
    // The batch is decided, and no part of it is in the log.
    before_write,
    // The batch was written to the log but not synced. It exists only in the cache of the operating
    // system.
    after_write,
    // The batch is synced, and no client has received its response.
    after_sync,
    // A step of a flush of the records in memory is complete. Passed several times in each flush,
    // by the thread that flushes or that closes the store.
    in_flush,
};

std::string_view to_string(KillPoint point);

// Called by the thread that passes the point. The thread may hold mutexes, but neither that of the
// lock manager nor that of the group commit.
using KillHook = void (*)(KillPoint point);

inline std::atomic<KillHook> kill_hook{nullptr};

inline void kill_point(KillPoint point) {
    if (const KillHook hook = kill_hook.load(std::memory_order_relaxed)) hook(point);
}

}  // namespace rocklock
