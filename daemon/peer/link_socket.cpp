#include "daemon/peer/link_socket.hpp"

#include <cerrno>
#include <span>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rocklock {

namespace asio = boost::asio;

asio::awaitable<bool> shake_hands(LinkSocket& socket, TlsChannel& channel) {
    boost::system::error_code error;
    while (!error) {
        const auto progress = channel.shake_hands();
        if (progress == TlsChannel::Progress::done) co_return true;
        if (progress == TlsChannel::Progress::failed) co_return false;
        const auto wait = progress == TlsChannel::Progress::wants_input ? LinkSocket::wait_read
                                                                        : LinkSocket::wait_write;
        co_await socket.async_wait(wait, asio::redirect_error(asio::use_awaitable, error));
    }
    co_return false;
}

asio::awaitable<bool> receive_exactly(LinkSocket& socket, TlsChannel& channel, std::size_t size,
                                      std::string& bytes) {
    const std::size_t end = bytes.size() + size;
    std::size_t filled = bytes.size();
    bytes.resize(end);
    boost::system::error_code error;
    while (filled < end) {
        const auto received = channel.receive(std::span(bytes).subspan(filled));
        if (received > 0) {
            filled += static_cast<std::size_t>(received);
            continue;
        }
        if (received == 0 || errno != EAGAIN) co_return false;
        co_await socket.async_wait(LinkSocket::wait_read,
                                   asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return false;
    }
    co_return true;
}

bool send_at_once(TlsChannel& channel, const std::string& message) {
    return channel.send(message) == static_cast<ssize_t>(message.size());
}

}  // namespace rocklock
