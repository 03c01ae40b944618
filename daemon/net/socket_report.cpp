#include "daemon/net/socket_report.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace rocklock {
namespace {

// Returns the bytes of the output that the peer has not read (Unix socket) or whose receipt its
// kernel has not confirmed (TCP).
std::uint64_t queued_output(int socket) {
    int bytes = 0;
    if (::ioctl(socket, TIOCOUTQ, &bytes) != 0) return 0;
    return static_cast<std::uint64_t>(std::max(bytes, 0));
}

int option(int socket, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : 0;
}

// Returns whether the peer has closed its end.
bool is_closed(int socket) {
    pollfd source{socket, 0, 0};
    return ::poll(&source, 1, 0) == 1 && (source.revents & POLLHUP) != 0;
}

}  // namespace

SocketReport::SocketReport(int socket, const ClientChannel* channel)
    : socket_(socket),
      channel_(channel),
      tcp_(channel != nullptr || option(socket, SO_DOMAIN) != AF_UNIX) {}

bool SocketReport::failed() {
    failed_ =
        failed_ || (channel_ != nullptr ? channel_->failed() : option(socket_, SO_ERROR) != 0);
    // The kernel does not know that the client has left bytes in shared memory unread.
    if (memory_ != nullptr && memory_->unread() > 0) failed_ = failed_ || is_closed(socket_);
    return failed_;
}

bool SocketReport::all_read() const {
    if (memory_ != nullptr && memory_->unread() > 0) return false;
    return !tcp_ && queued_output(socket_) == 0;
}

// With TCP, an error after the end of the input has two possible causes:
// - The client had closed its socket, and output that arrived later caused the reset. This output
//   was not acknowledged. The client had read all earlier output, because otherwise the connection
//   would have been reset when the client closed the socket.
// - The client had closed only its sending side, and closed its socket later, without having read
//   all output. In this case, all output was acknowledged, and it is unknown how much was read.
std::uint64_t SocketReport::read_of(std::uint64_t sent) {
    if (channel_ != nullptr) return channel_->read_of(sent);
    if (!failed()) return sent;
    // A client reads from the memory only after it has read all bytes from the socket.
    if (memory_ != nullptr && memory_->was_read()) return sent - memory_->unread();
    if (!tcp_ || !input_ended_) return 0;
    const std::uint64_t late = queued_output(socket_);
    return late == 0 ? 0 : sent - std::min(sent, late);
}

}  // namespace rocklock
