#include "daemon/cli/run/succession.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <tuple>

#include "daemon/cli/run/call_worker.hpp"
#include "daemon/cli/run/held_lock.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds release_limit{2000};
// If a process is not killed by SIGKILL at once, or belongs to another user, the kill is repeated.
constexpr milliseconds kill_period{100};

// The reader of a pipe must not wait for the supervisor, which writes only remarks to standard
// error.
void close_standard_streams() {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::close(null);
}

// Waits until a child has changed, the worker has a reply, or the time has come.
void wait_for_event(const Descendants& descendants, const CallWorker* worker,
                    std::optional<BootTime> until) {
    std::array<pollfd, 2> sources = {
        {{descendants.fd(), POLLIN, 0}, {worker != nullptr ? worker->fd() : -1, POLLIN, 0}}};
    int timeout = -1;
    if (until) {
        const auto left = std::chrono::ceil<milliseconds>(*until - boot_now());
        timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    ::poll(sources.data(), sources.size(), timeout);
}

// Returns the time of the next attempt to kill, if there is one.
std::optional<BootTime> kill_if_asked(const Descendants& descendants, const RunPlan& plan) {
    if (plan.on_death != OnDeath::kill) return std::nullopt;
    descendants.kill_children();
    return boot_now() + kill_period;
}

void hold(Descendants& descendants, LockConnection& manager, const RunPlan& plan,
          const Grant& grant, std::optional<BootTime> deadline) {
    CallWorker worker(manager);
    HeldLock lock(manager, worker, plan, grant,
                  {[&](int signal) { descendants.signal_group(signal); }, [](const Wanted&) {}});
    lock.resume(deadline.value_or(lock.deadline()));
    while (descendants.reap(), descendants.remain()) {
        auto until = kill_if_asked(descendants, plan);
        if (const auto next = lock.advance()) until = until ? std::min(*until, *next) : *next;
        wait_for_event(descendants, &worker, until);
    }
    if (lock.certainly_lost()) return;
    CallLimits limits;
    limits.deadline = std::chrono::steady_clock::now() + release_limit;
    const auto& session = lock.session();
    std::ignore = manager.call(Call{Release{session.id, grant.id}, session.secret, {}}, limits);
}

}  // namespace

void succeed(Descendants& descendants, const LockConnection& manager, const RunPlan& plan,
             const Grant& grant, std::optional<BootTime> deadline) {
    close_standard_streams();
    if (plan.on_death == OnDeath::hold) descendants.end_stopped_job();
    hold(descendants, *manager.reconnected(), plan, grant, deadline);
}

void end_with_store(Descendants& descendants) {
    close_standard_streams();
    while (descendants.reap(), descendants.remain()) {
        descendants.kill_children();
        wait_for_event(descendants, nullptr, boot_now() + kill_period);
    }
}

}  // namespace rocklock
