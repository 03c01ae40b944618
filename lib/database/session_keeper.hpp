// Keeps the sessions of a program: renews them, warns when a lease is about to end, and passes the
// lock manager's notices to the owners of the sessions. One thread handles all sessions. The thread
// handles a session only when the next check of the session is due.
//
//           renewed                  not renewed in time
//     kept ─────────► kept     kept ─────────────────────► warned ──► expired: every grant is lost
//
// The program never treats a lease as valid for longer than the lock manager does, because it uses
// the manager's deadline and the same clock. If KeepingTimes::margin or less is left until the
// deadline, valid() returns false.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/session.hpp>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "client/session_id_hash.hpp"
#include "database/callback.hpp"
#include "lock/manager/wake_thread.hpp"

namespace rocklock {

class RemoteService;

// The times of SessionOptions, with their defaults filled in.
struct KeepingTimes {
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds renew_every{};
    std::chrono::milliseconds warn_at{};
    std::chrono::milliseconds margin{};
    bool renew = true;
};

// Errors: invalid_argument if the times violate the constraints of SessionOptions.
Result<KeepingTimes> keeping_times(const SessionOptions& options);

// The source of the tokens that Guard::stop_token() returns for one grant, and the time at which
// the grant ends even if its session is renewed (Grant::cap).
struct StopSource {
    std::stop_source source;
    BootTime cap = BootTime::max();
};

// The state that a Session and its Guards share. Threads: thread-safe.
struct KeptSession {
    // NOLINTNEXTLINE(readability-function-size): each parameter becomes a member
    KeptSession(LockService& used_service, Clock& used_clock, SessionKeeper& its_keeper,
                const SessionInfo& info, const KeepingTimes& chosen, bool is_remote)
        : service(used_service),
          clock(used_clock),
          keeper(its_keeper),
          id(info.id),
          secret(info.secret),
          times(chosen),
          remote(is_remote) {}

    LockService& service;
    Clock& clock;
    SessionKeeper& keeper;
    const SessionId id;
    const Secret secret;
    const KeepingTimes times;
    // Whether `service` is that of a daemon.
    const bool remote;
    // A child after a fork must not use the session or lock the mutex.
    const ForkCheck fork_check{};

    mutable Mutex mutex;
    BootTime deadline ROCKLOCK_GUARDED_BY(mutex){};
    // The time of the manager's decision that set `deadline`.
    BootTime decided ROCKLOCK_GUARDED_BY(mutex){};
    BootTime renew_at ROCKLOCK_GUARDED_BY(mutex){};
    // Whether the reply to a renewal has not yet arrived.
    bool renewing ROCKLOCK_GUARDED_BY(mutex) = false;
    bool warned ROCKLOCK_GUARDED_BY(mutex) = false;
    // Set when the keeper finds that the deadline has passed. No check is needed until there is a
    // later deadline.
    bool expired ROCKLOCK_GUARDED_BY(mutex) = false;
    // Set when the session has ended, or was closed or detached. The session is then not renewed
    // any more.
    bool over ROCKLOCK_GUARDED_BY(mutex) = false;
    std::set<GrantId> lost ROCKLOCK_GUARDED_BY(mutex);
    // The grants that the owner has released by allowing a take-over (AnswerWanted), or that a save
    // has released (AfterSave::release). For AnswerWanted, the grant is added before the request is
    // sent, and removed again if it was not released. Grants in the set are not valid.
    std::set<GrantId> given_up ROCKLOCK_GUARDED_BY(mutex);
    // The sources of the stop tokens that Guard::stop_token() has returned, by grant.
    std::map<GrantId, StopSource> stops ROCKLOCK_GUARDED_BY(mutex);
    Callback<const LostNotice&> on_lost;
    Callback<std::chrono::milliseconds> on_warning;
    Callback<const Wanted&> on_wanted;
    Callback<const TakeOverAnswer&> on_take_over_answer;

    // Returns the time until which the session, and the grant if one is given, is valid: the
    // deadline minus the margin.
    BootTime reliable_until(const Grant* grant) const;
    std::stop_token stop_token(const Grant& grant) ROCKLOCK_EXCLUDES(mutex);
    // Requests a stop for each grant that is not valid any more; see Guard::stop_token(). No mutex
    // is held while stop callbacks run.
    void request_stops() ROCKLOCK_EXCLUDES(mutex);
    bool valid(const Grant* grant) const { return clock.now().boot < reliable_until(grant); }
    std::chrono::milliseconds remaining(const Grant* grant) const;
    // Applies the reply to an opening or a renewal.
    void renewed(const SessionInfo& info, std::chrono::milliseconds jitter);
    // Handles a failed renewal: schedules another attempt, unless the session has ended.
    void not_renewed(const Error& error);
    // Applies the new deadline in the reply to a granted request. Granting a request renews the
    // session.
    void granted(const Grant& grant);
    // Stops the renewal and removes the callbacks. When let_go() has returned, no callback runs any
    // more.
    void let_go();
    // If `gone` is true, adds the grant to `given_up`; otherwise removes it from there.
    void give_up(GrantId grant, bool gone);
    Result<void> assert_held(const Grant* grant, std::string_view resource, Mode mode) const;

