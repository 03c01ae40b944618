#include "daemon/net/client_socket.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rocklock {

ClientSocket::~ClientSocket() {
    if (!channel_) ::close(socket_);
}

ssize_t ClientSocket::receive(std::span<char> buffer) {
    if (channel_) return channel_->receive(buffer);
    return ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
}

ssize_t ClientSocket::send(std::string_view bytes) {
    if (channel_) return channel_->send(bytes);
    return ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ClientSocket::has_unread() const {
    if (channel_) return channel_->has_unread();
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
