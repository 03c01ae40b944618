#include "daemon/net/client_socket.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {

ClientSocket::~ClientSocket() {
    if (!channel_) ::close(socket_);
}

ssize_t ClientSocket::receive(std::span<char> buffer) {
    if (channel_) return channel_->receive(buffer);
    if (!ahead_.empty()) return take_ahead(buffer);
    if (error_ahead_ != 0) {
        errno = std::exchange(error_ahead_, 0);
        return -1;
    }
    return ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
}

ssize_t ClientSocket::take_ahead(std::span<char> buffer) {
    ROCKLOCK_ASSERT(ahead_.size() <= buffer.size());
    std::copy(ahead_.begin(), ahead_.end(), buffer.begin());
    const auto size = static_cast<ssize_t>(std::exchange(ahead_, {}).size());
    const auto rest = buffer.subspan(static_cast<std::size_t>(size));
    if (!std::exchange(filled_ahead_, false) || rest.empty()) return size;
    const auto more = ::recv(socket_, rest.data(), rest.size(), MSG_DONTWAIT);
    if (more < 0) error_ahead_ = errno;
    return more > 0 ? size + more : size;
}

std::size_t ClientSocket::receive_ahead(std::span<char> space) {
    if (channel_ || error_ahead_ != 0) return 0;
    ROCKLOCK_ASSERT(ahead_.empty());
    const auto size = receive(space);
    // The end of the input need not be remembered: recv() reports it again.
    if (size < 0) error_ahead_ = errno;
    if (size <= 0) return 0;
    ahead_ = space.first(static_cast<std::size_t>(size));
    filled_ahead_ = ahead_.size() == space.size();
    return ahead_.size();
}

ssize_t ClientSocket::send(std::string_view bytes) {
    if (channel_) return channel_->send(bytes);
    return ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ClientSocket::has_unread() const {
    if (channel_) return channel_->has_unread();
    if (!ahead_.empty()) return true;
    int bytes = 0;
    return ::ioctl(socket_, FIONREAD, &bytes) == 0 && bytes > 0;
}

void ClientSocket::end_output() {
    if (channel_) return channel_->end_output();
    ::shutdown(socket_, SHUT_WR);
}

void ClientSocket::hang_up(IoThread& thread) {
    if (channel_) return channel_->forget();
    ::shutdown(socket_, SHUT_RDWR);
    thread.forget(socket_);
}

bool ClientSocket::watch(IoThread& thread, const std::shared_ptr<IoThread::Served>& served,
                         std::uint32_t events) {
    if (!channel_) return thread.watch(socket_, served, events);
    channel_->watch(served, events);
    return true;
}

void ClientSocket::change(IoThread& thread, std::uint32_t events) {
    if (channel_) return channel_->change(events);
    thread.change(socket_, events);
}

}  // namespace rocklock
