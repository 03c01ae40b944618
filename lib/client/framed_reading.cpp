#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include "client/boot_clock.hpp"
#include "client/framed_service.hpp"
#include "client/unix_socket.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// A connection continues in shared memory after this many calls. Clients with fewer calls do not
// need it.
constexpr std::uint32_t calls_before_memory = 16;
// The maximum time that the reader sleeps.
constexpr milliseconds max_sleep{1'000};
constexpr milliseconds first_pause{5};
constexpr milliseconds max_pause{500};
// The pauses between attempts to start the daemon again.
constexpr milliseconds min_restart_pause{500};
constexpr milliseconds max_restart_pause{30'000};
// The timeout of one attempt to reconnect. No other timeouts are checked during an attempt.
constexpr milliseconds max_connect{250};

Error in_doubt_error(const Error& why) {
    return {ErrorCode::indeterminate,
            "it is unknown whether the request took effect: the daemon did not answer (" +
                why.message + ")"};
}

}  // namespace

void FramedService::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto size = ::write(wake_event_, &one, sizeof one);
}

void FramedService::read_loop(const std::stop_token& stop) {
    reader_id_ = std::this_thread::get_id();
    while (!stop.stop_requested()) {
        step();
        while (!reading_.completions.empty()) {
            auto finished = std::move(reading_.completions.front());
            reading_.completions.pop_front();
            finished.done(std::move(finished.reply));
        }
    }
}

bool FramedService::on_reader_thread() const { return std::this_thread::get_id() == reader_id_; }

// One iteration of the reader: waits for an event or a timeout and handles it. Completions are only
// queued. A completion can therefore call this function itself while it waits for a reply.
void FramedService::step() {
    bool outgoing = false;
    int timeout = 0;
    Steady::time_point until;
    {
        MutexLock lock(mutex_);
        const auto now = Steady::now();
        until = std::min(next_expiry_, now + max_sleep);
        if (!connected_) until = std::min(until, outage_.next_attempt);
        if (options_.background && connected_ && next_check_ != BootTime::max()) {
            auto boot = clock_.now().boot;
            if (boot >= next_check_) {
                lock.unlock();
                check_sessions(false);
                lock.lock();
                boot = clock_.now().boot;
                until = std::min(until, next_expiry_);
            }
            if (next_check_ != BootTime::max()) until = std::min(until, now + (next_check_ - boot));
        }
        if (!reading_.completions.empty()) until = now;
        reader_wakes_at_ = until;
        timeout = static_cast<int>(
            std::max<std::int64_t>(std::chrono::ceil<milliseconds>(until - now).count(), 0));
        // The daemon may have read calls from the memory while this thread did not wait for that.
        if (connected_ && reading_.receiver.memory() != nullptr) socket_.send_some();
        outgoing = connected_ && socket_.has_outgoing();
    }
    const bool has_memory = reading_.receiver.memory() != nullptr;
    const Readiness ready =
        has_memory ? wait_for_memory(timeout, outgoing) : wait_for_socket(timeout, outgoing);
    if (reading_.fd < 0) {
        reconnect();
    } else {
        if (ready.space) {
            MutexLock lock(mutex_);
            socket_.send_some();
        }
        if (ready.input) receive();
    }
    // If a call that times out earlier was sent meanwhile, its thread has called wake().
    if (Steady::now() >= until) expire();
}

// Asks for shared memory if enough calls were sent. After a reconnect, the manager can be one that
// does not know this request, and would end the connection.
void FramedService::ask_for_memory() {
    auto& sharing = socket_.sharing();
    if (sharing.calls < calls_before_memory || std::exchange(sharing.over, true)) return;
    if (sharing.offered) return send_share();
    auto answered = [this](const Result<Reply>& reply) {
        const auto* pong = reply ? std::get_if<Pong>(&*reply) : nullptr;
        if (pong == nullptr || !pong->shared_memory) return;
        MutexLock lock(mutex_);
        if (connected_) send_share();
    };
    enter({Ping{}, {}, {}}, std::move(answered), true);
}

void FramedService::send_share() {
    append_share(socket_.outgoing());
    send_pending();
}

