#include "client/boot_clock.hpp"

#include <chrono>

#include <rocklock/lock.hpp>

#include "base/duration_text.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// Smaller differences are accepted, because a wrong refusal would stop all locking. They do no harm
// to a session whose margin (SessionOptions::margin) is not smaller. With the default margin, this
// is true for every lease of at least 200 ms.
constexpr milliseconds tolerance{50};

}  // namespace

bool has_other_boot(const Pong& pong, const std::string& boot_id) {
    return !pong.node.empty() && pong.boot_id != boot_id;
}

std::chrono::milliseconds without_drift(std::chrono::milliseconds time) {
    // The rates of the clocks of two machines are assumed to differ by at most one part in this
    // number. The rates of clocks that are not disciplined differ by about 0.0001.
    constexpr int max_drift_divisor = 1'000;
    return time == no_expiry ? time : time - time / max_drift_divisor;
}

Result<void> check_boot_clock(const Pong& pong, const std::string& boot_id, BootTime before,
                              BootTime after, const std::string& path) {
    // The client is connected through a relay, and its host has a boot clock of its own.
    if (has_other_boot(pong, boot_id)) return {};
    // Two machines that were started at the same time have similar clocks, which drift apart.
    if (!pong.boot_id.empty() && !boot_id.empty() && pong.boot_id != boot_id) {
        return Error(
            ErrorCode::invalid_argument,
            "the daemon on " + path +
                " runs on another machine, or virtual machine, than this process (its boot "
                "id is " +
                pong.boot_id + ", that of this process is " + boot_id +
                "), so this process cannot know when a lease ends; use a daemon on this "
                "machine");
    }
    // Managers of earlier versions do not return their clock.
    if (!pong.boot_clock) return {};
    const BootTime theirs(*pong.boot_clock);
    const bool behind = theirs < before - tolerance;
    if (!behind && theirs <= after + tolerance) return {};
    const auto difference =
        std::chrono::ceil<milliseconds>(behind ? before - theirs : theirs - after);
    return Error(ErrorCode::invalid_argument,
                 "this process is in another time namespace than the daemon on " + path +
                     ": its boot clock is " + format_duration(difference) + " " +
                     (behind ? "ahead of" : "behind") +
                     " that of the daemon, so it cannot know when a lease ends; run it in the time "
                     "namespace of the daemon (`nsenter --time --target " +
                     std::to_string(pong.pid) +
                     "`, as root), or use a daemon that runs in this one");
}

}  // namespace rocklock