    // The next three functions are for SessionKeeper. Returns the time of the next check, or none
    // if no check is needed.
    std::optional<BootTime> next_check() const;
    // Returns whether the session must be renewed now. If so, renewed() or not_renewed() must
    // follow.
    bool begin_renewal(BootTime now);
    // Returns the remaining lease if the owner must be warned now, and otherwise none. The owner is
    // warned at most once for each deadline.
    std::optional<std::chrono::milliseconds> check(BootTime now);
};

// Renews sessions and delivers notices to their owners; see the beginning of this file. Threads:
// thread-safe.
class SessionKeeper {
public:
    // If `service` is the client of a daemon, `remote` is the same object, because RemoteService
    // can renew many sessions at once. Otherwise, `remote` is null.
    SessionKeeper(LockService& service, RemoteService* remote, Clock& clock, bool background);
    // Stops the thread.
    ~SessionKeeper();
    SessionKeeper(const SessionKeeper&) = delete;
    SessionKeeper& operator=(const SessionKeeper&) = delete;

    // Adds a session, which is kept from now on.
    std::shared_ptr<KeptSession> keep(const SessionInfo& info, const KeepingTimes& times);
    // Computes the time of the session's next check again. Must be called after the owner has
    // renewed the session, or after its deadline has changed in another way.
    void changed(const KeptSession& session) ROCKLOCK_EXCLUDES(mutex_);
    // Removes a session that its owner has closed or detached.
    void forget(const KeptSession& session) ROCKLOCK_EXCLUDES(mutex_);

    // Returns whether the keeper has a session with this id.
    bool keeps(const SessionId& id) ROCKLOCK_EXCLUDES(mutex_);

    // Queue notices. Called on the manager's thread.
    void lost(const LostNotice& notice);
    void wanted(const WantedNotice& notice);
    void answered(const AnsweredNotice& notice);
    // Marks a grant as released by a save.
    void given_up(const SessionId& id, GrantId grant);

    // Renews the sessions that are due, and delivers notices. Returns the time at which work() must
    // be called again, or none.
    std::optional<BootTime> work();

    // Stops the renewal of all sessions and calls on_lost() for every grant that they still hold.
    void close();
    // Delivers the queued notices.
    void notify() ROCKLOCK_EXCLUDES(mutex_);

private:
    using Sessions = std::vector<std::shared_ptr<KeptSession>>;

    struct Entry {
        std::shared_ptr<KeptSession> session;
        // The time of the session's entry in `queue_`; none if it has no entry.
        std::optional<BootTime> at;
    };
    // The callbacks to be called for one session, in order.
    struct Notifications {
        std::shared_ptr<KeptSession> session;
        std::optional<LostNotice> lost;
        std::optional<Wanted> wanted;
        std::optional<TakeOverAnswer> answer;
        std::optional<std::chrono::milliseconds> warning;
    };

    std::shared_ptr<KeptSession> find(const SessionId& id) ROCKLOCK_EXCLUDES(mutex_);
    // Executes one round of the thread. Returns the time of the next round, or none.
    std::optional<BootTime> round() ROCKLOCK_EXCLUDES(mutex_);
    // Renews and checks at most `max_sessions` sessions that are due.
    void attend(std::size_t max_sessions) ROCKLOCK_EXCLUDES(mutex_);
    Sessions take_due(std::size_t max_sessions) ROCKLOCK_EXCLUDES(mutex_);
    void renew(const Sessions& sessions) ROCKLOCK_EXCLUDES(mutex_);
    void renew_here(const Sessions& due) ROCKLOCK_EXCLUDES(mutex_);
    void take_in(KeptSession& session, const Result<SessionInfo>& answer) ROCKLOCK_EXCLUDES(mutex_);
    void renewed(KeptSession& session, const SessionInfo& info) ROCKLOCK_EXCLUDES(mutex_);
    void schedule(Entry& entry, std::optional<BootTime> at) ROCKLOCK_REQUIRES(mutex_);
    std::optional<BootTime> next() const ROCKLOCK_REQUIRES(mutex_);
    void add_notifications(Notifications notifications) ROCKLOCK_EXCLUDES(mutex_);
    std::chrono::milliseconds jitter(const KeepingTimes& times) ROCKLOCK_REQUIRES(mutex_);

    LockService& service_;
    RemoteService* const remote_;
    Clock& clock_;
    const bool background_;
    // Locked after the mutex of the lock manager and before that of a session, if more than one is
    // needed.
    Mutex mutex_;
    std::unordered_map<SessionId, Entry, SessionIdHash> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
    // The times of the next checks, earliest first.
    std::set<std::pair<BootTime, SessionId>> queue_ ROCKLOCK_GUARDED_BY(mutex_);
    // The time until which the thread sleeps; BootTime::min() while it does not sleep.
    BootTime sleeps_until_ ROCKLOCK_GUARDED_BY(mutex_) = BootTime::min();
    std::deque<Notifications> notifications_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t jitter_state_ ROCKLOCK_GUARDED_BY(mutex_) = 0x9E3779B97F4A7C15U;
    WakeThread thread_;
};

}  // namespace rocklock
