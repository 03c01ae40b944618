#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <variant>

#include "base/duration_text.hpp"
#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/settings.hpp"
#include "daemon/cli/start_daemon.hpp"

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
constexpr milliseconds min_crowd{2'000};

// The time limits of a call with its retries.
class Patience {
public:
    explicit Patience(const Call& call)
        : endless_(patience_of(call.body) == no_limit ||
                   std::holds_alternative<Backup>(call.body)) {
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
    bool waits_in_crowd(steady_clock::time_point since) const {
        const auto now = steady_clock::now();
        return endless_ || now - since < min_crowd || (deadline_ && now < *deadline_);
    }

    void apply(Call& call) const {
        if (!deadline_) return;
        const auto left = std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now());
        const auto patience = std::max(left, milliseconds{0});
        if (auto* acquire = std::get_if<Acquire>(&call.body)) acquire->patience = patience;
        if (auto* convert = std::get_if<Convert>(&call.body)) convert->patience = patience;
        if (auto* watch = std::get_if<WatchRequest>(&call.body)) watch->patience = patience;
    }

private:
    static std::optional<milliseconds> patience_of(const CallBody& body) {
        if (const auto* acquire = std::get_if<Acquire>(&body)) return acquire->patience;
        if (const auto* convert = std::get_if<Convert>(&body)) return convert->patience;
        if (const auto* watch = std::get_if<WatchRequest>(&body)) return watch->patience;
        return std::nullopt;
    }

    const bool endless_;
    std::optional<steady_clock::time_point> deadline_;
};

class DaemonManager final : public LockConnection {
public:
    explicit DaemonManager(DaemonManagerOptions options)
        : options_(std::move(options)), client_(options_.socket) {}

    Result<Reply> call(Call call, const CallLimits& limits) override;
    std::string socket() const override { return options_.socket; }

private:
    Error with_advice(Error error) const;
    Result<void> bring_back(const Error& why, steady_clock::duration absence);

    const DaemonManagerOptions options_;
    LockClient client_;
    std::atomic<bool> reached_{false};
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
           code == ErrorCode::closing;
}

// Returns true if the daemon refused the connection because it has too many.
bool is_crowded(const Result<Reply>& reply) {
    return !reply && reply.error().code == ErrorCode::unreachable && reply.error().retry_after;
}

// The error for a daemon that accepts connections without replying, or does not accept them.
Error hangs(const std::string& path) {
    return {ErrorCode::indeterminate,
            "the daemon on " + path + " does not answer within " + format_duration(max_answer) +
                " after the wait timeout: it hangs or is stopped; it is unknown whether the call "
                "took effect"};
}

Result<Reply> DaemonManager::call(Call call, const CallLimits& limits) {
    const Patience patience(call);
    const auto begun = steady_clock::now();
    std::optional<steady_clock::time_point> away_since;
    for (milliseconds wait{5};; wait = std::min(2 * wait, milliseconds{100})) {
        const auto sent = steady_clock::now();
        auto bounded = limits;
        const auto answered_by = patience.answered_by();
        if (answered_by && (!limits.deadline || *answered_by < *limits.deadline)) {
            bounded.deadline = answered_by;
        }
        auto reply = client_.call(call, bounded);
        const auto now = steady_clock::now();
        if (is_away(reply) && !over(limits) && answered_by && now >= *answered_by) {
            return hangs(options_.socket);
        }
        if (is_crowded(reply)) {
            if (over(limits) || !patience.waits_in_crowd(begun)) return reply;
            std::this_thread::sleep_for(wait);
            patience.apply(call);
            continue;
        }
        if (!is_away(reply)) {
            reached_ = true;
            return reply;
        }
        if (reply.error().code != ErrorCode::unreachable) reached_ = true;
        // If the call waited for a reply, a daemon was running until now.
        if (!away_since || now - sent > milliseconds{1000}) away_since = now;
        if (over(limits)) return reply;
        if (auto hope = bring_back(reply.error(), now - *away_since); !hope) {
            return std::move(hope).error();
        }
        std::this_thread::sleep_for(wait);
        patience.apply(call);
    }
}

Error DaemonManager::with_advice(Error error) const {
    if (error.code != ErrorCode::unreachable) return error;
    error.message += "; start it with `rocklock serve";
    if (options_.socket != user_socket()) error.message += " --socket " + options_.socket;
    error.message += "`";
    return error;
}

// Starts a daemon if this process may do so. Returns an error if a retry cannot succeed.
Result<void> DaemonManager::bring_back(const Error& why, steady_clock::duration absence) {
    const bool long_away = absence > max_absence;
    if (why.code == ErrorCode::unreachable && options_.may_start && !long_away) {
        auto started = start_daemon(options_.socket, options_.idle_exit);
        if (started || reached_) return {};
        return started;
    }
    if (long_away || !reached_) return with_advice(why);
    return {};
}

}  // namespace

std::unique_ptr<LockConnection> make_daemon_manager(DaemonManagerOptions options) {
    return std::make_unique<DaemonManager>(std::move(options));
}

}  // namespace rocklock