// A descriptor of -1 is ignored.
FramedService::Readiness FramedService::wait_for_socket(int timeout, bool for_space) const {
    const auto events = static_cast<short>(POLLIN | (for_space ? POLLOUT : 0));
    std::array<pollfd, 2> sources{pollfd{wake_event_, POLLIN, 0}, pollfd{reading_.fd, events, 0}};
    ::poll(sources.data(), sources.size(), timeout);
    if (sources[0].revents != 0) clear_wake_event();
    return {(sources[1].revents & ~POLLOUT) != 0, (sources[1].revents & POLLOUT) != 0};
}

FramedService::Readiness FramedService::wait_for_memory(int timeout, bool for_space) const {
    auto& memory = *reading_.receiver.memory();
    const int readable = memory.wait(milliseconds{timeout});
    if (readable == wake_event_) clear_wake_event();
    return {memory.has_input() || readable == reading_.fd, for_space};
}

void FramedService::clear_wake_event() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto size = ::read(wake_event_, &count, sizeof count);
}

// Receives the available frames. If the daemon has passed shared memory, uses it from now on.
void FramedService::receive() {
    const bool had_memory = reading_.receiver.memory() != nullptr;
    auto received =
        reading_.receiver.receive(reading_.fd, [this](const Frame& frame) { take(frame); });
    const auto& memory = reading_.receiver.memory();
    if (received && memory && !had_memory) {
        // Without a watch, this client would not notice that the daemon has ended.
        if (memory->watch(reading_.fd) && memory->watch(wake_event_)) {
            MutexLock lock(mutex_);
            socket_.use_memory(memory);
        } else {
            received = Error(ErrorCode::unreachable,
                             std::string("cannot wait for the daemon: ") + std::strerror(errno));
        }
    }
    if (!received) connection_lost(std::move(received).error());
}

void FramedService::reconnect() {
    {
        MutexLock lock(mutex_);
        if (closed_ || Steady::now() < outage_.next_attempt) return;
    }
    auto socket = FrameSocket::connect(path_, Steady::now() + max_connect);
    MutexLock lock(mutex_);
    if (!socket) {
        outage_.reason = std::move(socket).error();
        outage_.pause = std::min(2 * outage_.pause, max_pause);
        outage_.next_attempt = Steady::now() + outage_.pause;
        if (outage_.reason.code == ErrorCode::unreachable) restart_daemon();
        return;
    }
    reading_.fd = socket->fd();
    socket_ = *std::move(socket);
    connected_ = true;
    outage_.restart_pause = {};
    for (auto& [number, pending] : pending_calls_) transmit(number, pending);
    send_pending();
}

// Starts the daemon again if this service may do so and still needs it.
void FramedService::restart_daemon() {
    const auto now = Steady::now();
    const bool needed = !pending_calls_.empty() || known_counts_.over < known_sessions_.size() ||
                        now < outage_.needed_until;
    if (!options_.restart || outage_.restarting || hurry_ || !needed) return;
    if (now < outage_.next_restart) return;
    outage_.restarting = true;
    outage_.restart_pause =
        std::clamp(2 * outage_.restart_pause, min_restart_pause, max_restart_pause);
    // The previous thread has ended, or is about to end without needing the mutex.
    outage_.restart = std::jthread([this](const std::stop_token& stop) {
        options_.restart(stop);
        MutexLock lock(mutex_);
        outage_.restarting = false;
        outage_.next_attempt = Steady::now();
        outage_.next_restart = outage_.next_attempt + outage_.restart_pause;
        wake();
    });
}

// Returns whether a call can be executed twice without harm.
bool FramedService::may_repeat(const PendingCall& pending) const {
    const CallBody& body = pending.call.body;
    if (const auto* release = std::get_if<Release>(&body)) {
        const auto known = known_sessions_.find(release->session);
        if (known == known_sessions_.end()) return false;
        const auto grant = known->second.grants.find(release->grant);
        // Each release of a counted grant decrements its count.
        return grant != known->second.grants.end() && grant->second.grant.count == 0;
    }
    return !(std::holds_alternative<Transfer>(body) || std::holds_alternative<Steal>(body) ||
             std::holds_alternative<Reacquire>(body) ||
             std::holds_alternative<AnswerWanted>(body) || std::holds_alternative<Break>(body) ||
             std::holds_alternative<PutClass>(body) || std::holds_alternative<DeleteClass>(body) ||
             std::holds_alternative<DrainClass>(body) ||
             std::holds_alternative<ResumeClass>(body) || std::holds_alternative<BindTable>(body) ||
             std::holds_alternative<UnbindTable>(body) || std::holds_alternative<TakeDraft>(body) ||
             std::holds_alternative<DiscardDraft>(body) || std::holds_alternative<Backup>(body) ||
             std::holds_alternative<TrimAudit>(body) || std::holds_alternative<EndSession>(body) ||
             std::holds_alternative<EndSessions>(body) || std::holds_alternative<HandOver>(body) ||
             std::holds_alternative<CheckNode>(body));
}

