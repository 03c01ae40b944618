#include "daemon/net/connection.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "daemon/net/frame_conversation.hpp"
#include "daemon/net/socket_input.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// After invalid input, the rest is read and discarded for this long. If a socket is closed with
// unread input, the kernel resets the connection and the client may lose the response.
constexpr milliseconds discard_time{2'000};
// If responses contain unconfirmed grants, the connection waits for at most this time after the
// last response until the client closes its socket. The shorter time applies to TCP clients that
// have closed their sending side. Such a client may be waiting for the end of the output, which is
// not sent before this time is over.
constexpr milliseconds max_close_wait{2'000};
constexpr milliseconds max_close_wait_half_closed{500};
// A connection that waits in this way is closed if more than this number of other connections of
// its thread have begun to wait after it.
constexpr std::size_t max_closing = 128;
// If one event reports data and the end of the input, recv() returns only the data. EPOLLRDHUP in
// the event shows that another recv() is necessary, which EPOLLIN and EPOLLET would not report. It
// is assumed that recv() returns less than requested only if no input is left. This does not hold
// after urgent data and after file descriptors, which no client of Rocklock sends; the next input
// then reports the rest.
constexpr std::uint32_t edge_triggered = EPOLLIN | EPOLLRDHUP | EPOLLET;
// The reader of an event stream is disconnected if it reads nothing for this long.
constexpr milliseconds max_stall{10'000};

// The connections of this thread that wait until their clients close them, or have waited, in the
// order in which they began.
std::deque<std::weak_ptr<Connection>>& closing_connections() {
    thread_local std::deque<std::weak_ptr<Connection>> connections;
    return connections;
}

HttpServices services_of(HttpServices services, IoThread& thread, UserBuffers::Account& buffers) {
    services.buffers = &buffers;
    services.defer = [&thread](std::function<void()> run) { thread.defer(std::move(run)); };
    return services;
}

}  // namespace

std::shared_ptr<Connection> Connection::start(std::shared_ptr<ClientChannel> channel,
                                              IoThread& thread, const Side& side) {
    auto connection = std::make_shared<Connection>(-1, std::move(channel), thread, side);
    if (side.idle_connections != nullptr) {
        connection->idle_number_ = side.idle_connections->add(connection, steady_clock::now());
    }
    connection->watch(EPOLLIN);
    return connection;
}

std::shared_ptr<Connection> Connection::start(int socket, IoThread& thread, const Side& side) {
    auto connection = std::make_shared<Connection>(socket, nullptr, thread, side);
    if (side.idle_connections != nullptr) {
        connection->idle_number_ = side.idle_connections->add(connection, steady_clock::now());
    }
    if (side.arrivals != nullptr) side.arrivals->enter();
    thread.introduce([connection, arrivals = side.arrivals] {
        if (arrivals != nullptr) arrivals->leave();
        if (!connection->watch(edge_triggered)) connection->hang_up();
    });
    return connection;
}

Connection::Connection(int socket, std::shared_ptr<ClientChannel> channel, IoThread& thread,
                       const Side& side)
    : client_(socket, std::move(channel)),
      thread_(thread),
      traffic_(side.traffic),
      uid_(side.caller.uid),
      node_slot_(side.node_slot),
      services_(services_of(side.services, thread, traffic_.buffers.account(uid_))),
      client_session_(std::make_shared<ClientSession>(side.dispatcher, side.caller)),
      clock_(side.dispatcher.clock()),
      idle_connections_(side.idle_connections),
      limits_(side.stall_timeout) {
    ++traffic_.connections;
    traffic_.users.add(uid_);
}

Connection::~Connection() {
    keep_connection();
    if (counted_busy_) --traffic_.busy;
    if (client_.has_memory()) traffic_.shared.remove();
    traffic_.users.remove(uid_);
    node_slot_.reset();
    // This must be the last access: afterwards, the thread that waits for the end of all
    // connections may free the counters.
    --traffic_.connections;
}

void Connection::end_if_silent() {
    thread_.post([self = shared_from_this()] {
        if (!self->conversation_ || !self->conversation_->heard()) self->hang_up();
    });
}

bool Connection::has_unread() const {
    if (!reads_input()) return false;
    if (conversation_ && conversation_->paused()) return true;
    return client_.has_unread();
}

// Returns a conversation for the protocol that the first byte indicates.
std::shared_ptr<Conversation> Connection::begin(char first) {
    auto output_ready = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->want_to_send();
    };
    auto answers_ready = [weak = weak_from_this(), thread = &thread_] {
        const auto self = weak.lock();
        if (!self) return;
        if (IoThread::current() == thread) return self->want_to_send();
        thread->post([self] { self->want_to_send(); });
    };
    if (first == frame_greeting.front()) {
        return std::make_shared<FrameConversation>(client_session_, clock_, answers_ready,
                                                   output_ready, services_.buffers);
    }
    auto post = [thread = &thread_](std::function<void()> run) { thread->post(std::move(run)); };
    return std::make_shared<HttpConversation>(client_session_, post, answers_ready, output_ready,
                                              services_);
}

bool Connection::watch(std::uint32_t events) {
    interest_.events = events;
    return client_.watch(thread_, shared_from_this(), events);
}

// ---- Called by the IoThread ----

std::size_t Connection::receive_ahead(std::span<char> space) {
    if (!reads_input() || (conversation_ && conversation_->paused())) return 0;
    // read() does not receive more than this if the user has reached the limit of its buffers.
    return client_.receive_ahead(space.first(std::min(space.size(), small_buffer)));
}

void Connection::ready(std::uint32_t events) {
    if (closed_) return;
    const bool failed = (events & EPOLLERR) != 0;
    const bool closed = (events & EPOLLHUP) != 0;
    if (failed || closed || (events & EPOLLRDHUP) != 0) interest_.level_triggered = true;
    if (failed) client_.report().note_error();
    if (closing_) return await_close(closed);
    if (blocked_ && ((events & EPOLLOUT) != 0 || client_.sends_to_memory())) want_to_send();
    if (discarding_) return discard();
    const bool reads = reads_input();
    // The input that is left from the last time slice is processed first, by continue_input().
    if (reads && conversation_ && conversation_->paused()) {
        interest_.level_triggered = true;
        return update_interest();
    }
    if (reads) return read(closed || failed);
    if (closed || failed) return hang_up();
    // The client has closed its sending side, but may still read.
    if ((events & EPOLLRDHUP) != 0 && !client_.report().input_ended()) {
        client_.report().note_end_of_input();
        client_session_->stop_waiting();
        update_interest();
    }
}

void Connection::continue_input() {
    interest_.continues = false;
    if (closed_ || discarding_ || closing_) return;
    if (held_up_) {
        if (!conversation_->has_room()) return;
        held_up_ = false;
    }
    if (conversation_->paused()) return process_input({});
    if (reads_input() && client_.has_input_in_memory()) return read(false);
    update_request();
    update_interest();
}

void Connection::send() {
    if (conversation_) conversation_->collect();
    send_pending_ = false;
    if (!closed_) write();
}

void Connection::remind() {
    const auto now = steady_clock::now();
    if (reminder_at_ && now >= *reminder_at_) reminder_at_.reset();
    if (closed_) return;
    const auto reached = [now](const std::optional<Time>& time) { return time && now >= *time; };
    // A time limit may have passed because the daemon was paused. Meanwhile, the rest of the
    // request may have arrived, or the client may have read the response, so check this first.
    if (reached(request_end()) && has_unread()) read(false);
    if (!closed_ && reached(response_end())) write();
    if (closed_) return;
    if (reached(deadline_) || reached(response_end())) return hang_up();
    if (reached(request_end())) return time_out_request();
    schedule_reminder();
}

// ---- Reading ----

// `closed`: the client has closed its socket, or the socket has reported an error.
void Connection::read(bool closed) {
    auto& buffer = read_buffer();
    // Input that cannot be processed yet must be kept, so little is read for a user at its limit.
    const auto wanted = services_.buffers->full() ? small_buffer : buffer.size();
    const auto size = client_.receive(std::span(buffer).first(wanted));
    if (size <= 0 || static_cast<std::size_t>(size) == wanted) interest_.level_triggered = true;
    if (size > 0) return process_input({buffer.data(), static_cast<std::size_t>(size)});
    if (size == 0) {
        // Calls are decided before the end of the input is processed, in a later round.
        if (client_.has_memory() && interest_.read_at == thread_.now()) return update_interest();
        client_.report().note_end_of_input();
        return closed ? hang_up() : end_of_input();
    }
    if (would_block()) return update_interest();
    client_.report().note_error();
    hang_up();
}

void Connection::process_input(std::string_view bytes) {
    if (!bytes.empty()) {
        interest_.read_at = thread_.now();
        traffic_.last_request =
            std::chrono::duration_cast<milliseconds>(thread_.now().time_since_epoch()).count();
        if (!conversation_) conversation_ = begin(bytes.front());
    }
    conversation_->receive(bytes);
    if (conversation_->wants_shared_memory()) {
        client_.offer_memory(thread_, shared_from_this(), traffic_.shared);
    }
    if (conversation_->heard()) keep_connection();
    update_busy();
    if (conversation_->broken()) {
        discarding_ = true;
        remind_in(discard_time);
    } else if (!conversation_->has_room()) {
        held_up_ = true;
    } else if (conversation_->paused()) {
        continue_soon();
    }
    update_request();
    update_interest();
}

void Connection::end_of_input() {
    if (!conversation_) return hang_up();
    // The client may have closed only its sending side, so the responses are still sent.
    input_over_ = true;
    limits_.set_request(std::nullopt);
    conversation_->end_of_input();
    update_busy();
    want_to_send();
    update_interest();
}

void Connection::discard() {
    auto& buffer = read_buffer();
    const auto size = client_.receive(buffer);
    if (size > 0 || (size < 0 && would_block())) return;
    if (size == 0) client_.report().note_end_of_input();
    if (size < 0) client_.report().note_error();
    hang_up();
}

// ---- Writing ----

void Connection::want_to_send() {
    if (!std::exchange(send_pending_, true)) thread_.send_soon(shared_from_this());
}

// Sends as much output as the socket accepts; the rest when it is writable again.
void Connection::write() {
    if (!conversation_) return;
    while (true) {
        if (sent_ == sending_.size()) {
            if (!conversation_->has_output()) break;
            sending_ = conversation_->take_output();
            sent_ = 0;
        }
        const auto size = client_.send(std::string_view(sending_).substr(sent_));
        if (size < 0 && !would_block()) {
            // EPIPE on a Unix socket means only that the client has closed it: if the client has
            // left something unread, the socket reports another error as well.
            if (errno != EPIPE || client_.report().is_tcp()) client_.report().note_error();
            return hang_up();
        }
        if (size > 0) {
            sent_ += static_cast<std::size_t>(size);
            conversation_->output_sent(static_cast<std::size_t>(size));
        }
        if (sent_ == sending_.size()) continue;
        blocked_ = true;
        conversation_->output_blocked();
        if (!limits_.has_response() && limits_.set_response(conversation_->sent())) {
            schedule_reminder();
        }
        // The reader of an event stream must keep up: restart the time limit if it has read
        // something.
        if (conversation_->streams() && (size > 0 || !deadline_)) remind_in(max_stall);
        return update_interest();
    }
    if (!sending_.empty()) conversation_->reuse(std::exchange(sending_, {}));
    sent_ = 0;
    sent_all();
}

void Connection::sent_all() {
    blocked_ = false;
    limits_.set_response(std::nullopt);
    if (!discarding_ && !closing_) deadline_.reset();
    conversation_->output_taken();
    update_busy();
    if (conversation_->ended() && !conversation_->has_output() && !conversation_->broken()) {
        return finish();
    }
    if (held_up_ && conversation_->has_room()) continue_soon();
    update_interest();
}

// ---- Closing ----

// All responses were sent. If one of them contains a grant that is not confirmed, waits until the
// client closes its socket.
void Connection::finish() {
    if (closing_) return;
    const bool unknown = client_session_->has_unconfirmed() && !client_.report().all_read();
    if (!unknown || client_.report().failed()) return hang_up();
    closing_ = true;
    client_.watch_reads();
    // The client may have read the responses before it could see that its reads are watched.
    if (client_.has_memory() && client_.report().all_read()) return hang_up();
    // After both ends of a TCP connection are closed, the kernel does not report a reset any more.
    const bool half_closed = client_.report().is_tcp() && client_.report().input_ended();
    // If both ends of a Unix socket are closed, it is as if the client had closed it. With memory,
    // this would mean that the client will not read the responses.
    if (!half_closed && !client_.has_memory()) client_.end_output();
    remind_in(half_closed ? max_close_wait_half_closed : max_close_wait);
    auto& others = closing_connections();
    others.push_back(weak_from_this());
    if (others.size() > max_closing) {
        const auto oldest = others.front().lock();
        others.pop_front();
        if (oldest) oldest->end_closing();
    }
    update_interest();
}

void Connection::await_close(bool closed) {
    if (client_.report().all_read() || client_.report().failed()) return hang_up();
    if (!client_.report().is_tcp()) return;
    if (!client_.report().input_ended()) return discard();
    if (closed) hang_up();
}

void Connection::end_closing() {
    if (closing_) hang_up();
}

// ---- State ----

// While the socket is not read, EPOLLRDHUP reports that the client has closed it.
void Connection::update_interest() {
    if (closed_) return;
    std::uint32_t wanted = 0;
    if (closing_) {
        // A Unix socket also reports that the client has read something. Without EPOLLET, it would
        // report EPOLLHUP all the time if the client has closed its sending side.
        if (!client_.report().is_tcp()) wanted = EPOLLOUT | EPOLLET;
        if (client_.report().is_tcp() && !client_.report().input_ended()) wanted = EPOLLIN;
    } else if (discarding_ || !(held_up_ || input_over_)) {
        wanted |= EPOLLIN;
    }
    if (held_up_ && !closing_ && !client_.report().input_ended()) wanted |= EPOLLRDHUP;
    if (blocked_ && !client_.sends_to_memory()) wanted |= EPOLLOUT;
    if (wanted == EPOLLIN && !interest_.level_triggered && !discarding_ && !closing_) {
        wanted = client_.is_socket() ? edge_triggered : EPOLLIN;
    }
    continue_with_memory();
    if (wanted == interest_.events) return;
    interest_.events = wanted;
    client_.change(thread_, wanted);
}

// Input in shared memory is not reported again, so the thread reads the rest in the next round.
void Connection::continue_with_memory() {
    if (reads_input() && client_.has_input_in_memory() &&
        !(conversation_ && conversation_->paused())) {
        continue_soon();
    }
}

void Connection::continue_soon() {
    if (std::exchange(interest_.continues, true)) return;
    thread_.continue_input_soon(shared_from_this());
}

void Connection::update_busy() {
    const bool busy = !closed_ && conversation_ &&
                      (blocked_ || conversation_->has_output() || conversation_->outstanding() > 0);
    if (busy == counted_busy_) return;
    counted_busy_ = busy;
    traffic_.busy += busy ? 1 : -1;
}

void Connection::remind_in(milliseconds time) {
    deadline_ = steady_clock::now() + time;
    schedule_reminder();
}

// Schedules a reminder for the next time limit, unless one is scheduled for that time or an earlier
// one.
void Connection::schedule_reminder() {
    std::optional<Time> next;
    for (const auto& time : {deadline_, request_end(), response_end()}) {
        if (time) next = std::min(next.value_or(Time::max()), *time);
    }
    if (!next || (reminder_at_ && *reminder_at_ <= *next)) return;
    reminder_at_ = next;
    thread_.remind_at(*next, shared_from_this());
}

std::optional<Connection::Time> Connection::request_end() const {
    // While the daemon does not read, the client is not late.
    if (held_up_ || discarding_ || closing_ || !conversation_) return std::nullopt;
    return limits_.request_end(conversation_->received());
}

std::optional<Connection::Time> Connection::response_end() const {
    // The reader of a stream has a time limit of its own.
    if (!conversation_ || conversation_->streams()) return std::nullopt;
    return limits_.response_end(conversation_->sent());
}

// Starts the time limit of an incomplete request. If the daemon has not read the connection for a
// while, the time starts again.
void Connection::update_request() {
    const auto begin = held_up_ || discarding_ || conversation_->paused()
                           ? std::nullopt
                           : conversation_->incomplete_request();
    if (limits_.set_request(begin)) schedule_reminder();
}

void Connection::time_out_request() {
    limits_.set_request(std::nullopt);
    conversation_->time_out_request();
    discarding_ = true;
    remind_in(discard_time);
    want_to_send();
    update_interest();
}

// Removes the connection from the list of connections that are closed to make room for another.
void Connection::keep_connection() {
    if (idle_number_ != 0) idle_connections_->remove(std::exchange(idle_number_, 0));
}

void Connection::hang_up() {
    if (closed_) return;
    closed_ = true;
    keep_connection();
    update_busy();
    const std::uint64_t sent = conversation_ ? conversation_->sent() : 0;
    if (client_.lost_relay()) {
        client_session_->lose_relay(sent);
    } else {
        client_session_->hang_up(client_.report().read_of(sent));
    }
    client_.hang_up(thread_);
    // Responses that are made from now on are discarded.
    thread_.free_soon(std::move(conversation_));
}

}  // namespace rocklock
