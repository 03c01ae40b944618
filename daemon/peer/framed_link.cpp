#include "daemon/peer/framed_link.hpp"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/net/socket_input.hpp"

namespace rocklock {
namespace {

// The number of reads in one round. More input is read in the next round, so that the local clients
// of the thread are served, too.
constexpr int max_reads = 8;
// A buffer of this size or less is kept when it is empty.
constexpr std::size_t max_kept = 256u << 10;

}  // namespace

FramedLink::FramedLink(int socket, std::unique_ptr<TlsChannel> channel, IoThread& thread)
    : socket_(socket), channel_(std::move(channel)), thread_(thread) {}

FramedLink::~FramedLink() { ::close(socket_); }

void FramedLink::start(std::unique_ptr<Receiver> receiver) {
    receiver_ = std::move(receiver);
    open_ = true;
    interest_ = EPOLLIN;
    if (!thread_.watch(socket_, shared_from_this(), interest_)) {
        return lose("the kernel has no memory to watch the socket");
    }
    // The other side may have sent frames together with the last bytes of the preface.
    read();
}

void FramedLink::send(LinkFrame type, ChannelNumber channel, std::string_view payload) {
    if (!open_) return;
    // The output may never be empty while the link is busy.
    if (sent_ >= max_kept) {
        output_.erase(0, sent_);
        sent_ = 0;
    }
    append_frame(output_, type, channel, payload);
    if (!std::exchange(send_pending_, true)) thread_.send_soon(shared_from_this());
}

bool FramedLink::has_unread() const {
    int bytes = 0;
    return ::ioctl(socket_, FIONREAD, &bytes) == 0 && bytes > 0;
}

void FramedLink::close() {
    const auto self = shared_from_this();
    finish();
}

void FramedLink::disconnect(const std::string& reason) {
    const auto self = shared_from_this();
    if (finish()) receiver_->lost(reason);
}

// Returns false if the link has ended before.
bool FramedLink::finish() {
    if (!open_) return false;
    send();
    if (!std::exchange(open_, false)) return false;
    channel_->end_output();
    forget();
    return true;
}

// ---- Called by the IoThread ----

void FramedLink::ready(std::uint32_t events) {
    if (!open_) return;
    if ((events & EPOLLOUT) != 0) send();
    if (open_ && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) read();
}

void FramedLink::continue_input() {
    continues_ = false;
    if (!open_) return;
    if (channel_->has_buffered()) read();
}

void FramedLink::send() {
    send_pending_ = false;
    if (!open_) return;
    while (sent_ < output_.size()) {
        const auto size = channel_->send(std::string_view(output_).substr(sent_));
        if (size < 0 && errno != EAGAIN) return lose(channel_->failure());
        blocked_ = size < 0;
        if (blocked_) return update_interest();
        sent_ += static_cast<std::size_t>(size);
    }
    sent_ = 0;
    output_.clear();
    if (output_.capacity() > max_kept) output_.shrink_to_fit();
    blocked_ = false;
    update_interest();
}

// ---- Receiving ----

void FramedLink::read() {
    const auto self = shared_from_this();
    auto& buffer = read_buffer();
    for (int reads = 0; reads < max_reads; ++reads) {
        const auto size = channel_->receive(buffer);
        if (size < 0 && errno == EAGAIN) return;
        if (size < 0) return lose(channel_->failure());
        if (size == 0) return lose("");
        received_.append(buffer.data(), static_cast<std::size_t>(size));
        if (!take_frames()) return;
        if (!channel_->has_buffered()) return;
    }
    if (!std::exchange(continues_, true)) thread_.continue_input_soon(self);
}

// Returns false if the link was closed or lost.
bool FramedLink::take_frames() {
    std::string_view rest = received_;
    while (open_) {
        auto frame = take_frame(rest);
        if (!frame) {
            lose(frame.error().message);
            return false;
        }
        if (!*frame) break;
        if (!receiver_->receive(**frame)) {
            lose("the other side has violated the protocol of the link");
            return false;
        }
    }
    if (!open_) return false;
    received_.erase(0, received_.size() - rest.size());
    if (received_.empty() && received_.capacity() > max_kept) received_.shrink_to_fit();
    return true;
}

// ---- State ----

void FramedLink::lose(const std::string& reason) {
    if (!std::exchange(open_, false)) return;
    const auto self = shared_from_this();
    forget();
    receiver_->lost(reason);
}

void FramedLink::update_interest() {
    const std::uint32_t wanted = blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (wanted != interest_) thread_.change(socket_, interest_ = wanted);
}

void FramedLink::forget() {
    thread_.forget(socket_);
    ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace rocklock
