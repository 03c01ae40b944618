#include "daemon/connection.hpp"

#include <poll.h>

#include <array>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/frame_conversation.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t read_bytes = 64u << 10;
// After bytes that are no HTTP, the rest is read and dropped for so long, since a socket that is
// closed with something unread takes the answer with it.
constexpr std::chrono::seconds farewell{2};
// How often a client of which nothing is read is looked after.
constexpr std::chrono::milliseconds look_after{50};
// For so long a reader of events may take nothing of what waits for it.
constexpr std::chrono::seconds longest_stall{10};

// One for each thread rather than for each connection: most of those have nothing to read.
std::array<char, read_bytes>& read_buffer() {
    thread_local std::array<char, read_bytes> buffer;
    return buffer;
}

error_code drop_some(Connection::Socket& socket) {
    error_code error;
    socket.read_some(asio::buffer(read_buffer()), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return {};
    return error;
}

}  // namespace

Connection::Connection(Socket socket, Strand strand, const Side& side)
    : socket_(std::move(socket)),
      strand_(std::move(strand)),
      traffic_(side.traffic),
      site_(side.site),
      peer_(std::make_shared<Peer>(side.dispatcher, side.caller)),
      clock_(side.dispatcher.clock()),
      look_after_(strand_),
      drained_(strand_, asio::steady_timer::time_point::max()),
      stalled_(strand_) {
    ++traffic_.connections;
}

Connection::~Connection() {
    if (counted_busy_) --traffic_.busy;
    --traffic_.connections;
}

void Connection::start() {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    asio::co_spawn(
        strand_, [self = shared_from_this()] { return self->read_loop(); }, asio::detached);
}

void Connection::on_strand(std::function<void()> run) { asio::post(strand_, std::move(run)); }

bool Connection::has_unread() const {
    if (closed_ || held_up_ || (conversation_ && conversation_->broken())) return false;
    if (conversation_ && conversation_->paused()) return true;
    error_code ignored;
    return socket_.available(ignored) > 0;
}

// What the client speaks.
std::shared_ptr<Conversation> Connection::begin(char first) {
    auto post = [strand = strand_](std::function<void()> run) {
        asio::defer(strand, std::move(run));
    };
    auto output_ready = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->write();
    };
    if (first == frame_greeting.front()) {
        return std::make_shared<FrameConversation>(peer_, clock_, post, output_ready, site_.memory);
    }
    return std::make_shared<HttpConversation>(peer_, post, output_ready, site_);
}

