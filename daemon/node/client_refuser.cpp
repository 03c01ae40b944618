#include "daemon/node/client_refuser.hpp"

#include <sys/socket.h>

#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/net/refuse_unreachable.hpp"
#include "daemon/support/rethrow.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

// Further clients wait in the queue of the listening socket.
constexpr int max_refused_clients = 64;
constexpr milliseconds refusal_pause{50};

}  // namespace

ClientRefuser::ClientRefuser(const Listeners& listeners, const RoleStatus& role,
                             milliseconds max_wait)
    : role_(role) {
    auto copies = listeners.duplicate();
    for (auto& listener : copies.all) {
        const int family = listener.tcp() ? AF_INET : AF_UNIX;
        auto& acceptor =
            acceptors_.emplace_back(context_, Protocol(family, 0), listener.take_socket());
        asio::co_spawn(context_, accept(acceptor, max_wait), rethrow);
    }
    thread_ = std::thread([this] { context_.run(); });
}

ClientRefuser::~ClientRefuser() {
    context_.stop();
    thread_.join();
}

asio::awaitable<void> ClientRefuser::accept(Acceptor& acceptor, milliseconds max_wait) {
    boost::system::error_code error;
    asio::steady_timer timer(context_, max_wait);
    for (;;) {
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        while (clients_ < max_refused_clients) {
            auto socket = std::make_shared<Protocol::socket>(
                co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error)));
            if (error) break;
            asio::co_spawn(context_, refuse(std::move(socket)), asio::detached);
        }
        timer.expires_after(refusal_pause);
    }
}

asio::awaitable<void> ClientRefuser::refuse(std::shared_ptr<Protocol::socket> socket) {
    ++clients_;
    // A separate statement: g++ 12 can destroy temporary objects of a co_await expression too
    // early.
    std::string reason = "this node serves no requests: " + role_.state().reason +
                         "; try again when this is repaired (see the log of the node)";
    co_await refuse_unreachable(std::move(socket), std::move(reason));
    --clients_;
}

}  // namespace rocklock
