// The client of a daemon. It sends requests as frames over one connection, on which several
// requests can be in progress at the same time.
//
//     submit() ─► numbered, kept, sent ─► answered by the reader thread
//                   │ connection lost
//                   ├─► sent again if that does no harm: queries, renewals, and calls with a
//                   │   request id (every acquire, convert and opening of a session gets one)
//                   └─► fails with `indeterminate`: it is unknown whether it was executed
//
// The client never treats a lease as valid for longer than the daemon does. It computes deadlines
// with this machine's clock, from the time at which the request was sent. It uses only durations of
// the daemon: the time from the arrival of the request to its decision, and the remaining lease.
//
// The methods are in these files:
//
//     framed_service.cpp    requests, queries
//     framed_reading.cpp    the reader thread: replies, shared memory, lost connections,
//                           reconnecting
//     framed_closing.cpp    closing
//     framed_knowledge.cpp  the state of sessions and grants, as learned from replies
//
// The client stores the secret of each session from the reply that contains it, and adds it to
// later calls. For each session that has or wants grants, an AwaitNotices call is always in
// progress, so that the daemon reports each event as soon as it is committed. The client reports
// each event once. If a report of the daemon is lost with the connection, the reply to the next
// renewal contains the event.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "client/frame_socket.hpp"
#include "client/remote_service.hpp"
#include "client/session_id_hash.hpp"
#include "wire/call.hpp"

namespace rocklock {

// See RemoteService.
class FramedService final : public RemoteService {
public:
    // Creates a client that uses a connected socket, and first sends a Ping. Errors: unreachable;
    // limit_exceeded if the daemon's connection limit is reached.
    static Result<std::unique_ptr<RemoteService>> begin(std::string path, FrameSocket socket,
                                                        Clock& clock, const RemoteOptions& options);
    // Calls close().
    ~FramedService() override;

    Ticket submit(Request request, Completion done) override;
    void cancel(Ticket ticket) override;
    Result<Answer> call(Request request, std::stop_token stop = {}) override;

    Result<LockView> show(std::string_view resource) override;
    Result<LockPage> list(const ListLocks& request) override;
    Result<std::vector<SessionView>> sessions(std::string_view principal) override;
    Result<std::vector<Grant>> grants(const SessionId& session) override;
    Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) override;
    bool holds(const SessionId& session, std::string_view resource, Mode mode) override;
    std::vector<LockClass> classes() override;
    std::vector<WaitEdge> wait_graph() override;
    std::vector<Deadlock> recent_deadlocks() override;
    Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) override;
    Result<std::uint64_t> trim_audit(std::uint64_t through) override;
    LockStatistics statistics() override;
    Result<Outliers> outliers(std::uint32_t limit) override;
    Result<HistoryPage> history(const HistoryRequest& request) override;
    Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) override;
    Ticket submit_watch(WatchRequest request, WatchCompletion done) override;

    void on_lost(std::function<void(const LostNotice&)> notify) override;
    void on_wanted(std::function<void(const WantedNotice&)> notify) override;
    void on_answered(std::function<void(const AnsweredNotice&)> notify) override;
    std::optional<BootTime> tick() override;
    void submit_renewals(const std::vector<SessionId>& sessions, Renewed done) override;
    std::vector<Result<SessionInfo>> renew(const std::vector<SessionId>& sessions) override;
    Result<void> back_up(const std::string& directory) override;
    Result<TableBinding> bind_table(const TableBinding& binding) override;
    Result<TableBinding> unbind_table(const std::string& table) override;
    Result<std::vector<TableBinding>> bindings() override;
    Result<DraftPage> list_drafts(const DraftsRequest& request) override;
    Result<Draft> take_draft(const std::string& principal, DraftId draft) override;
    Result<void> discard_draft(const std::string& principal, DraftId draft) override;
    std::optional<Secret> secret_of(const SessionId& session) override;
    std::vector<ExpectedRelease> expect_release(const LockProof& proof) override;
    void end_expectation(const SessionId& session,
                         const std::vector<ExpectedRelease>& expected) override;
    void forget_grant(const SessionId& session, GrantId grant) override;
    void need_daemon(std::chrono::steady_clock::time_point until) override;
    void flush_endings() override;
    void begin_closing() override;
    Result<void> close() override;