void FramedService::connection_lost(Error why) {
    std::vector<CompletedCall> finished;
    {
        MutexLock lock(mutex_);
        // If the daemon's connection limit was reached, it has read no bytes of this connection.
        const bool overloaded = why.code == ErrorCode::limit_exceeded;
        reading_.fd = -1;
        reading_.receiver = {};
        socket_ = FrameSocket();
        connected_ = false;
        outage_.reason = std::move(why);
        // connect() distinguishes this code to try again. Callers of other functions get
        // unreachable.
        if (overloaded && !hurry_) outage_.reason.code = ErrorCode::unreachable;
        const auto now = Steady::now();
        if (!overloaded) outage_.since = now;
        outage_.pause = overloaded ? overload_pause : first_pause;
        outage_.next_attempt = now + outage_.pause;
        for (auto call = pending_calls_.begin(); call != pending_calls_.end();) {
            PendingCall& pending = call->second;
            if (overloaded) pending.was_sent = pending.in_doubt;
            pending.in_doubt = pending.in_doubt || pending.was_sent;
            const bool over =
                hurry_ || pending.cancelled || (pending.in_doubt && !may_repeat(pending));
            const auto at = call++;
            // Cancelled calls, and calls that are in doubt and cannot be repeated, are not sent
            // again.
            if (over) finished.push_back(give_up(at->first, pending, outage_.reason));
        }
        // All calls time out at the latest when the daemon has been away for `patience`.
        next_expiry_ = std::min(next_expiry_, outage_.since + options_.patience);
    }
    deliver(std::move(finished));
}

// Completes a call with an error before its reply has arrived. Keeps the entry if the reply still
// has to be handled, or if the call must be sent again: a grant of an abandoned acquire is
// released, and releases and closings of sessions are repeated.
FramedService::CompletedCall FramedService::give_up(std::uint64_t number, PendingCall& pending,
                                                    const Error& why) {
    const bool closing = why.code == ErrorCode::closing;
    CompletedCall finished{std::move(pending.done),
                           pending.was_sent && !closing ? in_doubt_error(why) : why,
                           pending.direct};
    pending.done = nullptr;
    const bool ends = std::holds_alternative<Release>(pending.call.body) ||
                      std::holds_alternative<CloseSession>(pending.call.body);
    if (std::holds_alternative<Acquire>(pending.call.body) && pending.was_sent) {
        // The daemon may have granted the lock without the caller's knowledge. The acquire is sent
        // again without waiting, and a grant is released in finish().
        pending.patient_until = Steady::now();
        pending.gives_back = true;
        if (connected_) {
            append_cancel(socket_.outgoing(), number);
            send_pending();
        }
    } else if (!(ends && may_repeat(pending)) && !(connected_ && pending.was_sent)) {
        pending_calls_.erase(number);
    }
    return finished;
}

void FramedService::expire() {
    std::vector<CompletedCall> finished;
    {
        MutexLock lock(mutex_);
        const auto now = Steady::now();
        if (now < next_expiry_) return;
        const bool long_away = !connected_ && now >= outage_.since + options_.patience;
        next_expiry_ = !connected_ && !long_away ? outage_.since + options_.patience
                                                 : Steady::time_point::max();
        const Error slow(ErrorCode::unreachable, "it is running, but did not respond in time");
        for (auto call = pending_calls_.begin(); call != pending_calls_.end();) {
            const auto at = call++;
            PendingCall& pending = at->second;
            if (!pending.done) continue;
            if (now >= pending.give_up || long_away) {
                finished.push_back(give_up(at->first, pending, connected_ ? slow : outage_.reason));
            } else {
                next_expiry_ = std::min(next_expiry_, pending.give_up);
            }
        }
    }
    deliver(std::move(finished));
}

