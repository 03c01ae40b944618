// Connections from a relay to its manager that are ready for use.
//
// A TLS handshake takes two round trips and about a millisecond of computing. Therefore, a few
// connections are established before they are needed. If the manager cannot be reached, the pool
// keeps trying, and clients wait.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/peer/link_socket.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// A connection to the manager: the handshake is complete and the greeting was received. Owns the
// socket.
class Link {
public:
    Link(int socket, std::unique_ptr<TlsChannel> channel)
        : socket_(socket), channel_(std::move(channel)) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    int socket() const { return socket_; }
    TlsChannel& channel() { return *channel_; }
    // Closes the socket so that the manager gets an error, not the end of the input.
    void abort();

private:
    int socket_;
    std::unique_ptr<TlsChannel> channel_;
};

// Threads:  one, which runs the context.
// Lifetime: borrows the context and the log.
class LinkPool {
public:
    // Called with null if no link was available in time.
    using Taken = std::function<void(std::unique_ptr<Link>)>;

    LinkPool(boost::asio::io_context& control, const Log& log,
             std::shared_ptr<const TlsContext> tls, HostAndPort manager)
        : control_(control),
          log_(log),
          tls_(std::move(tls)),
          manager_(std::move(manager)),
          timer_(control) {}

    // Begins to establish the links in reserve.
    void start() { maintain(); }
    // Calls `taken` with a link, now or within `timeout`.
    void take(std::chrono::milliseconds timeout, Taken taken);

private:
    using Time = std::chrono::steady_clock::time_point;
    struct Waiting {
        Time until;
        Taken taken;
    };

    std::unique_ptr<Link> take_ready();
    void maintain();
    void schedule();
    boost::asio::awaitable<void> connect();
    boost::asio::awaitable<std::unique_ptr<Link>> try_to_connect(std::string& reason);
    boost::asio::awaitable<std::string> establish(std::shared_ptr<LinkSocket> socket,
                                                  std::unique_ptr<TlsChannel>& channel);
    void connected(std::unique_ptr<Link> link);
    void failed(const std::string& reason);

    boost::asio::io_context& control_;
    const Log& log_;
    const std::shared_ptr<const TlsContext> tls_;
    const HostAndPort manager_;
    std::deque<std::unique_ptr<Link>> ready_;
    std::deque<Waiting> waiting_;
    std::size_t connecting_ = 0;
    // Before this time, no connection is tried, because the last one has failed.
    Time next_try_{};
    std::chrono::milliseconds pause_{0};
    bool reachable_ = true;
    boost::asio::steady_timer timer_;
    RateLimiter logged_{std::chrono::milliseconds{10'000}};
};

}  // namespace rocklock