private:
    using Steady = std::chrono::steady_clock;
    using Replied = std::function<void(Result<Reply>&&)>;

    // A call that is not yet answered.
    struct PendingCall {
        PendingCall(Call&& its_call, Replied&& its_done, bool is_direct)
            : call(std::move(its_call)), done(std::move(its_done)), direct(is_direct) {}

        Call call;
        // Null if the caller has already received an error. The reply then only updates
        // `known_sessions_` and triggers notices; if `gives_back` is set, it also triggers the
        // release of the lock.
        Replied done;
        // Whether the reader thread may call `done` immediately, because `done` does not block.
        bool direct = false;
        // The time at which the call was last sent.
        BootTime sent;
        // The time at which the caller receives an error if there is no reply.
        Steady::time_point give_up;
        // The time at which the wait timeout of the request ends; none if it has no wait timeout.
        std::optional<Steady::time_point> patient_until;
        // Whether the call was written to a connection, so that the daemon may have received it.
        bool was_sent = false;
        // Whether a connection was lost after the call was sent and before its reply arrived.
        bool in_doubt = false;
        bool cancelled = false;
        // Whether the lock is to be released if it is granted, because the caller has already
        // received an error.
        bool gives_back = false;
    };
    // By number, so that calls are sent again in their order after a reconnect.
    using PendingCalls = std::map<std::uint64_t, PendingCall>;
    struct CompletedCall {
        Replied done;
        Result<Reply> reply;
        bool direct = false;
    };
    struct KnownGrant {
        Grant grant;
        // The number of the last call that had been sent when the grant became known.
        std::uint64_t known_at = 0;
        bool releasing = false;
    };
    // The state of a session with a known secret.
    struct KnownSession {
        Secret secret;
        std::map<GrantId, KnownGrant> grants;
        std::chrono::milliseconds lease{};
        BootTime deadline;
        // Whether the session is bound to the connection. If the daemon restarts, the next renewal
        // binds the session to the new connection.
        bool of_connection = false;
        // Whether a query for the session is in progress, because its lease has expired according
        // to the client's computation.
        bool checking = false;
        bool closing = false;
        bool over = false;
        // Whether an AwaitNotices call of the session is in progress.
        bool awaiting = false;
        // The `after` of the next AwaitNotices.
        std::uint64_t noticed = 0;
        // The numbers of the last notices that have been reported.
        std::deque<std::uint64_t> reported;
    };
    // The state of reconnecting while there is no connection.
    struct Outage {
        // The reason why there is no connection.
        Error reason;
        Steady::time_point since;
        Steady::time_point next_attempt;
        // The time from the last failed attempt to the next attempt.
        std::chrono::milliseconds pause{};
        // The thread that runs RemoteOptions::restart. It has finished if `restarting` is false.
        std::jthread restart;
        bool restarting = false;
        // The daemon is not started again before `next_restart`. The pause between two starts
        // doubles with each start, until there is a connection again.
        Steady::time_point next_restart{};
        std::chrono::milliseconds restart_pause{};
        // A request on another connection needs the daemon until this time.
        Steady::time_point needed_until{};
    };
    struct Notifications {
        std::vector<LostNotice> lost;
        std::vector<WantedNotice> wanted;
        std::vector<AnsweredNotice> answered;
    };

    FramedService(std::string path, Clock& clock, const RemoteOptions& options);

    std::uint64_t send(Call&& call, Replied&& done, bool direct) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t enter(Call&& call, Replied&& done, bool direct) ROCKLOCK_REQUIRES(mutex_);
    void send_entered() ROCKLOCK_REQUIRES(mutex_);
    KnownSession* prepare(Call& call) ROCKLOCK_REQUIRES(mutex_);
    void transmit(std::uint64_t number, PendingCall& pending) ROCKLOCK_REQUIRES(mutex_);
    void send_pending() ROCKLOCK_REQUIRES(mutex_);
    void ask_for_memory() ROCKLOCK_REQUIRES(mutex_);
    void send_share() ROCKLOCK_REQUIRES(mutex_);
    Steady::time_point usual_give_up_time(const CallBody& body, const KnownSession* session,
                                          Steady::time_point now) const;
    static Error child_error();
    static Error closed_error();
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex_);
    // Sends a call and waits for its reply.
    template <typename Body>
    Result<ReplyTo<Body>> query(Body body, std::optional<Secret> secret = {}) {
        auto reply = wait_for({std::move(body), secret, {}}, {});
        if (!reply) return std::move(reply).error();
        return std::get<ReplyTo<Body>>(*std::move(reply));
    }
    Result<std::optional<SessionId>> session_of(const std::string& principal)
        ROCKLOCK_EXCLUDES(mutex_);
    Result<Reply> wait_for(Call&& call, const std::stop_token& stop);
    void await(Mutex& mutex, CondVar& answered) ROCKLOCK_REQUIRES(mutex);

    void read_loop(const std::stop_token& stop);
    bool on_reader_thread() const;
    void step() ROCKLOCK_EXCLUDES(mutex_);
    struct Readiness {
        bool input = false;
        bool space = false;
    };
    Readiness wait_for_socket(int timeout, bool for_space) const;
    Readiness wait_for_memory(int timeout, bool for_space) const;
    void clear_wake_event() const;
    void receive() ROCKLOCK_EXCLUDES(mutex_);
    void reconnect() ROCKLOCK_EXCLUDES(mutex_);
    void restart_daemon() ROCKLOCK_REQUIRES(mutex_);
    void connection_lost(Error why) ROCKLOCK_EXCLUDES(mutex_);
    void expire() ROCKLOCK_EXCLUDES(mutex_);
    CompletedCall give_up(std::uint64_t number, PendingCall& pending, const Error& why)
        ROCKLOCK_REQUIRES(mutex_);
    bool may_repeat(const PendingCall& pending) const ROCKLOCK_REQUIRES(mutex_);
    void take(const Frame& frame) ROCKLOCK_EXCLUDES(mutex_);
    Result<Reply> read_reply(const PendingCall& pending, std::string_view body) const;
    bool ask_again(PendingCalls::node_type& call) ROCKLOCK_EXCLUDES(mutex_);
    bool ask_new_manager(PendingCalls::node_type& call) ROCKLOCK_EXCLUDES(mutex_);
    void finish(std::uint64_t number, PendingCall& pending, Result<Reply>&& reply)
        ROCKLOCK_EXCLUDES(mutex_);
    void deliver(std::vector<CompletedCall> finished) ROCKLOCK_EXCLUDES(mutex_);
    void deliver(Replied& done, Result<Reply>&& reply, bool direct) ROCKLOCK_EXCLUDES(mutex_);
    void wake();

    static void count_from_here(Reply& reply, BootTime from);
    static void shorten_times(Reply& reply);
    Notifications learn(std::uint64_t number, const PendingCall& pending, Result<Reply>& reply)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_session(const PendingCall& pending, SessionInfo& session,
                       Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    static bool is_new(KnownSession& known, std::uint64_t number);
    template <typename Received>
    void learn_notices(const SessionId& session, KnownSession& known, Received& received,
                       Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void await_notices(const SessionId& session) ROCKLOCK_REQUIRES(mutex_);
    void await_notices(const SessionId& session, KnownSession& known) ROCKLOCK_REQUIRES(mutex_);
    void learn_grant(const PendingCall& pending, const Grant& grant) ROCKLOCK_REQUIRES(mutex_);
    void learn_release(KnownSession& known, GrantId grant, const Released& released)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_detail(std::uint64_t number, const PendingCall& pending, const SessionDetail& detail,
                      Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void end(KnownSession& known) ROCKLOCK_REQUIRES(mutex_);
    void lose_all(const SessionId& session, KnownSession& known, const Ending& ending,
                  Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void notify(const Notifications& notifications);
    std::optional<BootTime> check_sessions(bool waits) ROCKLOCK_EXCLUDES(mutex_);

    const std::string path_;
    Clock& clock_;
    const RemoteOptions options_;
    const ForkCheck fork_check_{};
    // Whether the manager has another boot clock than this process.
    std::atomic<bool> other_boot_{false};
    const int wake_event_;
    struct Callbacks {
        std::function<void(const LostNotice&)> lost;
        std::function<void(const WantedNotice&)> wanted;
        std::function<void(const AnsweredNotice&)> answered;
    };
    Callbacks callbacks_;

    // Used only by the reader thread.
    struct Reading {
        int fd = -1;
        FrameReceiver receiver;
        std::deque<CompletedCall> completions;
    };
    Reading reading_;

    Mutex mutex_;
    // Any thread can send. Only the reader thread receives, and replaces the socket.
    FrameSocket socket_ ROCKLOCK_GUARDED_BY(mutex_);
    bool connected_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // True during the first connect and after begin_closing(). A call then fails immediately if
    // there is no connection, or when the connection is lost.
    bool hurry_ ROCKLOCK_GUARDED_BY(mutex_) = true;
    bool closed_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // Set by begin_closing(). A call that is still pending at this time fails.
    Steady::time_point closing_until_ ROCKLOCK_GUARDED_BY(mutex_) = Steady::time_point::max();
    Outage outage_ ROCKLOCK_GUARDED_BY(mutex_);
    // No call times out before this time. The reader thread wakes at reader_wakes_at_ at the
    // latest.
    Steady::time_point next_expiry_ ROCKLOCK_GUARDED_BY(mutex_) = Steady::time_point::max();
    Steady::time_point reader_wakes_at_ ROCKLOCK_GUARDED_BY(mutex_);
    // No session needs to be checked before this time.
    BootTime next_check_ ROCKLOCK_GUARDED_BY(mutex_) = BootTime::max();
    std::uint64_t last_number_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::uint64_t request_ids_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    PendingCalls pending_calls_ ROCKLOCK_GUARDED_BY(mutex_);
    std::unordered_map<SessionId, KnownSession, SessionIdHash> known_sessions_
        ROCKLOCK_GUARDED_BY(mutex_);
    // The numbers of sessions in `known_sessions_` that have ended (`over`), and of sessions for
    // which an AwaitNotices call is in progress (`awaiting`).
    struct KnownCounts {
        std::size_t over = 0;
        std::size_t awaiting = 0;
    };
    KnownCounts known_counts_ ROCKLOCK_GUARDED_BY(mutex_);
    // Set by the reader thread itself, because it may need the id before `reader_` is assigned.
    std::atomic<std::thread::id> reader_id_;
    // Declared last, because the thread uses all other members.
    std::jthread reader_;
};

}  // namespace rocklock