// Runs the completions of synchronous calls immediately. On the reader thread, queues the other
// completions; on any other thread, runs them immediately as well.
void FramedService::deliver(std::vector<CompletedCall> finished) {
    for (auto& one : finished) deliver(one.done, std::move(one.reply), one.direct);
}

void FramedService::deliver(Replied& done, Result<Reply>&& reply, bool direct) {
    if (!done) return;
    if (direct || !on_reader_thread()) return done(std::move(reply));
    reading_.completions.push_back({std::move(done), std::move(reply), direct});
}

void FramedService::take(const Frame& frame) {
    if (frame.kind == FrameKind::goodbye) return;
    PendingCalls::node_type call;
    {
        MutexLock lock(mutex_);
        call = pending_calls_.extract(frame.number);
    }
    if (call.empty()) return;
    PendingCall& pending = call.mapped();
    if (frame.kind == FrameKind::reply) {
        return finish(frame.number, pending, read_reply(pending, frame.body));
    }
    Error error = read_refusal_frame(frame.body);
    if (error.code == ErrorCode::closing && ask_again(call)) return;
    if (error.code == ErrorCode::not_the_manager) {
        if (ask_new_manager(call)) return;
        error = in_doubt_error(error);
    }
    finish(frame.number, pending, std::move(error));
}

Result<Reply> FramedService::read_reply(const PendingCall& pending, std::string_view body) const {
    // A Released needs the least work to construct.
    Result<Reply> reply{Reply(std::in_place_type<Released>)};
    milliseconds held{0};
    if (auto read = read_reply_frame(pending.call.body, body, held, *reply); !read) {
        return std::move(read).error();
    }
    if (other_boot_) {
        shorten_times(*reply);
        held = without_drift(held);
    }
    count_from_here(*reply, pending.sent + held);
    return reply;
}

// Handles the error `closing`: the daemon shuts down and has not executed the call. Keeps the call,
// so that it is sent again after the next connect. Returns false if the client does not reconnect.
bool FramedService::ask_again(PendingCalls::node_type& call) {
    MutexLock lock(mutex_);
    if (closed_ || hurry_) return false;
    call.mapped().was_sent = false;
    pending_calls_.insert(std::move(call));
    return true;
}

// Handles the error `not_the_manager`: another node has become the manager, and it is unknown
// whether the call took effect. The connection ends soon. Keeps the call if it can be repeated, so
// that it is sent again after the next connect. Otherwise returns false.
bool FramedService::ask_new_manager(PendingCalls::node_type& call) {
    MutexLock lock(mutex_);
    PendingCall& pending = call.mapped();
    if (closed_ || hurry_ || pending.cancelled || !may_repeat(pending)) return false;
    pending.in_doubt = true;
    pending_calls_.insert(std::move(call));
    return true;
}

void FramedService::finish(std::uint64_t number, PendingCall& pending, Result<Reply>&& reply) {
    Notifications notifications;
    std::optional<SessionId> reconcile;
    {
        MutexLock lock(mutex_);
        notifications = learn(number, pending, reply);
        send_entered();
        // If the reply to an earlier transmission of this renewal was lost, its notices are lost
        // too. A query of the session finds the grants that have ended.
        const auto* renewal = std::get_if<RenewSession>(&pending.call.body);
        if (renewal != nullptr && (pending.in_doubt || !pending.done) && reply) {
            reconcile = renewal->session;
        }
    }
    notify(notifications);
    if (reconcile) {
        Call detail;
        detail.body = ShowSession{*reconcile};
        send(
            std::move(detail), [](const Result<Reply>&) {}, true);
    }
    if (const auto* grant = reply ? std::get_if<Grant>(&*reply) : nullptr;
        grant != nullptr && pending.gives_back) {
        submit(Release{grant->session, grant->id}, [](const Result<Answer>&) {});
    }
    deliver(pending.done, std::move(reply), pending.direct);
}

}  // namespace rocklock
