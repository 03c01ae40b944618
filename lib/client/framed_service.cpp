#include "client/framed_service.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/is_one_of.hpp"
#include "base/random.hpp"
#include "client/boot_clock.hpp"
#include "client/unix_socket.hpp"
#include "lock/model/modes.hpp"
#include "lock/model/names.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// Limits of the time to wait for the replies to renewals, releases and closings of sessions.
constexpr milliseconds min_renewal_period{100};
constexpr milliseconds max_renewal_period{5'000};
constexpr milliseconds max_ending_period{2'000};

// The largest page that the daemon returns.
constexpr std::uint32_t max_page = 10'000;

// Longer wait timeouts are treated as no limit.
constexpr milliseconds max_patience = std::chrono::hours{24 * 365};

Error not_over_a_socket(const std::string& what) {
    return {ErrorCode::invalid_argument, what + " is not available over a socket"};
}

// Sets the process to which a session is bound, if the request names one.
Result<void> name_process(Call& call, const OpenSession& opens) {
    if (opens.bound != Bound::process || opens.processes.empty()) return {};
    if (opens.processes.size() > 1)
        return not_over_a_socket("a session that is bound to several processes when it is opened");
    call.pid = opens.processes.front().pid;
    return {};
}

// Fills in the members of a call that are not in its body. Most verbs have none.
template <typename Verb>
Result<void> fill_in(Call& /*call*/, const Verb& /*verb*/) {
    return {};
}
Result<void> fill_in(Call& call, const OpenSession& verb) { return name_process(call, verb); }
Result<void> fill_in(Call& call, const Acquire& verb) {
    return verb.opens ? name_process(call, *verb.opens) : Result<void>();
}
Result<void> fill_in(Call& call, const JoinProcess& verb) {
    call.pid = verb.process.pid;
    return {};
}
// The daemon ignores `by` and records the name of the caller's user. This function nevertheless
// refuses an invalid name, as LockManager does.
Result<void> fill_in(Call& /*call*/, const Break& verb) {
    if (auto wrong = check_name("the name of the administrator", verb.by)) return *std::move(wrong);
    return {};
}

Result<void> fill_in(Call& /*call*/, const EndSession& verb) {
    if (auto wrong = check_name("the name of the administrator", verb.by)) {
        return *std::move(wrong);
    }
    return {};
}

Result<void> fill_in(Call& /*call*/, const DrainClass& verb) {
    if (auto wrong = check_name("the name of the administrator", verb.by)) return *std::move(wrong);
    return {};
}
Result<void> fill_in(Call& /*call*/, const ResumeClass& verb) {
    if (auto wrong = check_name("the name of the administrator", verb.by)) return *std::move(wrong);
    return {};
}

// Moves the request into `call`.
Result<void> make_call(Request& request, Call& call) {
    return std::visit(
        [&call](auto& verb) -> Result<void> {
            if constexpr (is_one_of<std::decay_t<decltype(verb)>, CallBody>) {
                if (auto filled = fill_in(call, verb); !filled) return filled;
                call.body.emplace<std::decay_t<decltype(verb)>>(std::move(verb));
                return {};
            } else {
                return not_over_a_socket("this");
            }
        },
        request);
}

Result<Answer> answer_of(Result<Reply>&& reply) {
    if (!reply) return std::move(reply).error();
    return std::visit(
        [](auto& value) -> Result<Answer> {
            if constexpr (is_one_of<std::decay_t<decltype(value)>, Answer>) {
                return Answer(std::move(value));
            } else {
                return not_over_a_socket("this");
            }
        },
        *reply);
}

const milliseconds* patience_in(const CallBody& body) {
    if (const auto* acquire = std::get_if<Acquire>(&body)) return &acquire->patience;
    if (const auto* convert = std::get_if<Convert>(&body)) return &convert->patience;
    if (const auto* watch = std::get_if<WatchRequest>(&body)) return &watch->patience;
    if (const auto* notices = std::get_if<AwaitNotices>(&body)) return &notices->patience;
    return nullptr;
}

void set_patience(CallBody& body, milliseconds patience) {
    if (auto* acquire = std::get_if<Acquire>(&body)) acquire->patience = patience;
    if (auto* convert = std::get_if<Convert>(&body)) convert->patience = patience;
    if (auto* watch = std::get_if<WatchRequest>(&body)) watch->patience = patience;
    if (auto* notices = std::get_if<AwaitNotices>(&body)) notices->patience = patience;
}

std::string* request_id_in(CallBody& body) {
    if (auto* acquire = std::get_if<Acquire>(&body)) return &acquire->request_id;
    if (auto* convert = std::get_if<Convert>(&body)) return &convert->request_id;
    if (auto* open = std::get_if<OpenSession>(&body)) return &open->request_id;
    return nullptr;
}

// Writes a number as a text of six bits per character. The text is so short that a std::string
// needs no allocation for it.
void write_id(std::string& id, std::uint64_t number) {
    static constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    std::array<char, 11> text;
    for (char& digit : text) {
        digit = digits[number & 63];
        number >>= 6;
    }
    id.assign(text.data(), text.size());
}

}  // namespace

// ---- Requests ----

Result<std::unique_ptr<RemoteService>> RemoteService::connect(const std::string& path, Clock& clock,
                                                              const RemoteOptions& options) {
    const auto give_up = std::chrono::steady_clock::now() + options.patience;
    for (;;) {
        auto socket = FrameSocket::connect(path, give_up);
        if (!socket) return std::move(socket).error();
        auto service = FramedService::begin(path, *std::move(socket), clock, options);
        const bool overloaded = !service && service.error().code == ErrorCode::limit_exceeded;
        if (!overloaded) return service;
        if (std::chrono::steady_clock::now() >= give_up) {
            return Error(ErrorCode::unreachable, std::move(service).error().message);
        }
        std::this_thread::sleep_for(overload_pause);
    }
}

Result<std::unique_ptr<RemoteService>> FramedService::begin(std::string path, FrameSocket socket,
                                                            Clock& clock,
                                                            const RemoteOptions& options) {
    auto service =
        std::unique_ptr<FramedService>(new FramedService(std::move(path), clock, options));
    {
        MutexLock lock(service->mutex_);
        service->reading_.fd = socket.fd();
        service->socket_ = std::move(socket);
        service->connected_ = true;
    }
    service->reader_ = std::jthread(
        [self = service.get()](const std::stop_token& stop) { self->read_loop(stop); });
    const auto before = clock.now().boot;
    auto pong = service->query(Ping{});
    if (!pong) {
        if (pong.error().code == ErrorCode::limit_exceeded) return std::move(pong).error();
        return Error(ErrorCode::unreachable, std::move(pong).error().message);
    }
    // Another clock, for example that of a test, has no relation to that of the daemon.
    if (&clock == &system_clock()) {
        auto same =
            check_boot_clock(*pong, clock.boot_id(), before, clock.now().boot, service->path_);
        if (!same) return std::move(same).error();
        service->other_boot_ = has_other_boot(*pong, clock.boot_id());
    }
    {
        MutexLock lock(service->mutex_);
        service->hurry_ = false;
        auto& sharing = service->socket_.sharing();
        sharing.offered = pong->shared_memory;
        sharing.over = !pong->shared_memory;
    }
    return std::unique_ptr<RemoteService>(std::move(service));
}

FramedService::FramedService(std::string path, Clock& clock, const RemoteOptions& options)
    : path_(std::move(path)),
      clock_(clock),
      options_(options),
      wake_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ROCKLOCK_ASSERT(wake_event_ >= 0);
    const auto bytes = random_bytes<8>();
    for (const auto byte : bytes) request_ids_ = request_ids_ << 8 | byte;
}

