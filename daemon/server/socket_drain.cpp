#include "daemon/server/socket_drain.hpp"

#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rocklock {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds max_drain{2000};
constexpr milliseconds pause{1};

// One query to all connections; each answers on its own thread.
struct Round {
    std::atomic<std::size_t> unanswered{0};
    std::atomic<bool> unread{false};
};

std::shared_ptr<Round> ask_all(ConnectionSet& connections) {
    auto round = std::make_shared<Round>();
    const auto all = connections.all();
    round->unanswered = all.size();
    for (const auto& connection : all) {
        connection->on_thread([round, connection] {
            if (connection->has_unread()) round->unread = true;
            --round->unanswered;
        });
    }
    return round;
}

}  // namespace

void ConnectionSet::add(const std::shared_ptr<Connection>& connection) {
    const MutexLock lock(mutex_);
    if (connections_.size() >= tidy_at_) {
        std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
        tidy_at_ = 2 * connections_.size() + 64;
    }
    connections_.push_back(connection);
}

std::vector<std::shared_ptr<Connection>> ConnectionSet::all() {
    const MutexLock lock(mutex_);
    std::vector<std::shared_ptr<Connection>> alive;
    for (const auto& weak : connections_) {
        if (auto connection = weak.lock()) alive.push_back(std::move(connection));
    }
    return alive;
}

asio::awaitable<void> drain_sockets(asio::io_context& control, ConnectionSet& connections,
                                    std::function<bool()> any_client_waits) {
    boost::system::error_code ignored;
    asio::steady_timer timer(control);
    const auto deadline = steady_clock::now() + max_drain;
    // A connection that was accepted during one round is queried in the next, so two quiet rounds
    // in succession are required.
    for (int quiet_rounds = 0; quiet_rounds < 2 && steady_clock::now() < deadline;) {
        const bool waited = any_client_waits();
        const auto round = ask_all(connections);
        do {
            timer.expires_after(pause);
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        } while (round->unanswered > 0 && steady_clock::now() < deadline);
        quiet_rounds = waited || round->unread ? 0 : quiet_rounds + 1;
    }
}

}  // namespace rocklock
