#include <algorithm>
#include <utility>

#include "lock/manager/core.hpp"

namespace rocklock {

// Checks whether the process was stalled, or a thread of the server has been busy with one round
// for too long. If so, schedules the notification of the server.
void LockManager::Core::check_time(BootTime now, DeferredActions& after) {
    if (!stalls.is_watching()) return;
    if (auto notify = stalls.check(std::max(now, last_decided), closing)) {
        after.notify_stall = std::move(notify);
    }
}

void LockManager::Core::resume() {
    while (true) {
        std::optional<manager::DeferredRequest> next;
        {
            MutexLock lock(mutex);
            if (!stalls.stalled()) return;
            next = stalls.take_deferred(std::max(clock.now().boot, last_decided));
        }
        if (!next) break;
        if (next->done) {
            submit_now(next->event, next->ticket, std::move(next->done));
        } else {
            end_now(next->event);
        }
    }
    // Processes events that became due during the stall.
    if (options.background) thread.call();
}

}  // namespace rocklock