FramedService::~FramedService() {
    [[maybe_unused]] const auto closed = close();
    ::close(wake_event_);
}

Ticket FramedService::submit(Request request, Completion done) {
    if (fork_check_.in_child()) {
        done(child_error());
        return {};
    }
    Call call;
    if (auto made = make_call(request, call); !made) {
        done(std::move(made).error());
        return {};
    }
    return Ticket{send(
        std::move(call),
        [done = std::move(done)](Result<Reply>&& reply) { done(answer_of(std::move(reply))); },
        false)};
}

Result<Answer> FramedService::call(Request request, std::stop_token stop) {
    Call call;
    if (auto made = make_call(request, call); !made) return std::move(made).error();
    return answer_of(wait_for(std::move(call), stop));
}

Result<Reply> FramedService::wait_for(Call&& call, const std::stop_token& stop) {
    if (fork_check_.in_child()) return child_error();
    struct Slot {
        Mutex mutex;
        CondVar answered;
        std::optional<Result<Reply>> reply ROCKLOCK_GUARDED_BY(mutex);
    };
    // The completion runs exactly once, and this function waits for it. Therefore, the slot exists
    // when the completion runs. The completion notifies while it holds the mutex, so it does not
    // use the slot after it has unlocked the mutex.
    Slot slot;
    const auto number = send(
        std::move(call),
        [&slot](Result<Reply>&& reply) {
            MutexLock lock(slot.mutex);
            slot.reply.emplace(std::move(reply));
            slot.answered.notify_one();
        },
        true);
    const std::stop_callback on_stop(stop, [this, number] { cancel(Ticket{number}); });
    MutexLock lock(slot.mutex);
    while (!slot.reply) await(slot.mutex, slot.answered);
    return *std::move(slot.reply);
}

