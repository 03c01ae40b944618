// Keeps the sessions of a program: renews them, warns when a lease runs low, and passes on what the
// manager tells their owners. One thread for all of them, which looks at each when its moment has
// come: the others cost nothing meanwhile.
//
//           renewed                  not renewed in time
//     kept ─────────► kept     kept ─────────────────────► warned ──► expired: every grant is lost
//
// What a program believes of its own lease never reaches beyond what the manager has promised: the
// deadline is the manager's own, on the same clock, and valid() ends a margin before it.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/session.hpp>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "database/callback.hpp"
#include "lock/manager/wake_thread.hpp"

namespace rocklock {

class RemoteService;

// How a session is kept, with the defaults worked out.
struct KeepingTimes {
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds renew_every{};
    std::chrono::milliseconds warn_at{};
    std::chrono::milliseconds margin{};
    bool renew = true;
};

// Errors: invalid_argument, when the times do not fit together.
Result<KeepingTimes> keeping_times(const SessionOptions& options);

// What Session and Guard share. Threads: thread-safe.
struct KeptSession {
    KeptSession(LockService& used_service, Clock& used_clock, SessionKeeper& its_keeper,
                const SessionInfo& info, const KeepingTimes& chosen)
        : service(used_service),
          clock(used_clock),
          keeper(its_keeper),
          id(info.id),
          secret(info.secret),
          times(chosen) {}

    LockService& service;
    Clock& clock;
    SessionKeeper& keeper;
    const SessionId id;
    const Secret secret;
    const KeepingTimes times;
    // A child of this process has no right to it, and must not touch the mutex.
    const MadeHere made_here{};

    mutable Mutex mutex;
    BootTime deadline ROCKLOCK_GUARDED_BY(mutex){};
    // When the manager decided what `deadline` says.
    BootTime decided ROCKLOCK_GUARDED_BY(mutex){};
    BootTime renew_at ROCKLOCK_GUARDED_BY(mutex){};
    bool warned ROCKLOCK_GUARDED_BY(mutex) = false;
    // Its keeper has seen the deadline pass: nothing is to be done before there is another one.
    bool expired ROCKLOCK_GUARDED_BY(mutex) = false;
    // Ended, closed or detached: nothing is kept any more.
    bool over ROCKLOCK_GUARDED_BY(mutex) = false;
    std::set<GrantId> lost ROCKLOCK_GUARDED_BY(mutex);
    // Those that its owner has let others have.
    std::set<GrantId> given_up ROCKLOCK_GUARDED_BY(mutex);
    Callback<const LostNotice&> on_lost;
    Callback<std::chrono::milliseconds> on_warning;
    Callback<const Wanted&> on_wanted;

    // Until this the session, and the grant if one is given, may be relied upon.
    BootTime reliable_until(const Grant* grant) const;
    bool valid(const Grant* grant) const { return clock.now().boot < reliable_until(grant); }
    std::chrono::milliseconds remaining(const Grant* grant) const;
    // The answer to opening or renewing: what counts from now on.
    void renewed(const SessionInfo& info, std::chrono::milliseconds jitter);
    // A renewal has failed: is tried again soon, unless the session is over.
    void not_renewed(const Error& error);
    // A grant has extended the lease too.
    void granted(const Grant& grant);
    // Its owner lets go: nothing is kept any more, and nobody called back once this is over.
    void let_go();
    // Whether a grant is about to be given up, or has been: not to be relied upon.
    void give_up(GrantId grant, bool gone);
    Result<void> assert_held(const Grant* grant, std::string_view resource, Mode mode) const;

    // For its keeper. When it is to be looked at next; none: not as it is.
    std::optional<BootTime> next_check() const;
    bool renewal_is_due(BootTime now) const;
    // What is left of the lease when its owner is to be warned, which this tells once.
    std::optional<std::chrono::milliseconds> check(BootTime now);
};

// Threads: thread-safe.
class SessionKeeper {
public:
    // `remote`: the same service, when it is a daemon's, which renews many at once.
    SessionKeeper(LockService& service, RemoteService* remote, Clock& clock, bool background);
    // Stops.
    ~SessionKeeper();
    SessionKeeper(const SessionKeeper&) = delete;
    SessionKeeper& operator=(const SessionKeeper&) = delete;

    std::shared_ptr<KeptSession> keep(const SessionInfo& info, const KeepingTimes& times);
    // It has been renewed by hand, or lives again: look at its times again.
    void changed(const KeptSession& session) ROCKLOCK_EXCLUDES(mutex_);
    // Its owner has let it go.
    void forget(const KeptSession& session) ROCKLOCK_EXCLUDES(mutex_);

    // From the manager's thread.
    void lost(const LostNotice& notice);
    void wanted(const WantedNotice& notice);
    // By a save, which has released it.
    void given_up(const SessionId& id, GrantId grant);

    // Renews, warns, calls back; says when to come again.
    std::optional<BootTime> work();

    // No session is kept from now on; whoever holds something is told so.
    void close();
    // Calls back for what the manager has told so far.
    void notify() ROCKLOCK_EXCLUDES(mutex_);

private:
    using Sessions = std::vector<std::shared_ptr<KeptSession>>;

    struct Entry {
        std::shared_ptr<KeptSession> session;
        // Its place in the queue.
        std::optional<BootTime> at;
    };
    // What is to be called back, in order.
    struct Notifications {
        std::shared_ptr<KeptSession> session;
        std::optional<LostNotice> lost;
        std::optional<Wanted> wanted;
        std::optional<std::chrono::milliseconds> warning;
    };

    std::shared_ptr<KeptSession> find(const SessionId& id) ROCKLOCK_EXCLUDES(mutex_);
    // A round of the thread.
    std::optional<BootTime> round() ROCKLOCK_EXCLUDES(mutex_);
    // Attends to those whose moment has come, but to so many at most.
    void attend(std::size_t most) ROCKLOCK_EXCLUDES(mutex_);
    Sessions take_due(std::size_t most) ROCKLOCK_EXCLUDES(mutex_);
    void renew(const Sessions& sessions) ROCKLOCK_EXCLUDES(mutex_);
    void take_in(KeptSession& session, const Result<SessionInfo>& renewed)
        ROCKLOCK_EXCLUDES(mutex_);
    void place(Entry& entry, std::optional<BootTime> at) ROCKLOCK_REQUIRES(mutex_);
    std::optional<BootTime> next() const ROCKLOCK_REQUIRES(mutex_);
    void add_news(Notifications notifications) ROCKLOCK_EXCLUDES(mutex_);
    std::chrono::milliseconds jitter(const KeepingTimes& times) ROCKLOCK_EXCLUDES(mutex_);

    LockService& service_;
    RemoteService* const remote_;
    Clock& clock_;
    const bool background_;
    // Before that of a session, where both are taken.
    Mutex mutex_;
    std::map<SessionId, Entry> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
    // When each is to be looked at, the first one first.
    std::set<std::pair<BootTime, SessionId>> queue_ ROCKLOCK_GUARDED_BY(mutex_);
    // Of the thread; the earliest there is while it does not sleep.
    BootTime sleeps_until_ ROCKLOCK_GUARDED_BY(mutex_) = BootTime::min();
    std::deque<Notifications> news_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t jitter_state_ ROCKLOCK_GUARDED_BY(mutex_) = 0x9E3779B97F4A7C15U;
    WakeThread thread_;
};

}  // namespace rocklock
