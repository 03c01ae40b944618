#include "daemon/relay/relayed_connection.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "daemon/http/http_answer.hpp"
#include "daemon/peer/preface.hpp"

namespace rocklock {
namespace {

constexpr std::size_t read_bytes = 64u << 10;

std::array<char, read_bytes>& read_buffer() {
    thread_local std::array<char, read_bytes> buffer;
    return buffer;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

class RelayedConnection::Side final : public IoThread::Served {
public:
    Side(std::shared_ptr<RelayedConnection> connection, bool is_link)
        : connection_(std::move(connection)), is_link_(is_link) {}

    void ready(std::uint32_t events) override {
        if (is_link_) return connection_->link_ready(events);
        connection_->client_ready(events);
    }
    void continue_input() override {}
    void send() override {}
    void remind() override {}

private:
    const std::shared_ptr<RelayedConnection> connection_;
    const bool is_link_;
};

void RelayedConnection::start(int client, std::unique_ptr<Link> link, const std::string& preface,
                              IoThread& thread, std::function<void()> ended) {
    auto connection =
        std::make_shared<RelayedConnection>(client, std::move(link), thread, std::move(ended));
    thread.introduce([connection, preface] { connection->begin(preface); });
}

RelayedConnection::RelayedConnection(int client, std::unique_ptr<Link> link, IoThread& thread,
                                     std::function<void()> ended)
    : client_(client),
      report_(client),
      link_(std::move(link)),
      thread_(thread),
      ended_(std::move(ended)) {}

RelayedConnection::~RelayedConnection() {
    ::close(client_);
    ended_();
}

void RelayedConnection::begin(const std::string& preface) {
    const auto self = shared_from_this();
    const bool watched =
        thread_.watch(client_, std::make_shared<Side>(self, false), 0) &&
        thread_.watch(link_->socket(), std::make_shared<Side>(self, true), EPOLLIN);
    client_watched_ = true;
    link_interest_ = EPOLLIN;
    if (!watched) return close(false);
    to_link_.pending = preface;
    write_link();
    // The first request has often arrived already.
    if (!closed_ && to_link_.is_empty()) read_client(false);
    update_interest();
}

// ---- Called by the IoThread ----

void RelayedConnection::client_ready(std::uint32_t events) {
    if (closed_) return;
    if ((events & EPOLLERR) != 0) report_.note_error();
    if ((events & EPOLLOUT) != 0) {
        write_client();
        if (may_read_link() && link_->channel().has_buffered()) read_link();
    }
    if (closed_) return;
    const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (!to_link_.ended && to_link_.is_empty() && (gone || (events & EPOLLIN) != 0)) {
        read_client(gone);
    } else if (gone) {
        client_closed();
    }
    update_interest();
}

void RelayedConnection::link_ready(std::uint32_t events) {
    if (closed_) return;
    if ((events & EPOLLOUT) != 0) write_link();
    if (closed_) return;
    const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (may_read_link()) {
        if (gone || (events & EPOLLIN) != 0) read_link();
    } else if (gone) {
        close(to_client_.ended && to_client_.is_empty());
    }
    update_interest();
}

// ---- From the client to the manager ----

// `closed`: the client has closed its socket.
void RelayedConnection::read_client(bool closed) {
    auto& buffer = read_buffer();
    const auto size = ::recv(client_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size > 0) {
        to_link_.pending.assign(buffer.data(), static_cast<std::size_t>(size));
        to_link_.sent = 0;
        return write_link();
    }
    if (size < 0 && would_block()) return;
    if (size < 0) {
        report_.note_error();
        return client_closed();
    }
    report_.note_end_of_input();
    to_link_.ended = true;
    if (closed) return client_closed();
    write_link();
}

void RelayedConnection::write_link() {
    while (!to_link_.is_empty()) {
        const auto size = link_->channel().send(to_link_.rest());
        if (size < 0 && !would_block()) return close(false);
        if (size < 0) return;
        to_link_.sent += static_cast<std::size_t>(size);
    }
    to_link_.pending.clear();
    to_link_.sent = 0;
    if (client_gone_) return close(client_read_all_);
    if (!to_link_.ended) return;
    link_->channel().end_output();
    ::shutdown(link_->socket(), SHUT_WR);
}

// The client cannot read any more. A Unix socket reports whether the client has read everything.
// The bytes that the client has sent before are still passed on.
void RelayedConnection::client_closed() {
    if (std::exchange(client_gone_, true)) return;
    client_read_all_ =
        to_client_.is_empty() && !report_.failed() && (report_.is_tcp() || report_.all_read());
    if (to_link_.is_empty()) return close(client_read_all_);
    forget_client();
}

void RelayedConnection::forget_client() {
    if (std::exchange(client_watched_, false)) thread_.forget(client_);
}

// ---- From the manager to the client ----

void RelayedConnection::read_link() {
    auto& buffer = read_buffer();
    do {
        const auto size = link_->channel().receive(buffer);
        if (size < 0 && would_block()) return;
        if (size < 0) return close(false);
        if (size == 0) {
            to_client_.ended = true;
            if (!answered_) return close(false);
            return write_client();
        }
        std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
        if (!answered_ && !take_answer(bytes)) continue;
        if (closed_) return;
        to_client_.pending.assign(bytes);
        to_client_.sent = 0;
        write_client();
    } while (may_read_link() && link_->channel().has_buffered());
}

// Takes the manager's answer to the preface from the front of the bytes. Returns true when it is
// complete.
bool RelayedConnection::take_answer(std::string_view& bytes) {
    answer_ += bytes;
    if (answer_.size() < preface_head_size) return false;
    const auto head = std::string_view(answer_).substr(0, preface_head_size);
    const auto size = answer_rest_size(head);
    if (!size) {
        refuse(size.error().message);
        return true;
    }
    if (answer_.size() < preface_head_size + *size) return false;
    const auto answer =
        decode_answer(head, std::string_view(answer_).substr(preface_head_size, *size));
    const std::size_t after = answer_.size() - preface_head_size - *size;
    bytes.remove_prefix(bytes.size() - after);
    answered_ = true;
    if (!answer || !answer->accepted) {
        refuse(answer ? answer->reason : answer.error().message);
    }
    answer_.clear();
    return true;
}

// Gives the client the reason why it cannot use the manager, in the form of a refusal by the
// manager.
void RelayedConnection::refuse(const std::string& reason) {
    std::string text;
    append_answer(text, refusal(503, "LimitExceededException", reason), {.keep_alive = false});
    [[maybe_unused]] const auto sent =
        ::send(client_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    close(false);
}

void RelayedConnection::write_client() {
    while (!to_client_.is_empty()) {
        const auto rest = to_client_.rest();
        const auto size = ::send(client_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && !would_block()) {
            report_.note_error();
            return close(false);
        }
        if (size < 0) return;
        to_client_.sent += static_cast<std::size_t>(size);
    }
    to_client_.pending.clear();
    to_client_.sent = 0;
    if (to_client_.ended) {
        // The manager has closed the connection, or has no further responses.
        if (to_link_.ended) return close(true);
        ::shutdown(client_, SHUT_WR);
    }
}

// ---- State ----

void RelayedConnection::update_interest() {
    if (closed_) return;
    std::uint32_t client = 0;
    if (!to_link_.ended && to_link_.is_empty()) client |= EPOLLIN;
    if (!to_client_.is_empty()) client |= EPOLLOUT;
    std::uint32_t link = 0;
    if (!to_client_.ended && to_client_.is_empty()) link |= EPOLLIN;
    if (!to_link_.is_empty()) link |= EPOLLOUT;
    if (client_watched_ && client != client_interest_) {
        thread_.change(client_, client_interest_ = client);
    }
    if (link != link_interest_) thread_.change(link_->socket(), link_interest_ = link);
}

// `in_order`: the client has read everything that the manager has sent.
void RelayedConnection::close(bool in_order) {
    if (std::exchange(closed_, true)) return;
    forget_client();
    thread_.forget(link_->socket());
    ::shutdown(client_, SHUT_RDWR);
    if (!in_order) return link_->abort();
    link_->channel().end_output();
}

}  // namespace rocklock