void FramedService::submit_renewals(const std::vector<SessionId>& sessions, Renewed done) {
    const auto shared = std::make_shared<Renewed>(std::move(done));
    std::optional<Error> refused;
    if (fork_check_.in_child()) {
        refused = child_error();
    } else {
        MutexLock lock(mutex_);
        refused = refusal();
        for (std::size_t i = 0; i < sessions.size() && !refused; ++i) {
            auto answered = [shared, i](Result<Reply>&& reply) {
                if (!reply) return (*shared)(i, std::move(reply).error());
                (*shared)(i, std::get<SessionInfo>(*std::move(reply)));
            };
            enter({RenewSession{sessions[i], {}, {}, {}, {}}, {}, {}}, std::move(answered), true);
        }
        send_entered();
    }
    if (!refused) return;
    for (std::size_t i = 0; i < sessions.size(); ++i) (*shared)(i, *refused);
}

std::vector<Result<SessionInfo>> FramedService::renew(const std::vector<SessionId>& sessions) {
    struct Slots {
        Mutex mutex;
        CondVar answered;
        std::size_t missing ROCKLOCK_GUARDED_BY(mutex) = 0;
        std::vector<Result<SessionInfo>> answers ROCKLOCK_GUARDED_BY(mutex);
    };
    const auto slots = std::make_shared<Slots>();
    {
        MutexLock lock(slots->mutex);
        slots->missing = sessions.size();
        slots->answers.resize(sessions.size(), Error());
    }
    submit_renewals(sessions, [slots](std::size_t index, Result<SessionInfo> renewed) {
        MutexLock lock(slots->mutex);
        slots->answers[index] = std::move(renewed);
        if (--slots->missing == 0) slots->answered.notify_all();
    });
    MutexLock lock(slots->mutex);
    while (slots->missing > 0) await(slots->mutex, slots->answered);
    return std::move(slots->answers);
}

// Waits until the reader thread has answered.
void FramedService::await(Mutex& mutex, CondVar& answered) {
    if (!on_reader_thread()) return answered.wait(mutex);
    // This is the reader thread, within a completion. No other thread reads replies, so do it here.
    mutex.unlock();
    step();
    mutex.lock();
}

std::uint64_t FramedService::send(Call&& call, Replied&& done, bool direct) {
    MutexLock lock(mutex_);
    if (auto refused = refusal()) {
        lock.unlock();
        done(*std::move(refused));
        return 0;
    }
    const auto number = enter(std::move(call), std::move(done), direct);
    send_entered();
    return number;
}

std::uint64_t FramedService::enter(Call&& call, Replied&& done, bool direct) {
    const auto number = ++last_number_;
    PendingCall& pending =
        pending_calls_
            .try_emplace(pending_calls_.end(), number, std::move(call), std::move(done), direct)
            ->second;
    const auto now = Steady::now();
    const KnownSession* const session = prepare(pending.call);
    pending.give_up = std::min(usual_give_up_time(pending.call.body, session, now), closing_until_);
    const auto* patience = patience_in(pending.call.body);
    if (patience != nullptr && *patience <= max_patience) pending.patient_until = now + *patience;
    next_expiry_ = std::min(next_expiry_, pending.give_up);
    if (connected_) transmit(number, pending);
    return number;
}

void FramedService::send_entered() {
    if (connected_) ask_for_memory();
    if (connected_ && socket_.has_outgoing()) send_pending();
    if (next_expiry_ < reader_wakes_at_) wake();
}

