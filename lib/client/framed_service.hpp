// Requests go out as frames, many at a time, on one connection.
//
//     submit() ─► numbered, kept, sent ─► answered by the reader thread
//                   │ connection lost
//                   ├─► sent again, when that can do no harm: looks, renewals, and what has a
//                   │   request id, which every acquire, convert and opening is given
//                   └─► `indeterminate`: nobody can say whether it happened
//
// What is believed of a lease never reaches beyond what the daemon has promised: it is counted on
// this machine's clock from the moment the request was sent, and of the daemon only durations are
// believed (how long the request lay there before it was decided, and how long the lease is).
//
// Its methods lie in files by what they do:
//
//     framed_service.cpp    asking, looking, closing
//     framed_reading.cpp    the reader: answers, and a connection that breaks and comes back
//     framed_knowledge.cpp  what answers tell of sessions and their grants
//
// Sessions are proved by their secrets, which are remembered from the answers that gave them. What
// happens to their grants comes with the answers to renewals, and is told once.
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

// As RemoteService says.
class FramedService final : public RemoteService {
public:
    // Over a socket that is connected; speaks to the daemon first. Errors: unreachable;
    // limit_exceeded when the daemon has too many connections.
    static Result<std::unique_ptr<RemoteService>> begin(std::string path, FrameSocket socket,
                                                        Clock& clock, const RemoteOptions& options);
    // Closes.
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
    std::optional<BootTime> tick() override;
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

    // A call under way.
    struct Asked {
        Call call;
        // None: given up by its caller; the answer is only taken note of.
        Replied done;
        // May be called by the reader at once: it does not wait for anything.
        bool direct = false;
        // When it was sent last.
        BootTime sent;
        // When nobody waits for the answer any longer, and until when it may wait in a queue.
        Steady::time_point give_up;
        std::optional<Steady::time_point> patient_until;
        // It was written to a connection, so it may have reached the daemon.
        bool was_sent = false;
        // That connection broke before the answer.
        bool in_doubt = false;
        bool cancelled = false;
        // If it is granted after all, nobody wants it any more.
        bool gives_back = false;
    };
    struct Finished {
        Replied done;
        Result<Reply> reply;
        bool direct = false;
    };
    struct Held {
        Grant grant;
        // The last call that had been made when it became known.
        std::uint64_t known_at = 0;
        bool releasing = false;
    };
    // What is known of a session whose secret is known.
    struct Known {
        Secret secret;
        std::map<GrantId, Held> grants;
        std::chrono::milliseconds lease{};
        BootTime deadline;
        // It ends with the connection; after a restart of the daemon, with the next one.
        bool of_connection = false;
        // Asked after, since its lease seems to have run out.
        bool checking = false;
        bool closing = false;
        bool over = false;
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
    };

    FramedService(std::string path, Clock& clock, const RemoteOptions& options);

    std::uint64_t send(Call call, Replied done, bool direct) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t enter(Call call, Replied done, bool direct) ROCKLOCK_REQUIRES(mutex_);
    void send_entered() ROCKLOCK_REQUIRES(mutex_);
    void prepare(Call& call) ROCKLOCK_REQUIRES(mutex_);
    void transmit(std::uint64_t number, Asked& asked) ROCKLOCK_REQUIRES(mutex_);
    void send_pending() ROCKLOCK_REQUIRES(mutex_);
    Steady::time_point give_up_time(const Call& call) const ROCKLOCK_REQUIRES(mutex_);
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
    Finished give_up(std::uint64_t number, Asked& asked, const Error& why)
        ROCKLOCK_REQUIRES(mutex_);
    bool may_repeat(const Asked& asked) const ROCKLOCK_REQUIRES(mutex_);
    void take(const Frame& frame) ROCKLOCK_EXCLUDES(mutex_);
    bool ask_again(std::uint64_t number, Asked& asked) ROCKLOCK_EXCLUDES(mutex_);
    void finish(std::uint64_t number, Asked asked, Result<Reply> reply) ROCKLOCK_EXCLUDES(mutex_);
    void deliver(std::vector<Finished> finished) ROCKLOCK_EXCLUDES(mutex_);
    void wake();

    static void count_from_here(Reply& reply, BootTime from);
    Notifications learn(std::uint64_t number, const Asked& asked, Result<Reply>& reply)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_session(const Asked& asked, SessionInfo& session, Notifications& notifications)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_grant(const Asked& asked, const Grant& grant) ROCKLOCK_REQUIRES(mutex_);
    void learn_release(Known& known, GrantId grant, const Released& released)
        ROCKLOCK_REQUIRES(mutex_);
    void learn_detail(std::uint64_t number, const Asked& asked, const SessionDetail& detail,
                      Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void end(Known& known) ROCKLOCK_REQUIRES(mutex_);
    void lose_all(const SessionId& session, Known& known, const Ending& ending,
                  Notifications& notifications) ROCKLOCK_REQUIRES(mutex_);
    void notify(const Notifications& notifications);
    std::optional<BootTime> check_sessions(bool waits) ROCKLOCK_EXCLUDES(mutex_);

    const std::string path_;
    Clock& clock_;
    const RemoteOptions options_;
    const MadeHere made_here_{};
    const int wake_event_;
    std::function<void(const LostNotice&)> tell_lost_;
    std::function<void(const WantedNotice&)> tell_wanted_;

    // Of the reader alone.
    int reader_fd_ = -1;
    FrameReceiver receiver_;
    std::deque<Finished> completions_;

    Mutex mutex_;
    // Sent to by any thread; the reader receives, and replaces it.
    FrameSocket socket_ ROCKLOCK_GUARDED_BY(mutex_);
    bool connected_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // Nothing waits for a daemon that is away: while connecting, and while closing.
    bool hurry_ ROCKLOCK_GUARDED_BY(mutex_) = true;
    bool closed_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    Outage outage_ ROCKLOCK_GUARDED_BY(mutex_);
    // No call is given up before this; when the reader wakes by itself.
    Steady::time_point next_expiry_ ROCKLOCK_GUARDED_BY(mutex_) = Steady::time_point::max();
    Steady::time_point reader_wakes_at_ ROCKLOCK_GUARDED_BY(mutex_);
    // No session is to be asked after before this.
    BootTime next_check_ ROCKLOCK_GUARDED_BY(mutex_) = BootTime::max();
    std::uint64_t last_number_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::uint64_t request_ids_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, Asked> asked_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<SessionId, Known> known_ ROCKLOCK_GUARDED_BY(mutex_);
    // How many of them are over.
    std::size_t known_over_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    // Last: it uses all of the above.
    std::jthread reader_;
};

}  // namespace rocklock
