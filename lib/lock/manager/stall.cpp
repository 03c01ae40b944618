#include <algorithm>
#include <utility>

#include "lock/manager/core.hpp"

namespace rocklock {

// Finds that a stall is over, or that a thread of the server is in a round that is as long as one.
void LockManager::Core::check_time(DeferredActions& after) {
    if (!stalls.is_watching()) return;
    if (auto notify = stalls.check(std::max(clock.now().boot, last_decided), closing)) {
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
    // What was due meanwhile.
    if (options.background) thread.call();
}

}  // namespace rocklock
