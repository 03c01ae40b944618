#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>
#include <variant>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "client/boot_clock.hpp"
#include "client/unix_socket.hpp"
#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/start_daemon.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The time to wait for a daemon that has stopped.
constexpr milliseconds max_absence{10'000};
// A daemon that accepts connections must reply within this time after the wait timeout.
constexpr milliseconds max_answer{10'000};
// If the daemon has too many connections, a call is retried until its wait timeout ends, but at
// least for this long.
constexpr milliseconds min_connection_wait{2'000};

// The time limits of a call with its retries.
class Patience {
public:
    explicit Patience(const Call& call)
        : endless_(patience_of(call.body) == no_limit || reads_whole_store(call.body)) {
        const auto given = patience_of(call.body);
        if (given && *given != no_limit) deadline_ = steady_clock::now() + *given;
    }

    // Returns the time by which a daemon must have replied, or nullopt if the call may take any
    // time.
    std::optional<steady_clock::time_point> answered_by() const {
        if (endless_) return std::nullopt;
        const auto now = steady_clock::now();
        return std::max(now, deadline_.value_or(now)) + max_answer;
    }

    // Returns true if a call should be retried although its connections are refused since `since`.
    bool waits_for_connection(steady_clock::time_point since) const {
        const auto now = steady_clock::now();
        return endless_ || now - since < min_connection_wait || (deadline_ && now < *deadline_);
    }

    // Returns true if a call should be retried although the system manager was not reached since
    // the call began, `waited` ago.
    bool waits_for_system(steady_clock::duration waited) const {
        if (endless_) return waited < max_absence;
        return deadline_ && steady_clock::now() < *deadline_;
    }

    void apply(Call& call) const {
        if (!deadline_) return;
        const auto left = std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now());
        const auto patience = std::max(left, milliseconds{0});
        if (auto* acquire = std::get_if<Acquire>(&call.body)) acquire->patience = patience;
        if (auto* convert = std::get_if<Convert>(&call.body)) convert->patience = patience;
        if (auto* watch = std::get_if<WatchRequest>(&call.body)) watch->patience = patience;
        if (auto* await = std::get_if<AwaitNotices>(&call.body)) await->patience = patience;
    }

private:
    static std::optional<milliseconds> patience_of(const CallBody& body) {
        if (const auto* acquire = std::get_if<Acquire>(&body)) return acquire->patience;
        if (const auto* convert = std::get_if<Convert>(&body)) return convert->patience;
        if (const auto* watch = std::get_if<WatchRequest>(&body)) return watch->patience;
        if (const auto* await = std::get_if<AwaitNotices>(&body)) return await->patience;
        return std::nullopt;
    }

    const bool endless_;
    std::optional<steady_clock::time_point> deadline_;
};

class DaemonManager final : public LockConnection {
public:
    explicit DaemonManager(DaemonManagerOptions options)
        : options_(std::move(options)), client_(options_.choice.socket) {}

    Result<Reply> call(Call call, const CallLimits& limits) override;
    std::string socket() const override { return options_.choice.socket; }
    std::unique_ptr<LockConnection> reconnected() const override {
        return make_daemon_manager(options_);
    }
    LockService* service() override { return nullptr; }

private:
    Result<Reply> attempt(const Call& call, const CallLimits& limits);
    Result<Reply> answered(Result<Reply> reply);
    Error with_advice(Error error) const;
    Error with_access_advice(Error error) const;
    Result<void> bring_back(const Error& why, steady_clock::duration absence, bool waits);
    Result<void> start();

    const DaemonManagerOptions options_;
    LockClient client_;
    std::atomic<bool> reached_{false};
    // Whether the daemon has the boot clock of this process.
    std::atomic<bool> clock_checked_{false};
};

bool over(const CallLimits& limits) {
    return limits.stop.stop_requested() ||
           (limits.deadline && steady_clock::now() >= *limits.deadline);
}

// Returns true if there is no daemon, or if it is shutting down. Other errors are replies of it.
bool is_away(const Result<Reply>& reply) {
    if (reply) return false;
    const auto code = reply.error().code;
    return code == ErrorCode::unreachable || code == ErrorCode::indeterminate ||
           code == ErrorCode::closing || code == ErrorCode::not_the_manager;
}

// Returns true if the daemon refused the connection because it has too many.
bool is_over_connection_limit(const Result<Reply>& reply) {
    return !reply && reply.error().code == ErrorCode::unreachable && reply.error().retry_after;
}

// The error for a daemon that accepts connections without replying, or does not accept them.
Error hangs(const std::string& path) {
    return {ErrorCode::indeterminate,
            "the daemon on " + path + " does not answer within " + format_duration(max_answer) +
                " after the wait timeout: it hangs or is stopped; it is unknown whether the call "
                "took effect"};
}

// Returns the limits of one attempt: the daemon must have replied by `answered_by`.
CallLimits bounded_by(std::optional<steady_clock::time_point> answered_by, CallLimits limits) {
    if (answered_by && (!limits.deadline || *answered_by < *limits.deadline)) {
        limits.deadline = answered_by;
    }
    return limits;
}

Result<Reply> DaemonManager::call(Call call, const CallLimits& limits) {
    const Patience patience(call);
    const auto began = steady_clock::now();
    std::optional<steady_clock::time_point> away_since;
    for (milliseconds wait{5};; wait = std::min(2 * wait, milliseconds{100})) {
        const auto sent = steady_clock::now();
        const auto answered_by = patience.answered_by();
        auto reply = attempt(call, bounded_by(answered_by, limits));
        const auto now = steady_clock::now();
        if (is_away(reply) && !over(limits) && answered_by && now >= *answered_by) {
            return hangs(options_.choice.socket);
        }
        if (is_over_connection_limit(reply)) {
            if (over(limits) || !patience.waits_for_connection(began)) return reply;
            std::this_thread::sleep_for(wait);
            patience.apply(call);
            continue;
        }
        if (!is_away(reply)) {
            return answered(std::move(reply));
        }
        if (reply.error().code != ErrorCode::unreachable) reached_ = true;
        // If the call waited for a reply, a daemon was running until now.
        if (!away_since || now - sent > milliseconds{1000}) away_since = now;
        if (over(limits)) return reply;
        if (auto hope = bring_back(reply.error(), now - *away_since,
                                   patience.waits_for_system(now - began));
            !hope) {
            return std::move(hope).error();
        }
        std::this_thread::sleep_for(wait);
        patience.apply(call);
    }
}

// Sends a call once. Before the first one, checks that this process and the daemon have the same
// boot clock. A Ping is not checked, because `rocklock status` works in every time namespace.
Result<Reply> DaemonManager::attempt(const Call& call, const CallLimits& limits) {
    if (!clock_checked_ && !std::holds_alternative<Ping>(call.body)) {
        const auto before = system_clock().now().boot;
        auto reply = client_.call(Call{Ping{}, {}, {}}, limits);
        if (!reply) return reply;
        const auto* pong = std::get_if<Pong>(&*reply);
        if (pong != nullptr) {
            auto same = check_boot_clock(*pong, system_clock().boot_id(), before,
                                         system_clock().now().boot, options_.choice.socket);
            if (!same) return std::move(same).error();
        }
        clock_checked_ = true;
    }
    auto reply = client_.call(call, limits);
    // The next daemon can be in another namespace.
    if (is_away(reply)) clock_checked_ = false;
    return reply;
}

// Handles a reply of the daemon, or the refusal of a connection by the kernel.
Result<Reply> DaemonManager::answered(Result<Reply> reply) {
    if (!reply && reply.error().code == ErrorCode::access_denied) {
        return with_access_advice(std::move(reply).error());
    }
    reached_ = true;
    return reply;
}

Error DaemonManager::with_advice(Error error) const {
    if (error.code != ErrorCode::unreachable) return error;
    const auto& choice = options_.choice;
    // If a daemon has answered, it need not be started: it may be a relay without a manager.
    if (is_listening(choice.socket)) return error;
    if (choice.kind == ManagerKind::system) {
        error.message += "; this machine uses this manager only (" + choice.reason +
                         "): start it, for example with `systemctl start rocklock.socket "
                         "rocklock.service`";
        return error;
    }
    error.message += "; start it with `rocklock serve";
    if (choice.kind != ManagerKind::own) error.message += " --socket " + choice.socket;
    error.message += "`";
    return error;
}

std::string group_name(gid_t gid) {
    std::array<char, 4096> memory{};
    group entry{};
    group* found = nullptr;
    const bool known =
        ::getgrgid_r(gid, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr;
    return known ? found->gr_name : std::to_string(gid);
}

// If this user may not connect to the socket, returns an error that says how to get access. Other
// errors are replies of the daemon and are returned unchanged.
Error DaemonManager::with_access_advice(Error error) const {
    const auto& choice = options_.choice;
    if (::access(choice.socket.c_str(), W_OK) == 0 || errno != EACCES) return error;
    const auto user = user_name(::geteuid());
    std::string message = "user " + user + " may not connect to the manager on " + choice.socket;
    if (choice.kind == ManagerKind::system) {
        message += ", which all programs of this machine use (" + choice.reason + ")";
    }
    struct stat file {};
    const bool visible = ::stat(choice.socket.c_str(), &file) == 0;
    // Membership of the group root gives more rights than access to locks.
    if (visible && (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0) {
        const auto group = group_name(file.st_gid);
        message += ": an administrator must add the user to the group " + group +
                   " (`usermod -aG " + group + " " + user + "`); then log in again";
    } else {
        message +=
            ": its administrator must give a group access to the socket (SocketGroup= in "
            "the unit, or `rocklock serve --admin-group GROUP`) and to the directories "
            "above it, and add the user to that group";
    }
    return {ErrorCode::access_denied, message};
}

// Starts the private daemon, and says once how far its locks reach.
Result<void> DaemonManager::start() {
    const auto& socket = options_.choice.socket;
    const auto directory = socket.substr(0, socket.rfind('/'));
    const auto started = start_daemon(directory, options_.idle_exit);
    if (!started) return started.error();
    if (*started == Start::was_running) return {};
    if (!options_.quiet) {
        complain("started the private daemon of user " + user_name(::getuid()) +
                 ": its locks exclude only processes of this user; see `rocklock status`");
    }
    if (const auto notice = unused_store_notice(directory); !notice.empty()) complain(notice);
    return {};
}

// Starts a daemon if this process may do so. Returns an error if a retry cannot succeed. `waits`:
// whether the call still waits for a system manager that it has not reached.
Result<void> DaemonManager::bring_back(const Error& why, steady_clock::duration absence,
                                       bool waits) {
    const bool long_away = absence > max_absence;
    if (why.code == ErrorCode::unreachable && options_.may_start && !long_away) {
        auto started = start();
        if (started || reached_) return {};
        return started;
    }
    if (!reached_ && options_.choice.kind == ManagerKind::system) {
        if (waits) return {};
        return with_advice(why);
    }
    if (long_away || !reached_) return with_advice(why);
    return {};
}

}  // namespace

std::unique_ptr<LockConnection> make_daemon_manager(DaemonManagerOptions options) {
    return std::make_unique<DaemonManager>(std::move(options));
}

}  // namespace rocklock
