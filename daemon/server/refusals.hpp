// Refuses clients with the status 503 if there are too many connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <rocklock/identity.hpp>

#include "daemon/api/status_pages.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// A refused client has up to one second to read the response. During this time, it occupies a slot.
// One user can occupy at most a quarter of the slots. Therefore, one user cannot keep the daemon
// from accepting the clients of other users.
//
// Threads:  one, which runs the context.
// Lifetime: borrows all arguments. Refusals in progress end with the context.
class Refusals {
public:
    // `slots` is the maximum number of refusals in progress. `has_room` is called when full()
    // becomes false.
    // NOLINTNEXTLINE(readability-function-size): each parameter becomes a member
    Refusals(boost::asio::io_context& control, const Log& log, Traffic& traffic,
             int max_connections, int slots, std::function<void()> has_room)
        : control_(control),
          log_(log),
          traffic_(traffic),
          max_connections_(max_connections),
          slots_(slots),
          has_room_(std::move(has_room)) {}

    using Socket = boost::asio::generic::stream_protocol::socket;

    // Sends the response, which contains the reason. Then reads and discards the input of the
    // client for at most one second, or until the client closes the connection. If the socket were
    // closed with unread input, the kernel would reset the connection, and the client might lose
    // the response. If the user occupies all of its slots, the connection is closed immediately
    // after the response.
    void refuse(Socket socket, UserId uid, const std::string& reason);

    // Counts and logs a client that was refused by other means.
    void report(const std::string& reason);

    // Returns true if all slots are occupied. The caller should then accept no further clients.
    bool full() const;

private:
    boost::asio::awaitable<void> drain(std::shared_ptr<Socket> socket, UserId uid);

    boost::asio::io_context& control_;
    const Log& log_;
    Traffic& traffic_;
    const int max_connections_;
    const int slots_;
    const std::function<void()> has_room_;
    // The numbers of refusals in progress, in total and of each user. Users without refusals have
    // no entry.
    int in_progress_ = 0;
    std::map<UserId, int> by_user_;
    RateLimiter logged_{std::chrono::milliseconds{10'000}};
};

}  // namespace rocklock
