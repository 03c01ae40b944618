#include "daemon/net/discard_input.hpp"

#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rocklock {

namespace asio = boost::asio;

asio::awaitable<void> discard_input(std::shared_ptr<asio::generic::stream_protocol::socket> socket,
                                    std::chrono::milliseconds max_time) {
    boost::system::error_code error;
    socket->shutdown(asio::socket_base::shutdown_send, error);
    asio::steady_timer limit(socket->get_executor(), max_time);
    // The handler may run after this function has returned.
    limit.async_wait([socket](const boost::system::error_code& cancelled) {
        boost::system::error_code ignored;
        if (!cancelled) socket->close(ignored);
    });
    std::array<char, 4096> dropped{};
    while (!error) {
        co_await socket->async_read_some(asio::buffer(dropped),
                                         asio::redirect_error(asio::use_awaitable, error));
    }
    limit.cancel();
}

}  // namespace rocklock
