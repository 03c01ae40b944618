#include "daemon/node/node_signals.hpp"

#include <csignal>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/mutex.hpp"
#include "daemon/support/rethrow.hpp"

namespace rocklock {

namespace asio = boost::asio;
using boost::system::error_code;

NodeSignals::NodeSignals(const ServiceManager& manager)
    : manager_(manager), signals_(context_, SIGTERM, SIGINT) {
    signals_.async_wait([this](const error_code& error, int) {
        if (error) return;
        error_code ignored;
        signals_.clear(ignored);
        stop_.request_stop();
    });
    if (manager_.watchdog().count() > 0) asio::co_spawn(context_, feed_watchdog(), rethrow);
    thread_ = std::thread([this] {
        const auto work = asio::make_work_guard(context_);
        context_.run();
    });
}

NodeSignals::~NodeSignals() {
    context_.stop();
    thread_.join();
}

void NodeSignals::wait_for(std::chrono::milliseconds time) const {
    const auto until = std::chrono::steady_clock::now() + time;
    Mutex mutex;
    CondVar stopped;
    const std::stop_callback wake(stop_.get_token(), [&] {
        const MutexLock lock(mutex);
        stopped.notify_all();
    });
    MutexLock lock(mutex);
    while (!stop_.stop_requested()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left <= std::chrono::milliseconds{0}) return;
        stopped.wait_for(mutex, left);
    }
}

asio::awaitable<void> NodeSignals::feed_watchdog() {
    error_code error;
    asio::steady_timer timer(context_);
    while (!error) {
        if (waiting_) manager_.notify("WATCHDOG=1");
        timer.expires_after(manager_.watchdog() / 3);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

}  // namespace rocklock
