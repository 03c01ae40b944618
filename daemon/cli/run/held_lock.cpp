#include "daemon/cli/run/held_lock.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/duration_text.hpp"
#include "base/random.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds grace{5000};
constexpr milliseconds smallest_margin{200};

}  // namespace

steady_clock::time_point steady_at(BootTime moment) {
    return steady_clock::now() + (moment - boot_now());
}

HeldLock::HeldLock(LockConnection& manager, CallWorker& worker, const RunPlan& plan, Grant grant,
                   Callbacks callbacks)
    : manager_(manager),
      worker_(worker),
      plan_(plan),
      callbacks_(std::move(callbacks)),
      grant_(std::move(grant)),
      session_(*grant_.own_session) {
    const auto now = boot_now();
    deadline_ = std::min(grant_.deadline, now + grant_.remaining);
    renew_at_ = now + session_.lease / 3;
}

BootTime HeldLock::stop_at() const {
    // If `max_hold` is shorter than the lease, the margin is computed from the shorter time. A
    // margin for the whole lease could end the lock immediately.
    const auto span = grant_.cap ? std::min(session_.lease, grant_.remaining) : session_.lease;
    const auto margin = std::max(smallest_margin, span / 10);
    return deadline_ - std::min(margin, span / 4);
}

void HeldLock::resume(BootTime deadline) {
    deadline_ = deadline;
    renew_at_ = boot_now();
}

std::optional<BootTime> HeldLock::advance() {
    if (const auto reply = worker_.take()) on_renewed(*reply);
    const auto now = boot_now();
    renew_if_due(now);
    stop_if_due(now);
    std::optional<BootTime> until;
    const auto wake_at = [&until](BootTime moment) {
        until = until ? std::min(*until, moment) : moment;
    };
    if (!lost_) wake_at(stop_at());
    if (kill_at_) wake_at(*kill_at_);
    if (!worker_.busy() && !certainly_lost_) wake_at(renew_at_);
    return until;
}

void HeldLock::released(const Result<Reply>& reply) {
    const auto why = ended_before(reply);
    if (why.empty() || std::exchange(lost_, true)) return;
    complain("the lock on " + printable(resource()) + " was lost while the command ran: " + why);
}

void HeldLock::renew_if_due(BootTime now) {
    if (certainly_lost_ || worker_.busy() || now < renew_at_) return;
    RenewSession renew;
    renew.session = session_.id;
    renewal_sent_ = now;
    worker_.start(Call{renew, session_.secret, {}}, steady_at(std::max(deadline_, now + grace)));
}

void HeldLock::on_renewed(const Result<Reply>& reply) {
    const auto* renewed = reply ? std::get_if<SessionInfo>(&*reply) : nullptr;
    const auto now = boot_now();
    if (renewed != nullptr) {
        for (const auto& lost : renewed->lost) {
            if (lost.grant == grant_.id) lose(explain_ending(lost.ending), true);
        }
        for (const auto& ask : renewed->wanted) {
            // Plain waiters are not reported: they get the lock after the command.
            if (!lost_ && ask.answer_by && ask.grant == grant_.id) callbacks_.wanted(ask);
        }
        // Renewals do not extend a grant beyond its `cap`, which max_hold sets.
        const auto cap = grant_.cap.value_or(BootTime::max());
        deadline_ =
            std::max(deadline_, std::min({renewed->deadline, renewal_sent_ + session_.lease, cap}));
        // Renew up to a quarter of this time earlier, at random, so that programs that were started
        // at the same time do not renew at the same time.
        renew_at_ = now + session_.lease / 3 * (256 - random_bytes<1>()[0] % 64) / 256;
        return;
    }
    switch (reply ? ErrorCode::io_error : reply.error().code) {
        case ErrorCode::session_expired:
        case ErrorCode::session_not_found:
        case ErrorCode::not_owner:
            lose(why_lost(reply.error()), true);
            return;
        // Other errors can be temporary. Retry until the lease ends.
        default:
            renew_at_ = now + std::min(milliseconds{100}, session_.lease / 10);
    }
}

// Queries how the grant ended. Waits at most 200 ms, because the command must be stopped now.
std::string HeldLock::why_lost(const Error& error) {
    CallLimits limits;
    limits.deadline = steady_clock::now() + milliseconds{200};
    auto ending = error.ended;
    if (!ending) ending = find_ending(manager_, {session_.id, session_.secret}, grant_.id, limits);
    return ending ? explain_ending(*ending) : error.message;
}

void HeldLock::stop_if_due(BootTime now) {
    if (!lost_ && now >= stop_at()) {
        lose(now >= deadline_
                 ? "its lease ended at " +
                       format_time(system_clock().now().wall -
                                   std::chrono::ceil<milliseconds>(now - deadline_))
                 : "its lease could not be renewed and ends in " +
                       format_duration(std::chrono::ceil<milliseconds>(deadline_ - now)),
             now >= deadline_);
    }
    if (kill_at_ && now >= *kill_at_) {
        kill_at_.reset();
        callbacks_.signal_command(SIGKILL);
    }
}

void HeldLock::lose(const std::string& why, bool certain) {
    certainly_lost_ = certainly_lost_ || certain;
    if (std::exchange(lost_, true)) return;
    const auto name = printable(resource());
    switch (plan_.on_lost) {
        case OnLost::ignore:
            complain("the lock on " + name + " is lost: " + why +
                     "; the command continues without it");
            return;
        case OnLost::kill:
            complain("the lock on " + name + " is lost: " + why + "; killing the command");
            callbacks_.signal_command(SIGKILL);
            return;
        case OnLost::term:
            complain("the lock on " + name + " is lost: " + why + "; stopping the command");
            callbacks_.signal_command(SIGTERM);
            // A stopped process handles the signal only after it is continued.
            callbacks_.signal_command(SIGCONT);
            kill_at_ = boot_now() + grace;
    }
}

const std::string& HeldLock::resource() const {
    return plan_.request.any ? grant_.locks.front().resource : plan_.request.locks.front().resource;
}

// Returns how the lock had ended before the release, or an empty string if the release ended it.
std::string HeldLock::ended_before(const Result<Reply>& reply) {
    if (!reply) {
        if (exit_status::of(reply.error()) != exit_status::lost) return {};
        return why_lost(reply.error());
    }
    const auto* released = std::get_if<Released>(&*reply);
    if (released == nullptr) return {};
    switch (released->outcome) {
        case Outcome::expired:
        case Outcome::stolen:
        case Outcome::broken:
        case Outcome::transferred:
            return explain_ending(ending_in(*released));
        default:
            return {};
    }
}

}  // namespace rocklock
