#include <algorithm>
#include <utility>

#include "base/mutant.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

// Returns when the server last asked all of its sockets for more, as far as is known: a renewal
// that has not been read was sent after that.
BootTime LockManager::Core::last_read(BootTime now) {
    if (!unread_for || now < next_unread_check) return last_time_check;
    next_unread_check = now + manager::unread_check_every;
    return std::min(last_time_check, now - unread_for());
}

// Finds that a stall is over, or that a thread of the server is in a round that is as long as one.
// Between two looks of a server that runs, no more than a beat passes.
void LockManager::Core::check_time(DeferredActions& after) {
    if (!notify_stall) return;
    const BootTime now = std::max(clock.now().boot, last_decided);
    const BootTime read = last_read(now);
    if (beating && !stalled_since && !closing && now - read > manager::stall &&
        !mutated(Mutant::stall_unseen)) {
        stalled_since = read;
        after.notify_stall = notify_stall;
    }
    last_time_check = now;
}

Instant LockManager::Core::view_time() const {
    Instant now = clock.now();
    if (!stalled_since || now.boot < *stalled_since) return now;
    now.wall -= std::chrono::duration_cast<WallTime::duration>(now.boot - *stalled_since);
    now.boot = *stalled_since;
    return now;
}

// When the thread has something to do next, if nothing else happens before.
std::optional<BootTime> LockManager::Core::next_wake() const {
    auto next = table.next_wake();
    if (stalled_since) next.reset();
    if (!beating) return next;
    return std::min(next.value_or(BootTime::max()), last_time_check + manager::beat);
}

// Keeps a request for after the stall. A renewal is decided now: it may have been sent before.
bool LockManager::Core::defer(Event& event, Ticket ticket, LockService::Completion& done) {
    if (!stalled_since || closing) return false;
    if (auto* request = std::get_if<Request>(&event)) {
        if (auto* renew = std::get_if<RenewSession>(request)) {
            renew->as_of = *stalled_since;
            return false;
        }
    }
    Deferred& late = deferred.emplace_back();
    late.event = std::move(event);
    late.ticket = ticket;
    late.done = std::move(done);
    return true;
}

void LockManager::Core::resume() {
    while (true) {
        Deferred next;
        {
            MutexLock lock(mutex);
            if (!stalled_since) return;
            if (deferred.empty()) {
                stalled_since.reset();
                last_time_check = std::max(clock.now().boot, last_decided);
                break;
            }
            next = std::move(deferred.front());
            deferred.pop_front();
        }
        if (next.done) {
            submit_now(next.event, next.ticket, std::move(next.done));
        } else {
            end_now(next.event);
        }
    }
    // What was due meanwhile.
    if (options.background) thread.call();
}

}  // namespace rocklock
