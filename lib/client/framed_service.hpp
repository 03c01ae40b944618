// The client of a daemon: sends requests as frames over one connection, several at a time.
//
//     submit() ─► numbered, kept, sent ─► answered by the reader thread
//                   │ connection lost
//                   ├─► sent again if that does no harm: queries, renewals, and calls with a
//                   │   request id (every acquire, convert and opening of a session gets one)
//                   └─► fails with `indeterminate`: it is unknown whether it was executed
//
// The client never treats a lease as valid for longer than the daemon does. It computes deadlines
// with this machine's clock, from the time at which the request was sent. From the daemon it uses
// only durations: the time from the arrival of the request to its decision, and the remaining
// lease.
//
// The methods are in these files:
//
//     framed_service.cpp    requests, queries
//     framed_reading.cpp    the reader thread: replies, lost connections, reconnecting
//     framed_closing.cpp    closing
//     framed_knowledge.cpp  the state of sessions and grants, as learned from replies
//
// The client remembers the secret of each session from the reply that contained it and adds it to
// later calls. For each session that has or wants grants, an AwaitNotices call is always under way,
// so the daemon reports each event when it is decided. Events are reported once. The replies to
// renewals contain those whose report was lost with a connection.
#pragma once

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
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "client/frame_socket.hpp"
#include "client/remote_service.hpp"
#include "wire/call.hpp"

namespace rocklock {

// See RemoteService.
class FramedService final : public RemoteService {
public:
    // Uses a connected socket, and starts with a Ping. Errors: unreachable; limit_exceeded if the
    // daemon's connection limit is reached.
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
    void begin_closing() override;
    Result<void> close() override;

private:
    using Steady = std::chrono::steady_clock;
    using Replied = std::function<void(Result<Reply>)>;

    // A call that is not answered yet.
    struct PendingCall {
        Call call;
        // Null if the caller has already received an error. The reply then only updates
        // `known_sessions_`, triggers notices and, if `gives_back` is set, the release of the lock.
        Replied done;
        // The reader may call `done` immediately, because it does not block.
        bool direct = false;
        // The time of the last transmission.
        BootTime sent;
        // The time at which the caller receives an error if there is no reply.
        Steady::time_point give_up;
        // The time at which the wait timeout of the request ends; none if it has no wait timeout.
        std::optional<Steady::time_point> patient_until;
        // The call was written to a connection, so the daemon may have received it.
        bool was_sent = false;
        // A connection was lost after the call was sent and before the reply.
        bool in_doubt = false;
        bool cancelled = false;
        // If the lock is granted, it is released, because the caller has already received an error.
        bool gives_back = false;
    };
    struct CompletedCall {
        Replied done;
        Result<Reply> reply;
        bool direct = false;
    };
    struct KnownGrant {
        Grant grant;
        // The number of the last call when the grant became known.
        std::uint64_t known_at = 0;
        bool releasing = false;
    };
    // The state of a session with a known secret.
    struct KnownSession {
        Secret secret;
        std::map<GrantId, KnownGrant> grants;
        std::chrono::milliseconds lease{};
        BootTime deadline;
        // The session is bound to the connection. After a restart of the daemon, a renewal binds it
        // to the new connection.
        bool of_connection = false;
        // A query is under way, because the lease has expired according to the client's
        // computation.
        bool checking = false;
        bool closing = false;
        bool over = false;
        // An AwaitNotices request of the session is under way.
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
        // The time between the last failed attempt and the next one.
        std::chrono::milliseconds pause{};
    };
    struct Notifications {
        std::vector<LostNotice> lost;
        std::vector<WantedNotice> wanted;
        std::vector<AnsweredNotice> answered;
    };

    FramedService(std::string path, Clock& clock, const RemoteOptions& options);