// Adds a request id, which makes it safe to send the call twice, and the secret of the session.
// Returns the state of the session whose secret the call needs, or null if there is none.
FramedService::KnownSession* FramedService::prepare(Call& call) {
    if (auto* id = request_id_in(call.body); id != nullptr && id->empty()) {
        write_id(*id, request_ids_++);
    }
    const auto* session = proven_session(call.body);
    if (session == nullptr) return nullptr;
    const auto known = known_sessions_.find(*session);
    if (!call.secret)
        call.secret = known == known_sessions_.end() ? Secret{} : known->second.secret;
    if (known == known_sessions_.end()) return nullptr;
    if (std::holds_alternative<RenewSession>(call.body)) call.rebind = known->second.of_connection;
    if (const auto* release = std::get_if<Release>(&call.body)) {
        const auto grant = known->second.grants.find(release->grant);
        if (grant != known->second.grants.end()) grant->second.releasing = true;
    }
    if (std::holds_alternative<CloseSession>(call.body)) known->second.closing = true;
    return &known->second;
}

// `session` is the result of prepare().
FramedService::Steady::time_point FramedService::usual_give_up_time(const CallBody& body,
                                                                    const KnownSession* session,
                                                                    Steady::time_point now) const {
    if (std::holds_alternative<RenewSession>(body)) {
        const auto lease = session == nullptr ? max_renewal_period : session->lease;
        return now + std::clamp(lease / 6, min_renewal_period, max_renewal_period);
    }
    if (std::holds_alternative<Release>(body) || std::holds_alternative<CloseSession>(body)) {
        return now + std::min(max_ending_period, options_.patience);
    }
    if (reads_whole_store(body)) return Steady::time_point::max();
    const auto* patience = patience_in(body);
    if (patience == nullptr) return now + options_.patience;
    if (*patience > max_patience) return Steady::time_point::max();
    return now + std::max(*patience, milliseconds{0}) + options_.patience;
}

Error FramedService::child_error() {
    return {ErrorCode::store_in_use,
            "this connection belongs to the parent process: connect again after a fork"};
}

Error FramedService::closed_error() { return {ErrorCode::closing, "the connection was closed"}; }

std::optional<Error> FramedService::refusal() const {
    if (closed_) return closed_error();
    if (hurry_ && !connected_) return outage_.reason;
    return std::nullopt;
}

// Reads the time before the call is sent, because the lease is counted from this time.
void FramedService::transmit(std::uint64_t number, PendingCall& pending) {
    if (pending.sent != BootTime{} && pending.patient_until) {
        const auto left = std::chrono::ceil<milliseconds>(*pending.patient_until - Steady::now());
        set_patience(pending.call.body, std::max(left, milliseconds{0}));
    }
    pending.sent = clock_.now().boot;
    pending.was_sent = true;
    ++socket_.sharing().calls;
    append_call(socket_.outgoing(), number, pending.call);
}

void FramedService::send_pending() {
    // The reader thread handles a lost connection and the bytes that the socket did not accept.
    if (!socket_.send_some() || socket_.has_outgoing()) wake();
}

void FramedService::cancel(Ticket ticket) {
    if (fork_check_.in_child()) return;
    const auto number = static_cast<std::uint64_t>(ticket);
    std::vector<CompletedCall> finished;
    {
        MutexLock lock(mutex_);
        const auto found = pending_calls_.find(number);
        if (found == pending_calls_.end() || !found->second.done) return;
        PendingCall& pending = found->second;
        if (patience_in(pending.call.body) == nullptr) return;
        pending.cancelled = true;
        if (connected_) {
            append_cancel(socket_.outgoing(), number);
            send_pending();
            return;
        }
        finished.push_back(give_up(number, pending, Error(ErrorCode::cancelled, "withdrawn")));
    }
    deliver(std::move(finished));
}

// ---- Queries ----

Result<LockView> FramedService::show(std::string_view resource) {
    return query(ShowLock{std::string(resource)});
}

Result<LockPage> FramedService::list(const ListLocks& request) { return query(request); }

Result<std::vector<SessionView>> FramedService::sessions(std::string_view principal) {
    std::vector<SessionView> all;
    ListSessions request{std::string(principal), max_page, {}};
    do {
        auto page = query(request);
        if (!page) return std::move(page).error();
        for (auto& session : page->sessions) all.push_back(std::move(session));
        request.next = std::move(page->next);
    } while (!request.next.empty());
    return all;
}

