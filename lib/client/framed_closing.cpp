// Closing the client. Destructors of guards and sessions do not wait for the replies to their
// releases, so close() waits for the daemon for a short time.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "client/framed_service.hpp"

namespace rocklock {
namespace {

// The maximum time that calls take while the client closes.
constexpr std::chrono::milliseconds max_closing_wait{100};

}  // namespace

void FramedService::begin_closing() {
    MutexLock lock(mutex_);
    if (std::exchange(hurry_, true)) return;
    closing_until_ = Steady::now() + max_closing_wait;
    for (auto& [number, pending] : pending_calls_)
        pending.give_up = std::min(pending.give_up, closing_until_);
    next_expiry_ = std::min(next_expiry_, closing_until_);
    wake();
}

// Destructors of guards and sessions do not wait for the replies to their releases. The daemon
// decides a release or a closing when it reads the call, and reads the calls of a connection in
// order. The reply to a Ping therefore shows that all earlier releases and closings are decided,
// except during a stall of the daemon (ServerService::on_stall()).
void FramedService::flush_endings() {
    {
        MutexLock lock(mutex_);
        const bool ending =
            std::any_of(pending_calls_.begin(), pending_calls_.end(), [](const auto& entry) {
                const CallBody& body = entry.second.call.body;
                return std::holds_alternative<Release>(body) ||
                       std::holds_alternative<CloseSession>(body);
            });
        if (!connected_ || closed_ || !ending) return;
    }
    [[maybe_unused]] const auto pong = wait_for({Ping{}, {}, {}}, {});
}

Result<void> FramedService::close() {
    if (fork_check_.in_child()) return child_error();
    begin_closing();
    flush_endings();
    std::vector<CompletedCall> finished;
    {
        MutexLock lock(mutex_);
        if (std::exchange(closed_, true)) return {};
    }
    reader_.request_stop();
    wake();
    if (reader_.joinable()) reader_.join();
    {
        // The reader has ended, so it cannot start another thread that restarts the daemon. The
        // existing one may still need the mutex, so it is joined without the mutex.
        std::jthread restart;
        {
            MutexLock lock(mutex_);
            restart = std::move(outage_.restart);
        }
    }
    {
        MutexLock lock(mutex_);
        socket_ = FrameSocket();
        connected_ = false;
        for (auto& [number, pending] : pending_calls_) {
            if (pending.done) {
                finished.push_back({std::move(pending.done), closed_error(), pending.direct});
            }
        }
        pending_calls_.clear();
        for (auto& late : std::exchange(reading_.completions, {}))
            finished.push_back(std::move(late));
    }
    for (auto& one : finished) one.done(std::move(one.reply));
    return {};
}

}  // namespace rocklock
