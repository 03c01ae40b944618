#include "daemon/relay/relayed_client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "daemon/http/http_answer.hpp"
#include "daemon/net/socket_input.hpp"

namespace rocklock {
namespace {

// The bytes of one read are sent in one frame.
static_assert(read_bytes <= max_link_payload);

// After the manager has closed a connection, its client has this time to read the last response.
constexpr std::chrono::milliseconds max_response_wait{2'000};
// A client that has not accepted all bytes, and accepts none for this time, is disconnected.
constexpr std::chrono::milliseconds max_client_stall{60'000};

}  // namespace

RelayedClient::RelayedClient(int socket, ChannelNumber number, std::shared_ptr<FramedLink> link,
                             std::function<void()> closed)
    : socket_(socket),
      report_(socket),
      number_(number),
      link_(std::move(link)),
      thread_(link_->thread()),
      closed_callback_(std::move(closed)) {}

RelayedClient::~RelayedClient() { ::close(socket_); }

void RelayedClient::start(const ClientIdentity& identity) {
    link_->send(LinkFrame::open, number_, encode(identity));
    interest_ = EPOLLIN;
    // Without memory to watch the socket, the client gets no responses.
    if (!thread_.watch(socket_, shared_from_this(), interest_)) {
        link_->send(LinkFrame::close, number_, encode_count(0));
        close();
    }
}

// ---- Called by the IoThread ----

void RelayedClient::ready(std::uint32_t events) {
    if (closed_) return;
    if ((events & EPOLLERR) != 0) report_.note_error();
    if ((events & EPOLLOUT) != 0) write();
    if (closed_) return;
    const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (!input_ended_ && credit_ > 0 && (gone || (events & EPOLLIN) != 0)) {
        read(gone);
    } else if (gone) {
        client_closed();
    }
    update_interest();
}

// `closed`: the client has closed its socket.
void RelayedClient::read(bool closed) {
    auto& buffer = read_buffer();
    const auto wanted = std::min<std::uint64_t>(buffer.size(), credit_);
    const auto size = ::recv(socket_, buffer.data(), wanted, MSG_DONTWAIT);
    // The manager does not read further requests after it has closed the connection.
    if (size > 0 && manager_closed_) return;
    if (size > 0) {
        const auto bytes = static_cast<std::size_t>(size);
        credit_ -= bytes;
        return link_->send(LinkFrame::data, number_, {buffer.data(), bytes});
    }
    if (size < 0 && would_block()) return;
    if (size < 0) report_.note_error();
    if (size == 0) report_.note_end_of_input();
    input_ended_ = true;
    if (closed || size < 0) return client_closed();
    link_->send(LinkFrame::end, number_);
}

// The client cannot read any more.
void RelayedClient::client_closed() {
    if (!manager_closed_) {
        const auto read = report_.read_of(total_written_);
        link_->send(LinkFrame::close, number_, encode_count(read));
    }
    close();
}

// ---- Called by the link ----

bool RelayedClient::receive(const DecodedFrame& frame) {
    if (closed_) return true;
    switch (frame.type) {
        case LinkFrame::data:
            if (output_.size() - written_ + consumed_ + frame.payload.size() > first_credit) {
                return false;
            }
            output_.append(frame.payload);
            break;
        case LinkFrame::end:
            output_ended_ = true;
            break;
        case LinkFrame::close:
            output_ended_ = manager_closed_ = true;
            await_close();
            break;
        case LinkFrame::credit: {
            const auto credit = decode_count(frame.payload);
            if (!credit || credit_ + *credit > first_credit) return false;
            credit_ += *credit;
            break;
        }
        case LinkFrame::refuse:
            refuse(frame.payload);
            return true;
        default:
            return false;
    }
    write();
    update_interest();
    return true;
}

// Passes on what the client has not got yet, and ends the connection, as a manager that ends does.
void RelayedClient::lose_link() {
    if (closed_) return;
    manager_closed_ = true;
    write();
    close();
}

void RelayedClient::refuse(std::string_view reason) {
    append_answer(output_, refusal(503, "LimitExceededException", std::string(reason)),
                  {.keep_alive = false});
    output_ended_ = manager_closed_ = true;
    await_close();
    write();
    update_interest();
}

void RelayedClient::write() {
    while (!closed_ && written_ < output_.size()) {
        const auto size = ::send(socket_, output_.data() + written_, output_.size() - written_,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && would_block()) return;
        if (size < 0) {
            if (errno != EPIPE || report_.is_tcp()) report_.note_error();
            return client_closed();
        }
        const auto bytes = static_cast<std::size_t>(size);
        written_ += bytes;
        total_written_ += bytes;
        consumed_ += bytes;
    }
    if (closed_) return;
    output_.clear();
    written_ = 0;
    if (consumed_ >= credit_step && !output_ended_) {
        link_->send(LinkFrame::credit, number_, encode_count(std::exchange(consumed_, 0)));
    }
    if (output_ended_) ::shutdown(socket_, SHUT_WR);
    if (manager_closed_ && input_ended_) close();
}

// Called after the manager has closed the connection. The client may still read the last responses.
// If the socket were closed with unread input, the kernel could discard them.
void RelayedClient::await_close() {
    seen_written_ = total_written_;
    const bool pending = written_ < output_.size();
    thread_.remind_at(
        std::chrono::steady_clock::now() + (pending ? max_client_stall : max_response_wait),
        shared_from_this());
}

void RelayedClient::remind() {
    if (closed_) return;
    // A client that reads slowly gets more time.
    if (total_written_ > seen_written_) return await_close();
    close();
}

// ---- State ----

void RelayedClient::update_interest() {
    if (closed_) return;
    std::uint32_t wanted = 0;
    if (!input_ended_ && credit_ > 0) wanted |= EPOLLIN;
    if (written_ < output_.size()) wanted |= EPOLLOUT;
    if (wanted != interest_) thread_.change(socket_, interest_ = wanted);
}

void RelayedClient::close() {
    if (std::exchange(closed_, true)) return;
    const auto self = shared_from_this();
    ::shutdown(socket_, SHUT_RDWR);
    thread_.forget(socket_);
    closed_callback_();
}

}  // namespace rocklock