Result<std::vector<Grant>> FramedService::grants(const SessionId& session) {
    auto detail = query(ShowSession{session});
    if (!detail) return std::move(detail).error();
    return std::move(detail->grants);
}

Result<SessionInfo> FramedService::authenticate(const SessionId& session, const Secret& secret) {
    auto detail = query(ShowSession{session}, secret);
    if (!detail) return std::move(detail).error();
    detail->session.id = session;
    return std::move(detail->session);
}

bool FramedService::holds(const SessionId& session, std::string_view resource, Mode mode) {
    const auto does = [&](const auto& lock) {
        const bool below = lock.subtree && resource.size() > lock.resource.size() &&
                           resource.starts_with(lock.resource) &&
                           resource[lock.resource.size()] == '/';
        return lock.permits == 0 && (below || lock.resource == resource) && covers(lock.mode, mode);
    };
    if (const auto own = grants(session)) {
        return std::any_of(own->begin(), own->end(), [&](const Grant& grant) {
            return std::any_of(grant.locks.begin(), grant.locks.end(), does);
        });
    }
    // The session belongs to another client, so this client does not know its secret and cannot
    // query its grants. A list of its locks needs no secret, but is more expensive.
    ListLocks request;
    request.session = session;
    request.limit = max_page;
    do {
        auto page = query(request);
        if (!page) return false;
        if (std::any_of(page->locks.begin(), page->locks.end(), does)) return true;
        request.next = std::move(page->next);
    } while (!request.next.empty());
    return false;
}

std::vector<LockClass> FramedService::classes() {
    auto list = query(ListClasses{});
    return list ? std::move(list->classes) : std::vector<LockClass>();
}

std::vector<WaitEdge> FramedService::wait_graph() {
    auto list = query(ListWaits{});
    return list ? std::move(list->waits) : std::vector<WaitEdge>();
}

std::vector<Deadlock> FramedService::recent_deadlocks() {
    auto list = query(ListDeadlocks{});
    return list ? std::move(list->deadlocks) : std::vector<Deadlock>();
}

Result<std::vector<AuditRow>> FramedService::audit(std::uint64_t after, std::uint32_t limit) {
    std::vector<AuditRow> rows;
    while (rows.size() < limit) {
        const auto left = limit - static_cast<std::uint32_t>(rows.size());
        auto page = query(ListAudit{after, std::min(left, max_page)});
        if (!page) return std::move(page).error();
        for (auto& row : page->rows) rows.push_back(std::move(row));
        if (page->rows.size() < max_page) break;
        after = rows.back().sequence;
    }
    return rows;
}

Result<std::uint64_t> FramedService::trim_audit(std::uint64_t through) {
    auto trimmed = query(TrimAudit{through});
    if (!trimmed) return std::move(trimmed).error();
    return trimmed->rows;
}

LockStatistics FramedService::statistics() {
    auto counts = query(ShowStatistics{});
    return counts ? *counts : LockStatistics();
}

Result<Outliers> FramedService::outliers(std::uint32_t limit) { return query(ListOutliers{limit}); }

Result<HistoryPage> FramedService::history(const HistoryRequest& request) { return query(request); }

Result<EventPage> FramedService::watch(const WatchRequest& request, std::stop_token stop) {
    Call call;
    call.body = request;
    auto reply = wait_for(std::move(call), stop);
    if (!reply) return std::move(reply).error();
    return std::get<EventPage>(*std::move(reply));
}

Ticket FramedService::submit_watch(WatchRequest request, WatchCompletion done) {
    if (fork_check_.in_child()) {
        done(child_error());
        return {};
    }
    Call call;
    call.body = std::move(request);
    return Ticket{send(
        std::move(call),
        [done = std::move(done)](Result<Reply>&& reply) {
            if (!reply) return done(std::move(reply).error());
            done(std::get<EventPage>(*std::move(reply)));
        },
        false)};
}

// ---- Backup ----

Result<void> FramedService::back_up(const std::string& directory) {
    std::error_code nowhere;
    const auto absolute = std::filesystem::absolute(directory, nowhere);
    if (directory.empty() || nowhere) {
        return Error(ErrorCode::invalid_argument, "name a directory that is new or empty");
    }
    auto copied = query(Backup{absolute.string()});
    if (!copied) return std::move(copied).error();
    return {};
}

}  // namespace rocklock
