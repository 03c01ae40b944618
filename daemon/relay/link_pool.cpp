#include "daemon/relay/link_pool.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/peer/preface.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t max_in_reserve = 4;
constexpr std::size_t max_connecting = 16;
// The time for connecting, the handshake and the greeting.
constexpr milliseconds max_connect_time{5'000};
// The pause after a failure. It doubles with each further failure.
constexpr milliseconds first_pause{50};
constexpr milliseconds max_pause{1'000};

// Returns true if the manager has ended the connection. It sends nothing before the preface.
bool has_ended(Link& link) {
    pollfd socket{link.socket(), POLLIN, 0};
    return ::poll(&socket, 1, 0) != 0 || link.channel().has_buffered();
}

}  // namespace

Link::~Link() {
    channel_.reset();
    if (socket_ >= 0) ::close(socket_);
}

void Link::abort() {
    if (socket_ >= 0) close_with_reset(std::exchange(socket_, -1));
}

void LinkPool::take(milliseconds timeout, Taken taken) {
    auto link = waiting_.empty() ? take_ready() : nullptr;
    if (!link) {
        waiting_.push_back({steady_clock::now() + timeout, std::move(taken)});
        maintain();
        return;
    }
    taken(std::move(link));
    maintain();
}

std::unique_ptr<Link> LinkPool::take_ready() {
    while (!ready_.empty()) {
        auto link = std::move(ready_.front());
        ready_.pop_front();
        if (!has_ended(*link)) return link;
    }
    return nullptr;
}

// Establishes as many links as clients wait for, and those in reserve.
void LinkPool::maintain() {
    const auto now = steady_clock::now();
    while (!waiting_.empty() && waiting_.front().until <= now) {
        const auto taken = std::move(waiting_.front().taken);
        waiting_.pop_front();
        taken(nullptr);
    }
    if (now >= next_try_) {
        const auto spare = max_in_reserve - std::min(max_in_reserve, ready_.size());
        // After a failure, one connection finds out whether the manager can be reached again.
        const auto wanted =
            reachable_ ? std::min(waiting_.size() + spare, max_connecting) : std::size_t{1};
        while (connecting_ < wanted) {
            ++connecting_;
            asio::co_spawn(control_, connect(), asio::detached);
        }
    }
    schedule();
}

void LinkPool::schedule() {
    auto next = Time::max();
    if (!waiting_.empty()) next = waiting_.front().until;
    if (connecting_ == 0) next = std::min(next, next_try_);
    if (next == Time::max()) return;
    timer_.expires_at(next);
    timer_.async_wait([this](const error_code& cancelled) {
        if (!cancelled) maintain();
    });
}

asio::awaitable<void> LinkPool::connect() {
    std::string reason;
    auto link = co_await try_to_connect(reason);
    --connecting_;
    if (link) {
        connected(std::move(link));
    } else {
        failed(reason);
    }
}

// Returns null and sets `reason` if no link can be established.
asio::awaitable<std::unique_ptr<Link>> LinkPool::try_to_connect(std::string& reason) {
    using Tcp = asio::ip::tcp;
    error_code error;
    Tcp::resolver resolver(control_);
    const auto found = co_await resolver.async_resolve(
        manager_.host, manager_.port, asio::redirect_error(asio::use_awaitable, error));
    for (const auto& each : found) {
        const Tcp::endpoint endpoint = each.endpoint();
        auto socket = std::make_shared<LinkSocket>(control_);
        asio::steady_timer limit(control_, max_connect_time);
        limit.async_wait([socket](const error_code& cancelled) {
            error_code ignored;
            if (!cancelled) socket->close(ignored);
        });
        co_await socket->async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
        if (error) continue;
        std::unique_ptr<TlsChannel> channel;
        reason = co_await establish(socket, channel);
        limit.cancel();
        if (!socket->is_open()) reason = "the manager did not answer in time";
        if (reason.empty()) {
            co_return std::make_unique<Link>(socket->release(), std::move(channel));
        }
    }
    if (reason.empty()) {
        reason = error == asio::error::operation_aborted ? "the manager did not answer in time"
                                                         : error.message();
    }
    co_return nullptr;
}

// Completes the handshake and receives the greeting. Returns the reason of a failure, or an empty
// text.
asio::awaitable<std::string> LinkPool::establish(std::shared_ptr<LinkSocket> socket,
                                                 std::unique_ptr<TlsChannel>& channel) {
    error_code error;
    socket->native_non_blocking(true, error);
    set_link_options(socket->native_handle());
    channel = tls_->connect(socket->native_handle(), manager_.host);
    if (!co_await shake_hands(*socket, *channel)) co_return "TLS: " + channel->failure();
    // If the manager does not accept the certificate of the relay, this is reported here.
    std::string head;
    if (!co_await receive_exactly(*socket, *channel, preface_head_size, head)) {
        co_return channel->failure().empty() ? "the manager has closed the connection"
                                             : "the manager has refused: " + channel->failure();
    }
    const auto size = answer_rest_size(head);
    if (!size) co_return size.error().message;
    std::string rest;
    if (!co_await receive_exactly(*socket, *channel, *size, rest)) {
        co_return "the manager has closed the connection";
    }
    const auto greeting = decode_answer(head, rest);
    if (!greeting) co_return greeting.error().message;
    co_return greeting->accepted ? "" : greeting->reason;
}

void LinkPool::connected(std::unique_ptr<Link> link) {
    if (!std::exchange(reachable_, true) || pause_.count() > 0) {
        log_.write({LogLevel::info,
                    "manager_reached",
                    "the manager can be reached again",
                    {{"manager", manager_.host + ":" + manager_.port}}});
    }
    pause_ = {};
    next_try_ = {};
    if (waiting_.empty()) {
        ready_.push_back(std::move(link));
    } else {
        const auto taken = std::move(waiting_.front().taken);
        waiting_.pop_front();
        taken(std::move(link));
    }
    maintain();
}

void LinkPool::failed(const std::string& reason) {
    const auto now = steady_clock::now();
    if (const auto count = logged_.let_through(now); count > 0) {
        log_.write({LogLevel::warning,
                    "manager_not_reached",
                    "the manager cannot be reached",
                    {{"manager", manager_.host + ":" + manager_.port},
                     {"reason", reason},
                     {"failures", count}}});
    }
    reachable_ = false;
    pause_ = std::clamp(pause_ * 2, first_pause, max_pause);
    next_try_ = now + pause_;
    schedule();
}

}  // namespace rocklock