    std::uint64_t send(Call call, Replied done, bool direct) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t enter(Call call, Replied done, bool direct) ROCKLOCK_REQUIRES(mutex_);
    void send_entered() ROCKLOCK_REQUIRES(mutex_);
    void prepare(Call& call) ROCKLOCK_REQUIRES(mutex_);
    void transmit(std::uint64_t number, PendingCall& pending) ROCKLOCK_REQUIRES(mutex_);
    void send_pending() ROCKLOCK_REQUIRES(mutex_);
    Steady::time_point give_up_time(const Call& call) const ROCKLOCK_REQUIRES(mutex_);
    Steady::time_point usual_give_up_time(const Call& call) const ROCKLOCK_REQUIRES(mutex_);
    // Waits until the daemon has decided the releases that were sent, but not longer than until
    // `closing_until_`.
    void flush_endings() ROCKLOCK_EXCLUDES(mutex_);
    static Error child_error();
    static Error closed_error();
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex_);
    template <typename Body>
    Result<ReplyTo<Body>> query(Body body, std::optional<Secret> secret = {});
    Result<Reply> wait_for(Call call, const std::stop_token& stop);
    void await(Mutex& mutex, CondVar& answered) ROCKLOCK_REQUIRES(mutex);

    void read_loop(const std::stop_token& stop);
    void step() ROCKLOCK_EXCLUDES(mutex_);
    void reconnect() ROCKLOCK_EXCLUDES(mutex_);
    void connection_lost(Error why) ROCKLOCK_EXCLUDES(mutex_);
    void expire() ROCKLOCK_EXCLUDES(mutex_);
    CompletedCall give_up(std::uint64_t number, PendingCall& pending, const Error& why)
        ROCKLOCK_REQUIRES(mutex_);
    bool may_repeat(const PendingCall& pending) const ROCKLOCK_REQUIRES(mutex_);
    void take(const Frame& frame) ROCKLOCK_EXCLUDES(mutex_);
    bool ask_again(std::uint64_t number, PendingCall& pending) ROCKLOCK_EXCLUDES(mutex_);
    void finish(std::uint64_t number, PendingCall pending, Result<Reply> reply)
        ROCKLOCK_EXCLUDES(mutex_);
    void deliver(std::vector<CompletedCall> finished) ROCKLOCK_EXCLUDES(mutex_);
    void wake();

    static void count_from_here(Reply& reply, BootTime from);
    Notifications learn(std::uint64_t number, const PendingCall& pending, Result<Reply>& reply)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_session(const PendingCall& pending, SessionInfo& session,
                       Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    static bool is_new(KnownSession& known, std::uint64_t number);
    template <typename Received>
    void learn_notices(const SessionId& session, KnownSession& known, Received& received,
                       Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void await_notices(const SessionId& session) ROCKLOCK_REQUIRES(mutex_);
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
    const int wake_event_;
    struct Callbacks {
        std::function<void(const LostNotice&)> lost;
        std::function<void(const WantedNotice&)> wanted;
        std::function<void(const AnsweredNotice&)> answered;
    };
    Callbacks callbacks_;

    // Used by the reader thread only.
    int reader_fd_ = -1;
    FrameReceiver receiver_;
    std::deque<CompletedCall> completions_;

    Mutex mutex_;
    // Any thread sends. Only the reader thread receives and replaces the socket.
    FrameSocket socket_ ROCKLOCK_GUARDED_BY(mutex_);
    bool connected_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // True during the first connect and after begin_closing(). A call then fails immediately if
    // there is no connection, and when the connection is lost.
    bool hurry_ ROCKLOCK_GUARDED_BY(mutex_) = true;
    bool closed_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // Set by begin_closing(): the latest time at which any call gets an error.
    Steady::time_point closing_until_ ROCKLOCK_GUARDED_BY(mutex_) = Steady::time_point::max();
    Outage outage_ ROCKLOCK_GUARDED_BY(mutex_);
    // No call times out before this time. The reader thread wakes at reader_wakes_at_ at the
    // latest.
    Steady::time_point next_expiry_ ROCKLOCK_GUARDED_BY(mutex_) = Steady::time_point::max();
    Steady::time_point reader_wakes_at_ ROCKLOCK_GUARDED_BY(mutex_);
    // No session has to be checked before this time.
    BootTime next_check_ ROCKLOCK_GUARDED_BY(mutex_) = BootTime::max();
    std::uint64_t last_number_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::uint64_t request_ids_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, PendingCall> pending_calls_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<SessionId, KnownSession> known_sessions_ ROCKLOCK_GUARDED_BY(mutex_);
    // The numbers of sessions in `known_sessions_` that have ended, and that have an AwaitNotices
    // call under way.
    struct KnownCounts {
        std::size_t over = 0;
        std::size_t awaiting = 0;
    };
    KnownCounts known_counts_ ROCKLOCK_GUARDED_BY(mutex_);
    // Declared last, because the thread uses all other members.
    std::jthread reader_;
};

}  // namespace rocklock
