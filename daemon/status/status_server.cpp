#include "daemon/status/status_server.hpp"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "daemon/http/http_answer.hpp"
#include "daemon/http/http_reader.hpp"
#include "daemon/net/discard_input.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/support/rethrow.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

// A connection is closed after this time in all cases.
constexpr milliseconds max_connection_time{10'000};
// After its response, a client has this time to close the connection.
constexpr milliseconds max_close_time{1'000};
// The maximum number of bytes of a request.
constexpr std::size_t max_status_request = 16'384;
constexpr milliseconds accept_pause{50};

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::start(const std::string& address,
                                                          const OwnPages& pages, const Log& log) {
    if (address.empty()) return std::unique_ptr<StatusServer>();
    const auto parsed = parse_host_and_port("status-listen", address);
    if (!parsed) return parsed.error();
    auto listener = listen_on_host("status-listen", *parsed);
    if (!listener) return std::move(listener).error();
    log.write({LogLevel::info,
               "listening",
               "listening for status requests on http://" + listener->name(),
               {}});
    return std::unique_ptr<StatusServer>(new StatusServer(*std::move(listener), pages));
}

StatusServer::StatusServer(Listener listener, const OwnPages& pages)
    : pages_(pages), acceptor_(context_) {
    acceptor_.assign(Protocol(AF_INET, 0), listener.take_socket());
    asio::co_spawn(context_, accept(), rethrow);
    thread_ = std::thread([this] { context_.run(); });
}

StatusServer::~StatusServer() {
    context_.stop();
    thread_.join();
}

asio::awaitable<void> StatusServer::accept() {
    error_code error;
    asio::steady_timer pause(context_);
    while (true) {
        auto socket =
            co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            // For example, there is no free descriptor.
            pause.expires_after(accept_pause);
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
            continue;
        }
        const auto shared = std::make_shared<Protocol::socket>(std::move(socket));
        add(shared);
        asio::co_spawn(context_, serve(shared), asio::detached);
    }
}

void StatusServer::add(const Socket& socket) {
    if (connections_.size() >= max_connections) {
        error_code ignored;
        connections_.front()->close(ignored);
        connections_.pop_front();
    }
    connections_.push_back(socket);
}

asio::awaitable<void> StatusServer::serve(Socket socket) {
    asio::steady_timer limit(context_, max_connection_time);
    limit.async_wait([socket](const error_code& cancelled) {
        error_code ignored;
        if (!cancelled) socket->close(ignored);
    });
    const auto response = co_await answer(*socket);
    error_code error;
    if (!response.empty()) {
        co_await asio::async_write(*socket, asio::buffer(response),
                                   asio::redirect_error(asio::use_awaitable, error));
        if (!error) co_await discard_input(socket, max_close_time);
    }
    limit.cancel();
    connections_.remove(socket);
}

// Receives a request, and returns the response; an empty text if the client has closed the
// connection.
asio::awaitable<std::string> StatusServer::answer(Protocol::socket& socket) const {
    HttpReader reader;
    std::optional<HttpRequest> request;
    std::optional<HttpProblem> problem;
    std::array<char, 4096> buffer{};
    std::size_t received = 0;
    while (!request && !problem) {
        error_code error;
        const auto size = co_await socket.async_read_some(
            asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return "";
        received += size;
        problem = reader.receive(
            {buffer.data(), size}, [&] { return !request; },
            [&](HttpRequest&& whole) { request = std::move(whole); });
        if (!request && !problem && received > max_status_request) {
            problem = HttpProblem{413, "the request is longer than 16 KB"};
        }
    }
    std::string text;
    if (request) {
        append_answer(text, pages_.get(*request),
                      {.keep_alive = false, .head = request->method == "HEAD"});
    } else {
        append_answer(
            text,
            {problem->status, "text/plain; charset=utf-8", std::string(), problem->message + "\n"},
            {.keep_alive = false});
    }
    co_return text;
}

}  // namespace rocklock
