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
    return receive_now(buffer);
}

ssize_t ClientSocket::receive_now(std::span<char> buffer) {
    const bool in_memory = has_input_in_memory();
    if (!in_memory || !socket_read_) {
        const auto size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size > 0) return size;
        // The client can have written to the memory since the check above, and then closed the
        // socket.
        if (!has_input_in_memory()) return size;
        if (size < 0 && errno != EAGAIN && errno != EINTR) report_.note_error();
        if (!in_memory && size < 0) return size;
        // All bytes that the client has sent on the socket were received.
        socket_read_ = true;
    }
    return memory_->receive(buffer);
}

ssize_t ClientSocket::take_ahead(std::span<char> buffer) {
    ROCKLOCK_ASSERT(ahead_.size() <= buffer.size());
    std::copy(ahead_.begin(), ahead_.end(), buffer.begin());
    const auto size = static_cast<ssize_t>(std::exchange(ahead_, {}).size());
    const auto rest = buffer.subspan(static_cast<std::size_t>(size));
    if (!std::exchange(filled_ahead_, false) || rest.empty()) return size;
    const auto more = receive_now(rest);
    if (more < 0) error_ahead_ = errno;
    return more > 0 ? size + more : size;
}

std::size_t ClientSocket::receive_ahead(std::span<char> space) {
    // Reading from memory needs no system call, so there is no gain in doing it ahead. A connection
    // with memory can have two events in one round.
    if (channel_ || memory_ || error_ahead_ != 0) return 0;
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
    if (memory_ && memory_->attached()) sends_to_memory_ = true;
    if (sends_to_memory_) return memory_->send(bytes);
    if (offers_memory_ && !bytes.empty()) return send_offer(bytes);
    return ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t ClientSocket::send_offer(std::string_view bytes) {
    const auto size = send_with_descriptors(socket_, bytes, memory_->offer());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return size;
    // If the system has refused to pass descriptors, the connection continues on the socket.
    offers_memory_ = false;
    memory_->close_offer();
    return size < 0 ? send(bytes) : size;
}

bool ClientSocket::has_unread() const {
    if (channel_) return channel_->has_unread();
    if (!ahead_.empty() || has_input_in_memory()) return true;
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
    if (memory_) thread.forget(memory_->event());
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

void ClientSocket::offer_memory(IoThread& thread, const std::shared_ptr<IoThread::Served>& served,
                                SharedConnections& connections) {
    if (channel_ || memory_ || report_.is_tcp() || !connections.try_add()) return;
    auto memory = SharedDaemonEnd::create();
    if (!memory) return connections.remove();
    if (!thread.watch(memory->event(), served, EPOLLIN | EPOLLET)) {
        thread.forget(memory->event());
        return connections.remove();
    }
    memory_ = std::move(memory);
    offers_memory_ = true;
    report_.use_memory(*memory_);
}

}  // namespace rocklock