asio::awaitable<void> Connection::read_loop() {
    // Keeps the connection alive as long as its client is there.
    const auto self = shared_from_this();
    error_code error;
    error_code ignored;
    while (!closed_ && !(conversation_ && conversation_->broken())) {
        if (conversation_ && conversation_->paused()) {
            // Everybody else has a turn first.
            co_await asio::post(strand_, asio::use_awaitable);
            if (closed_) break;
            conversation_->receive({});
            update_busy();
        } else {
            co_await socket_.async_wait(Socket::wait_read,
                                        asio::redirect_error(asio::use_awaitable, error));
            if (!error) error = read_some();
            if (error) break;
        }
        co_await wait_for_room();
    }
    if (conversation_ && conversation_->broken()) {
        co_await discard_rest();
    } else if (conversation_ && error == asio::error::eof) {
        conversation_->end_of_input();
        // What is decided is still answered, to a client that only closed its sending side.
        while (!closed_ && !(conversation_->ended() && !writing_)) {
            co_await drained_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
    }
    // A client that closes its socket with an answer unread in it resets the connection.
    hang_up(error && error != asio::error::eof);
}

// Takes what there is, and lets it be answered. No coroutine: those move from thread to thread.
error_code Connection::read_some() {
    auto& buffer = read_buffer();
    error_code error;
    const auto size = socket_.read_some(asio::buffer(buffer), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return {};
    if (error) return error;
    traffic_.last_request = std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count();
    if (!conversation_) conversation_ = begin(buffer.front());
    conversation_->receive({buffer.data(), size});
    update_busy();
    return {};
}

asio::awaitable<void> Connection::wait_for_room() {
    error_code ignored;
    while (!closed_ && conversation_ && !conversation_->has_room()) {
        if (!std::exchange(held_up_, true)) mind_hang_up();
        co_await drained_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    held_up_ = false;
    look_after_.cancel();
}

// That a client has left is read from its socket; while nothing is read, it is asked for.
void Connection::mind_hang_up() {
    look_after_.expires_after(look_after);
    look_after_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
        const auto self = weak.lock();
        if (!self || cancelled || self->closed_ || !self->held_up_) return;
        pollfd client{self->socket_.native_handle(), POLLRDHUP, 0};
        ::poll(&client, 1, 0);
        if ((client.revents & (POLLHUP | POLLERR)) != 0) return self->hang_up(true);
        // It may still read.
        if ((client.revents & POLLRDHUP) != 0 && !std::exchange(self->half_closed_, true)) {
            self->peer_->stop_waiting();
        }
        self->mind_hang_up();
    });
}

asio::awaitable<void> Connection::discard_rest() {
    error_code error;
    asio::steady_timer limit(strand_, farewell);
    limit.async_wait([weak = weak_from_this()](const error_code& cancelled) {
        const auto self = weak.lock();
        if (self && !cancelled) self->hang_up(false);
    });
    while (!error) {
        co_await socket_.async_wait(Socket::wait_read,
                                    asio::redirect_error(asio::use_awaitable, error));
        if (!error) error = drop_some(socket_);
    }
}

// Sends what there is: at once as far as the socket takes it, the rest when it can.
void Connection::write() {
    if (writing_ || closed_) return;
    if (conversation_->has_output()) {
        sending_ = conversation_->take_output();
        sent_ = 0;
        error_code error;
        const auto size = socket_.write_some(asio::buffer(sending_), error);
        if (!error) sent_ = size;
        if (error && error != asio::error::would_block && error != asio::error::try_again) {
            return hang_up(true);
        }
        if (sent_ < sending_.size()) {
            writing_ = true;
            return written(0, false);
        }
    }
    stalled_.cancel();
    conversation_->output_taken();
    if (writing_ || closed_) return;
    update_busy();
    drained_.cancel();
    if (conversation_->ended() && !conversation_->broken()) hang_up(false);
}

void Connection::written(std::size_t size, bool failed) {
    sent_ += size;
    if (failed || closed_) {
        writing_ = false;
        return hang_up(true);
    }
    if (sent_ == sending_.size()) {
        writing_ = false;
        sending_.clear();
        sent_ = 0;
        drained_.cancel();
        return write();
    }
    if (conversation_->streams()) drop_if_stalled();
    socket_.async_write_some(
        asio::buffer(sending_.data() + sent_, sending_.size() - sent_),
        asio::bind_executor(strand_,
                            [self = shared_from_this()](const error_code& error, std::size_t more) {
                                self->written(more, static_cast<bool>(error));
                            }));
}

// A stream of events goes to readers that keep up: this one took nothing for too long.
void Connection::drop_if_stalled() {
    stalled_.expires_after(longest_stall);
    stalled_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
        const auto self = weak.lock();
        if (self && !cancelled) self->hang_up(true);
    });
}

void Connection::update_busy() {
    const bool busy = !closed_ && conversation_ && (writing_ || conversation_->outstanding() > 0);
    if (busy == counted_busy_) return;
    counted_busy_ = busy;
    traffic_.busy += busy ? 1 : -1;
}

void Connection::hang_up(bool unread) {
    if (closed_) return;
    closed_ = true;
    update_busy();
    peer_->hang_up(unread);
    drained_.cancel();
    stalled_.cancel();
    look_after_.cancel();
    error_code ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
}

}  // namespace rocklock
