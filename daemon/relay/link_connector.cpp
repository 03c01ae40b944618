#include "daemon/relay/link_connector.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/support/rethrow.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

// The time for connecting to one address, the handshake and the answer.
constexpr milliseconds max_connect_time{5'000};
// The pause after a failure. It doubles with each further failure.
constexpr milliseconds first_pause{50};
constexpr milliseconds max_pause{1'000};

}  // namespace

void LinkConnector::connect(Connected connected) {
    asio::co_spawn(control_, run(std::move(connected)), rethrow);
}

asio::awaitable<void> LinkConnector::run(Connected connected) {
    milliseconds wait = first_pause;
    while (true) {
        std::shared_ptr<LinkSocket> socket;
        std::unique_ptr<TlsChannel> channel;
        const auto failure = co_await try_to_connect(socket, channel);
        last_failure_ = failure;
        if (failure.empty()) {
            log_.write({LogLevel::info,
                        "manager_connected",
                        "connected to the manager",
                        {{"manager", manager_.host + ":" + manager_.port}}});
            co_return connected(socket->release(), std::move(channel));
        }
        log_failure(failure);
        error_code ignored;
        asio::steady_timer timer(control_, wait);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        wait = std::min(2 * wait, max_pause);
    }
}

// Tries each address of the manager. Returns the reason of the last failure, or an empty text.
asio::awaitable<std::string> LinkConnector::try_to_connect(std::shared_ptr<LinkSocket>& socket,
                                                           std::unique_ptr<TlsChannel>& channel) {
    using Tcp = asio::ip::tcp;
    error_code error;
    Tcp::resolver resolver(control_);
    const auto found = co_await resolver.async_resolve(
        manager_.host, manager_.port, asio::redirect_error(asio::use_awaitable, error));
    std::string failure = error.message();
    for (const auto& each : found) {
        const Tcp::endpoint endpoint = each.endpoint();
        channel.reset();
        socket = std::make_shared<LinkSocket>(control_);
        asio::steady_timer limit(control_, max_connect_time);
        limit.async_wait([socket](const error_code& cancelled) {
            error_code ignored;
            if (!cancelled) socket->close(ignored);
        });
        co_await socket->async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
        failure = error.message();
        if (!error) {
            socket->native_non_blocking(true, error);
            set_link_options(socket->native_handle());
            channel = tls_->connect(socket->native_handle(), manager_.host);
            failure = co_await establish(*socket, *channel);
        }
        limit.cancel();
        if (!socket->is_open()) failure = "the manager did not answer in time";
        if (failure.empty()) co_return failure;
    }
    co_return failure;
}

// Completes the handshake, sends the preface and receives the answer. Returns the reason of a
// failure, or an empty text.
asio::awaitable<std::string> LinkConnector::establish(LinkSocket& socket, TlsChannel& channel) {
    if (!co_await shake_hands(socket, channel)) co_return "TLS: " + channel.failure();
    if (!send_at_once(channel, preface_)) co_return "the manager has closed the connection";
    // If the manager does not accept the certificate of the relay, this is reported here.
    std::string head;
    if (!co_await receive_exactly(socket, channel, preface_head_size, head)) {
        co_return channel.failure().empty() ? "the manager has closed the connection"
                                            : "TLS: " + channel.failure();
    }
    const auto size = answer_rest_size(head);
    if (!size) co_return size.error().message;
    std::string rest;
    if (!co_await receive_exactly(socket, channel, *size, rest)) {
        co_return "the manager has closed the connection";
    }
    const auto answer = decode_answer(head, rest);
    if (!answer) co_return answer.error().message;
    co_return answer->accepted ? "" : "the manager has refused this relay: " + answer->reason;
}

void LinkConnector::log_failure(const std::string& reason) {
    const auto count = logged_.let_through(std::chrono::steady_clock::now());
    if (count == 0) return;
    log_.write({LogLevel::warning,
                "manager_not_reached",
                "cannot connect to the manager",
                {{"manager", manager_.host + ":" + manager_.port},
                 {"reason", reason},
                 {"failures", count}}});
}

}  // namespace rocklock
