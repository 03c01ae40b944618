// Establishes the links of a relay, and establishes them again when they are lost.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/peer/link_socket.hpp"
#include "daemon/peer/preface.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Threads:  one, which runs the context.
// Lifetime: borrows the context and the log.
class LinkConnector {
public:
    // Takes ownership of the socket of an established link.
    using Connected = std::function<void(int socket, std::unique_ptr<TlsChannel> channel)>;

    LinkConnector(boost::asio::io_context& control, const Log& log,
                  std::shared_ptr<const TlsContext> tls, HostAndPort manager,
                  const Preface& preface)
        : control_(control),
          log_(log),
          tls_(std::move(tls)),
          manager_(std::move(manager)),
          preface_(encode(preface)) {}

    // Tries to connect until it succeeds, with increasing pauses, and then calls `connected`.
    void connect(Connected connected);

    // Uses other certificates for later attempts.
    void use(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }

    // Returns the reason why the last attempt has failed. Empty before the first failure, and after
    // a successful attempt.
    const std::string& last_failure() const { return last_failure_; }

private:
    boost::asio::awaitable<void> run(Connected connected);
    boost::asio::awaitable<std::string> try_to_connect(std::shared_ptr<LinkSocket>& socket,
                                                       std::unique_ptr<TlsChannel>& channel);
    boost::asio::awaitable<std::string> establish(LinkSocket& socket, TlsChannel& channel);
    void log_failure(const std::string& reason);

    boost::asio::io_context& control_;
    const Log& log_;
    std::shared_ptr<const TlsContext> tls_;
    const HostAndPort manager_;
    const std::string preface_;
    std::string last_failure_;
    RateLimiter logged_{std::chrono::milliseconds{10'000}};
};

}  // namespace rocklock
