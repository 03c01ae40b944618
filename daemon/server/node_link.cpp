#include "daemon/server/node_link.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rocklock {

// ---- NodeLink ----

// A channel and its connection own each other, so one of these references must be removed.
NodeLink::~NodeLink() {
    for (const auto& [number, channel] : channels_) {
        channel->link_ = nullptr;
        channel->served_.reset();
    }
}

bool NodeLink::receive(const DecodedFrame& frame) {
    if (frame.type == LinkFrame::open) return open(frame);
    if (frame.type == LinkFrame::ended) {
        const auto process = decode_process(frame.payload);
        if (process) uses_.ended(*process);
        return process.has_value();
    }
    if (frame.type == LinkFrame::found) {
        const auto report = decode_report(frame.payload);
        if (report) uses_.found(*report);
        return report.has_value();
    }
    // The relay may have sent the frame before it knew that the channel was closed.
    const auto channel = channels_.find(frame.channel);
    if (channel == channels_.end()) return frame.channel <= last_opened_;
    return std::shared_ptr(channel->second)->receive(frame);
}

// The numbers of channels increase, so that a number is never used for two clients.
bool NodeLink::open(const DecodedFrame& frame) {
    const auto client = decode_client(frame.payload);
    if (!client || frame.channel <= last_opened_) return false;
    last_opened_ = frame.channel;
    const auto channel = std::make_shared<RelayedChannel>(*this, frame.channel);
    channels_.emplace(frame.channel, channel);
    uses_.opened(channel, *client);
    return true;
}

void NodeLink::lost(const std::string& reason) {
    const auto channels = std::exchange(channels_, {});
    for (const auto& [number, channel] : channels) channel->lose_link();
    uses_.lost(reason);
}

// ---- RelayedChannel: the connection ----

RelayedChannel::RelayedChannel(NodeLink& link, ChannelNumber number)
    : link_(&link), thread_(link.link_.thread()), number_(number) {}

ssize_t RelayedChannel::receive(std::span<char> buffer) {
    const std::size_t size = std::min(buffer.size(), input_.size() - input_at_);
    if (size > 0) {
        std::memcpy(buffer.data(), input_.data() + input_at_, size);
        input_at_ += size;
        if (input_at_ == input_.size()) {
            input_ = {};
            input_at_ = 0;
        }
        consumed(size);
        return static_cast<ssize_t>(size);
    }
    if (link_lost_) {
        errno = ECONNRESET;
        return -1;
    }
    if (input_ended_) return 0;
    errno = EAGAIN;
    return -1;
}

void RelayedChannel::consumed(std::size_t bytes) {
    consumed_ += bytes;
    if (consumed_ < credit_step || link_ == nullptr) return;
    incoming_credit_ += consumed_;
    link_->link_.send(LinkFrame::credit, number_, encode_count(std::exchange(consumed_, 0)));
}

ssize_t RelayedChannel::send(std::string_view bytes) {
    if (link_ == nullptr || output_ended_) {
        errno = EPIPE;
        return -1;
    }
    const auto size = std::min<std::uint64_t>({bytes.size(), credit_, max_link_payload});
    if (size == 0) {
        errno = EAGAIN;
        return -1;
    }
    link_->link_.send(LinkFrame::data, number_, bytes.substr(0, size));
    credit_ -= size;
    sent_ += size;
    return static_cast<ssize_t>(size);
}

void RelayedChannel::watch(const std::shared_ptr<IoThread::Served>& served, std::uint32_t events) {
    served_ = served;
    change(events);
}

void RelayedChannel::change(std::uint32_t events) {
    interest_ = events;
    report_soon();
}

void RelayedChannel::forget() {
    const auto self = shared_from_this();
    const auto served = std::exchange(served_, nullptr);
    if (link_ == nullptr) return;
    link_->link_.send(LinkFrame::close, number_);
    auto* const link = std::exchange(link_, nullptr);
    link->forget(number_);
}

void RelayedChannel::end_output() {
    if (link_ == nullptr || std::exchange(output_ended_, true)) return;
    link_->link_.send(LinkFrame::end, number_);
}

std::uint64_t RelayedChannel::read_of(std::uint64_t sent) const {
    return client_closed_ ? std::min(sent, read_) : sent;
}

void RelayedChannel::refuse(const std::string& reason) {
    if (link_ == nullptr) return;
    link_->link_.send(LinkFrame::refuse, number_, reason);
    auto* const link = std::exchange(link_, nullptr);
    link->forget(number_);
}

// ---- RelayedChannel: the link ----

bool RelayedChannel::receive(const DecodedFrame& frame) {
    switch (frame.type) {
        case LinkFrame::data:
            if (input_ended_ || frame.payload.size() > incoming_credit_) return false;
            incoming_credit_ -= frame.payload.size();
            input_.erase(0, std::exchange(input_at_, 0));
            input_.append(frame.payload);
            break;
        case LinkFrame::end:
            input_ended_ = true;
            break;
        case LinkFrame::close: {
            const auto read = decode_count(frame.payload);
            if (!read || client_closed_) return false;
            client_closed_ = input_ended_ = true;
            read_ = *read;
            break;
        }
        case LinkFrame::credit: {
            const auto credit = decode_count(frame.payload);
            if (!credit || credit_ + *credit > first_credit) return false;
            credit_ += *credit;
            break;
        }
        default:
            return false;
    }
    report();
    return true;
}

void RelayedChannel::lose_link() {
    link_ = nullptr;
    link_lost_ = input_ended_ = true;
    // The client cannot get the responses to the requests that are not read yet.
    input_ = {};
    input_at_ = 0;
    report_soon();
}

// As the kernel does for sockets: errors and the end of the connection are always reported, other
// events only if the connection is interested in them.
std::uint32_t RelayedChannel::events() const {
    std::uint32_t events = 0;
    if (has_unread() || input_ended_) events |= EPOLLIN;
    if (input_ended_) events |= EPOLLRDHUP;
    if (credit_ > 0) events |= EPOLLOUT;
    events &= interest_;
    if (client_closed_ || link_lost_) events |= EPOLLHUP;
    if (failed() || link_lost_) events |= EPOLLERR;
    return events;
}

// Reports events until the connection has handled them, one event in each round.
void RelayedChannel::report() {
    const auto self = shared_from_this();
    const auto served = served_;
    const auto now = events();
    if (!served || now == 0) return;
    served->ready(now);
    if (served_ && events() != 0) report_soon();
}

void RelayedChannel::report_soon() {
    if (!served_ || events() == 0 || std::exchange(reporting_, true)) return;
    thread_.continue_input_soon(shared_from_this());
}

void RelayedChannel::continue_input() {
    reporting_ = false;
    report();
}

}  // namespace rocklock
