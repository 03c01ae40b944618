#include "lock/manager/stall_gate.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"

namespace rocklock::manager {
namespace {

// The interval of the checks while there are sessions, and the minimum duration of a stall.
constexpr std::chrono::milliseconds beat{100};
constexpr std::chrono::milliseconds min_stall{250};
// The interval at which `unread_for_` is called.
constexpr std::chrono::milliseconds unread_check_every{20};

}  // namespace

void StallGate::watch(std::function<void()> notify,
                      std::function<std::chrono::nanoseconds()> unread_for, BootTime now) {
    notify_ = std::move(notify);
    unread_for_ = std::move(unread_for);
    last_check_ = now;
}

// Returns the last time at which the server is known to have polled all of its sockets. A renewal
// that it has not read was sent after that.
BootTime StallGate::last_read(BootTime now) {
    if (!unread_for_ || now < next_unread_check_) return last_check_;
    next_unread_check_ = now + unread_check_every;
    return std::min(last_check_, now - unread_for_());
}

// In a running server, at most one `beat` passes between two checks. If one round of a server
// thread takes longer than `min_stall`, that counts as a stall as well.
std::function<void()> StallGate::check(BootTime now, bool closing) {
    if (!notify_) return {};
    const BootTime read = last_read(now);
    const bool found = beating_ && !stalled_since_ && !closing && now - read > min_stall &&
                       !mutated(Mutant::stall_unseen);
    if (found) stalled_since_ = read;
    last_check_ = now;
    return found ? notify_ : nullptr;
}

void StallGate::decided(BootTime now, bool has_sessions) {
    if (!beating_) last_check_ = now;
    beating_ = notify_ && has_sessions;
}

Instant StallGate::view_time(Instant now) const {
    if (!stalled_since_ || now.boot < *stalled_since_) return now;
    now.wall -= std::chrono::duration_cast<WallTime::duration>(now.boot - *stalled_since_);
    now.boot = *stalled_since_;
    return now;
}

std::optional<BootTime> StallGate::next_wake(std::optional<BootTime> due) const {
    if (stalled_since_) due.reset();
    if (!beating_) return due;
    return std::min(due.value_or(BootTime::max()), last_check_ + beat);
}

bool StallGate::defer(Event& event, Ticket ticket, LockService::Completion& done) {
    if (!stalled_since_) return false;
    if (auto* request = std::get_if<Request>(&event)) {
        if (auto* renew = std::get_if<RenewSession>(request)) {
            renew->as_of = *stalled_since_;
            return false;
        }
    }
    DeferredRequest& late = deferred_.emplace_back();
    late.event = std::move(event);
    late.ticket = ticket;
    late.done = std::move(done);
    return true;
}

void StallGate::defer(Event event) {
    ROCKLOCK_ASSERT(stalled_since_.has_value());
    deferred_.emplace_back().event = std::move(event);
}

std::optional<DeferredRequest> StallGate::take_deferred(BootTime now) {
    if (deferred_.empty()) {
        stalled_since_.reset();
        last_check_ = now;
        return std::nullopt;
    }
    ROCKLOCK_ASSERT(stalled_since_.has_value());
    DeferredRequest next = std::move(deferred_.front());
    deferred_.pop_front();
    return next;
}

std::deque<DeferredRequest> StallGate::close() {
    stalled_since_.reset();
    ROCKLOCK_ASSERT(!stalled());
    return std::exchange(deferred_, {});
}

}  // namespace rocklock::manager
