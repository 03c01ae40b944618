#include "client/frame_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/unix_socket.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

constexpr std::size_t receive_size = 64U << 10;
// The maximum capacity of the receive buffer that is kept after a long reply.
constexpr std::size_t kept_buffer = 1U << 20;

// The beginning of the response with which a daemon refuses a connection: a limit of connections is
// reached, or a relay cannot reach its manager. It is HTTP, because the daemon has not read the
// greeting and does not know the protocol of the client. The daemon then sends no more bytes.
constexpr std::string_view refusal_start = "HTTP/1.1 503 ";
constexpr std::size_t max_refusal = 4096;

Error refused(std::string_view answer) {
    std::string message =
        "the daemon has reached its maximum number of connections: try again later, or raise its "
        "--max-connections";
    const auto head_end = answer.find("\r\n\r\n");
    if (head_end != std::string_view::npos) {
        auto error = read_error(answer.substr(head_end + 4));
        const bool is_known =
            error.code == ErrorCode::unreachable || error.code == ErrorCode::limit_exceeded;
        if (is_known) message = std::move(error.message);
    }
    return {ErrorCode::limit_exceeded, std::move(message)};
}

// Returns whether the response has its whole body. Without a length, the end of the input ends it.
bool is_complete(std::string_view answer) {
    const auto head_end = answer.find("\r\n\r\n");
    if (head_end == std::string_view::npos) return false;
    constexpr std::string_view length = "\r\nContent-Length: ";
    const auto at = answer.substr(0, head_end).find(length);
    if (at == std::string_view::npos) return false;
    std::size_t bytes = 0;
    const auto number = answer.substr(at + length.size());
    std::from_chars(number.data(), number.data() + number.size(), bytes);
    return answer.size() - head_end - 4 >= bytes;
}

Error over(const std::string& why) {
    return {ErrorCode::unreachable, "the connection to the daemon ended: " + why};
}

}  // namespace

Result<FrameSocket> FrameSocket::connect(const std::string& path,
                                         std::chrono::steady_clock::time_point deadline) {
    FrameSocket socket(connect_unix(path, deadline));
    if (!socket) {
        return Error(ErrorCode::unreachable,
                     "no daemon answers on " + path + ": " + std::strerror(errno));
    }
    socket.outgoing_ = frame_greeting;
    return socket;
}

FrameSocket::FrameSocket(FrameSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::move(other.memory_)),
      sharing_(other.sharing_),
      outgoing_(std::move(other.outgoing_)),
      sent_(std::exchange(other.sent_, 0)) {}

FrameSocket& FrameSocket::operator=(FrameSocket&& other) noexcept {
    if (this == &other) return *this;
    close();
    fd_ = std::exchange(other.fd_, -1);
    memory_ = std::move(other.memory_);
    sharing_ = other.sharing_;
    outgoing_ = std::move(other.outgoing_);
    sent_ = std::exchange(other.sent_, 0);
    return *this;
}

FrameSocket::~FrameSocket() { close(); }

void FrameSocket::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    memory_.reset();
}

ssize_t FrameSocket::send(std::string_view bytes) {
    if (memory_) return memory_->send(bytes);
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool FrameSocket::send_some() {
    while (has_outgoing()) {
        const auto size = send(std::string_view(outgoing_).substr(sent_));
        if (size >= 0) {
            sent_ += static_cast<std::size_t>(size);
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno != EINTR) {
            return false;
        }
    }
    outgoing_.clear();
    sent_ = 0;
    return true;
}

Error FrameReceiver::ended(const std::string& why) const {
    const bool is_refused = !greeted_ && incoming_.starts_with(refusal_start);
    return is_refused ? refused(incoming_) : over(why);
}

Result<void> FrameReceiver::take_greeting(std::string_view& bytes) {
    if (bytes.size() < frame_greeting.size()) return {};
    if (bytes.starts_with(refusal_start)) {
        if (bytes.size() > max_refusal || is_complete(bytes)) return refused(bytes);
        return {};
    }
    if (!bytes.starts_with(frame_greeting)) {
        return over(
            "the other end is not a Rocklock daemon, or does not support version 1 of the frames");
    }
    bytes.remove_prefix(frame_greeting.size());
    greeted_ = true;
    return {};
}

ssize_t FrameReceiver::receive_bytes(int fd, std::span<char> buffer) {
    if (memory_) {
        const bool in_memory = memory_->has_input();
        if (!in_memory || !socket_read_) {
            const auto size = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (size > 0) return size;
            // The daemon can have written to the memory since the check above, and then closed the
            // socket.
            if (!memory_->has_input() || (!in_memory && size < 0)) return size;
            // All bytes that the daemon has sent on the socket were received.
            socket_read_ = true;
        }
        return memory_->receive(buffer);
    }
    std::vector<Descriptor> descriptors;
    const auto size = receive_with_descriptors(fd, buffer, descriptors);
    if (!descriptors.empty()) memory_ = SharedClientEnd::attach(std::move(descriptors));
    return size;
}

Result<void> FrameReceiver::receive(int fd, const std::function<void(const Frame&)>& take) {
    std::array<char, receive_size> buffer;
    const auto size = receive_bytes(fd, buffer);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size <= 0) return ended(size == 0 ? "the daemon closed it" : std::strerror(errno));
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
    const bool joined = !incoming_.empty();
    if (joined) {
        incoming_ += bytes;
        bytes = incoming_;
    }
    if (!greeted_) {
        if (auto greeted = take_greeting(bytes); !greeted) return greeted;
    }
    while (greeted_) {
        const auto frame = take_frame(bytes, max_reply_frame_bytes);
        if (!frame) return over("the daemon sent bytes that are not a frame");
        if (!*frame) break;
        take(**frame);
    }
    if (joined) {
        incoming_.erase(0, incoming_.size() - bytes.size());
    } else if (!bytes.empty()) {
        incoming_ = bytes;
    }
    if (incoming_.empty() && incoming_.capacity() > kept_buffer) incoming_ = {};
    return {};
}

}  // namespace rocklock
