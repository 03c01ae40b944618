#include "database/session_keeper.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/duration_text.hpp"
#include "client/remote_service.hpp"
#include "lock/model/names.hpp"

namespace rocklock {

using std::chrono::milliseconds;

namespace {

// The maximum number of sessions that one round handles. Between two rounds, notices are delivered
// and the thread can be stopped. Other due sessions are handled in the next round.
constexpr std::size_t max_in_a_round = 512;

// When a session is due, the thread also renews the sessions that are due soon: at most
// `max_early` and this part of `renew_every` later. A program with many sessions then renews many
// of them at a time. If each renewal were sent alone, the wake-ups of the threads would take more
// time than the renewals.
constexpr milliseconds max_early{20};
constexpr int early_part = 500;
// The maximum time for which the thread waits for the answers of a manager in this process.
constexpr milliseconds max_wait_for_answers{200};

std::chrono::nanoseconds early(const KeepingTimes& times) {
    if (!times.renew) return {};
    return std::min<std::chrono::nanoseconds>(
        max_early, std::chrono::nanoseconds(times.renew_every) / early_part);
}

}  // namespace

Result<KeepingTimes> keeping_times(const SessionOptions& options) {
    const milliseconds zero{0};
    const auto invalid = [](std::string message) {
        return Error(ErrorCode::invalid_argument, std::move(message));
    };
    if (options.renew_every < zero || options.warn_at < zero || options.margin < zero) {
        return invalid(
            "renew_every, warn_at and margin must not be negative: give 0 for the default");
    }
    if (options.lease != no_expiry) {
        if (auto error = check_lease(options.lease)) return *std::move(error);
    }
    KeepingTimes times;
    times.lease = options.lease;
    times.renew = options.renew;
    times.renew_every = options.renew_every == zero ? options.lease / 3 : options.renew_every;
    times.warn_at = options.warn_at == zero ? options.lease / 3 : options.warn_at;
    times.margin =
        options.margin == zero
            ? std::min(std::max(milliseconds{200}, options.lease / 10), options.lease / 4)
            : options.margin;
    if (times.margin >= times.lease) {
        return invalid("a margin of " + exact_duration(times.margin) +
                       " must be shorter than the lease, which is " + exact_duration(times.lease));
    }
    if (!times.renew) return times;
    if (times.renew_every > times.lease / 3) {
        return invalid("renew_every is " + exact_duration(times.renew_every) +
                       ": give at most a third of the lease, " + exact_duration(times.lease / 3) +
                       ", so that two renewals may fail");
    }
    if (times.margin >= times.warn_at) {
        return invalid("warn_at is " + exact_duration(times.warn_at) +
                       ": it must be longer than the margin, " + exact_duration(times.margin));
    }
    if (times.warn_at >= times.lease - times.renew_every) {
        return invalid("warn_at is " + exact_duration(times.warn_at) +
                       ": it must be shorter than the lease minus renew_every, " +
                       exact_duration(times.lease - times.renew_every) +
                       "; otherwise, a warning would precede every renewal");
    }
    ROCKLOCK_ASSERT(times.margin < times.warn_at && times.warn_at < times.lease);
    return times;
}

// ---- The state shared by Session and Guard ----

BootTime KeptSession::reliable_until(const Grant* grant) const {
    if (fork_check.in_child()) return BootTime::min();
    MutexLock lock(mutex);
    if (over) return BootTime::min();
    BootTime until = deadline;
    if (grant != nullptr) {
        if (lost.contains(grant->id) || given_up.contains(grant->id)) return BootTime::min();
        until = std::min(until, grant->cap.value_or(BootTime::max()));
    }
    return until - times.margin;
}

std::stop_token KeptSession::stop_token(const Grant& grant) {
    std::stop_token token;
    {
        MutexLock lock(mutex);
        StopSource& stop = stops[grant.id];
        stop.cap = grant.cap.value_or(BootTime::max());
        token = stop.source.get_token();
    }
    request_stops();
    // The next check may now be earlier.
    keeper.changed(*this);
    return token;
}

void KeptSession::request_stops() {
    std::vector<std::stop_source> due;
    {
        MutexLock lock(mutex);
        if (stops.empty()) return;
        const BootTime now = clock.now().boot;
        for (auto stop = stops.begin(); stop != stops.end();) {
            const GrantId grant = stop->first;
            const BootTime until = std::min(deadline, stop->second.cap) - times.margin;
            const bool valid =
                !over && !lost.contains(grant) && !given_up.contains(grant) && now < until;
            if (!valid) due.push_back(stop->second.source);
            stop = valid ? std::next(stop) : stops.erase(stop);
        }
    }
    for (auto& source : due) source.request_stop();
}

milliseconds KeptSession::remaining(const Grant* grant) const {
    const BootTime until = reliable_until(grant);
    const BootTime now = clock.now().boot;
    return until <= now ? milliseconds{0} : std::chrono::duration_cast<milliseconds>(until - now);
}

void KeptSession::renewed(const SessionInfo& info, milliseconds jitter) {
    MutexLock lock(mutex);
    renewing = false;
    const BootTime at = info.deadline - info.lease;
    if (at < decided) return;
    decided = at;
    deadline = info.deadline;
    // If a renewal has shortened the lease, the session is renewed more often.
    renew_at = deadline - info.lease + std::min(times.renew_every, info.lease / 3) - jitter;
    warned = false;
    expired = false;
}

void KeptSession::not_renewed(const Error& error) {
    MutexLock lock(mutex);
    renewing = false;
    if (error.code == ErrorCode::session_expired || error.code == ErrorCode::session_not_found) {
        over = true;
        return;
    }
    // The lease continues meanwhile, and the warning is sent in time.
    renew_at = clock.now().boot + std::max(times.renew_every / 4, milliseconds{10});
}

void KeptSession::granted(const Grant& grant) {
    {
        MutexLock lock(mutex);
        // `remaining` is rounded down to whole milliseconds. Because a millisecond is subtracted,
        // `at` is not later than the decision. If the grant was decided before the last renewal,
        // its reply is late, and the lease may have changed since. Such a reply is ignored.
        const BootTime at = grant.deadline - grant.remaining - milliseconds{1};
        if (at < decided || grant.deadline <= deadline) return;
        decided = at;
        deadline = grant.deadline;
        warned = false;
        // If `expired` is not set, the next check is already scheduled, and finds the new times.
        if (!std::exchange(expired, false)) return;
    }
    keeper.changed(*this);
}

void KeptSession::give_up(GrantId grant, bool gone) {
    {
        MutexLock lock(mutex);
        if (!gone) {
            given_up.erase(grant);
            return;
        }
        given_up.insert(grant);
    }
    request_stops();
}

void KeptSession::let_go() {
    if (fork_check.in_child()) return;
    {
        MutexLock lock(mutex);
        over = true;
    }
    request_stops();
    keeper.forget(*this);
    on_lost.set({});
    on_warning.set({});
    on_wanted.set({});
    on_take_over_answer.set({});
}

Result<void> KeptSession::assert_held(const Grant* grant, std::string_view resource,
                                      Mode mode) const {
    const std::string what =
        "\"" + std::string(resource) + "\" in mode " + std::string(to_string(mode));
    if (!valid(grant)) {
        return Error(ErrorCode::not_owner, "no longer held: the lease of the grant that covers " +
                                               what + " has ended, or ends within the margin");
    }
    if (!service.holds(id, resource, mode)) {
        return Error(ErrorCode::not_owner, "this session does not hold " + what);
    }
    return {};
}

std::optional<BootTime> KeptSession::next_check() const {
    MutexLock lock(mutex);
    if (over || expired) return std::nullopt;
    BootTime next = warned ? deadline : deadline - times.warn_at;
    for (const auto& [grant, stop] : stops) {
        next = std::min(next, std::min(deadline, stop.cap) - times.margin);
    }
    return times.renew && !renewing ? std::min(next, renew_at) : next;
}

bool KeptSession::begin_renewal(BootTime now) {
    MutexLock lock(mutex);
    if (over || !times.renew || renewing || now < renew_at) return false;
    renewing = true;
    return true;
}

std::optional<milliseconds> KeptSession::check(BootTime now) {
    MutexLock lock(mutex);
    if (over) return std::nullopt;
    expired = now >= deadline;
    if (expired || warned || now < deadline - times.warn_at) return std::nullopt;
    warned = true;
    return std::chrono::duration_cast<milliseconds>(deadline - now);
}

// ---- The sessions and the times of their checks ----

SessionKeeper::SessionKeeper(LockService& service, RemoteService* remote, Clock& clock,
                             bool background)
    : service_(service), remote_(remote), clock_(clock), background_(background) {
    if (background_) thread_.start([this] { return round(); });
}

SessionKeeper::~SessionKeeper() { thread_.stop(); }

std::shared_ptr<KeptSession> SessionKeeper::keep(const SessionInfo& info,
                                                 const KeepingTimes& times) {
    auto kept =
        std::make_shared<KeptSession>(service_, clock_, *this, info, times, remote_ != nullptr);
    MutexLock lock(mutex_);
    kept->renewed(info, jitter(times));
    Entry& entry = sessions_[info.id];
    entry.session = kept;
    schedule(entry, kept->next_check());
    return kept;
}

void SessionKeeper::changed(const KeptSession& session) {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(session.id);
    if (found == sessions_.end() || found->second.session.get() != &session) return;
    // next_check() is called with the mutex held, so that of two concurrent calls the last one uses
    // the newest times.
    schedule(found->second, session.next_check());
}

void SessionKeeper::renewed(KeptSession& session, const SessionInfo& info) {
    MutexLock lock(mutex_);
    session.renewed(info, jitter(session.times));
    const auto found = sessions_.find(session.id);
    if (found == sessions_.end() || found->second.session.get() != &session) return;
    schedule(found->second, session.next_check());
}

void SessionKeeper::forget(const KeptSession& session) {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(session.id);
    if (found == sessions_.end() || found->second.session.get() != &session) return;
    schedule(found->second, std::nullopt);
    sessions_.erase(found);
}

void SessionKeeper::schedule(Entry& entry, std::optional<BootTime> at) {
    if (entry.at == at) return;
    if (entry.at) queue_.erase({*entry.at, entry.session->id});
    entry.at = at;
    if (!at) return;
    queue_.emplace(*at, entry.session->id);
    if (*at >= sleeps_until_) return;
    sleeps_until_ = *at;
    thread_.call();
}

std::optional<BootTime> SessionKeeper::next() const {
    return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first);
}

SessionKeeper::Sessions SessionKeeper::take_due(std::size_t max_sessions) {
    const BootTime now = clock_.now().boot;
    Sessions due;
    MutexLock lock(mutex_);
    if (queue_.empty() || queue_.begin()->first > now) return due;
    const BootTime last = background_ ? now + max_early : now;
    for (auto next = queue_.begin(); next != queue_.end() && next->first <= last;) {
        if (due.size() == max_sessions) break;
        const auto at = next++;
        Entry& entry = sessions_.at(at->second);
        if (at->first > now && at->first > now + early(entry.session->times)) continue;
        due.push_back(entry.session);
        schedule(entry, std::nullopt);
    }
    return due;
}

milliseconds SessionKeeper::jitter(const KeepingTimes& times) {
    // xorshift64. It only has to prevent a thousand sessions from renewing at the same time.
    jitter_state_ ^= jitter_state_ << 13;
    jitter_state_ ^= jitter_state_ >> 7;
    jitter_state_ ^= jitter_state_ << 17;
    const auto max_jitter = static_cast<std::uint64_t>(times.renew_every.count()) / 10;
    return milliseconds(static_cast<std::int64_t>(jitter_state_ % (max_jitter + 1)));
}

bool SessionKeeper::keeps(const SessionId& id) {
    MutexLock lock(mutex_);
    return sessions_.contains(id);
}

std::shared_ptr<KeptSession> SessionKeeper::find(const SessionId& id) {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second.session;
}

// ---- Notices to the owners of sessions ----

void SessionKeeper::lost(const LostNotice& notice) {
    auto session = find(notice.session);
    if (session == nullptr) return;
    {
        MutexLock lock(session->mutex);
        session->lost.insert(notice.grant.id);
    }
    session->request_stops();
    add_notifications({std::move(session), notice, {}, {}, {}});
}

void SessionKeeper::wanted(const WantedNotice& notice) {
    auto session = find(notice.session);
    if (session == nullptr) return;
    add_notifications({std::move(session), {}, notice.wanted, {}, {}});
}

void SessionKeeper::answered(const AnsweredNotice& notice) {
    auto session = find(notice.session);
    if (session == nullptr) return;
    add_notifications({std::move(session), {}, {}, notice.answer, {}});
}

void SessionKeeper::add_notifications(Notifications notifications) {
    {
        MutexLock lock(mutex_);
        notifications_.push_back(std::move(notifications));
    }
    if (background_) thread_.call();
}

void SessionKeeper::given_up(const SessionId& id, GrantId grant) {
    if (const auto session = find(id)) session->give_up(grant, true);
}

void SessionKeeper::notify() {
    for (;;) {
        Notifications notifications;
        {
            MutexLock lock(mutex_);
            if (notifications_.empty()) return;
            notifications = std::move(notifications_.front());
            notifications_.pop_front();
        }
        if (notifications.lost) notifications.session->on_lost(*notifications.lost);
        if (notifications.wanted) notifications.session->on_wanted(*notifications.wanted);
        if (notifications.answer) notifications.session->on_take_over_answer(*notifications.answer);
        if (notifications.warning) notifications.session->on_warning(*notifications.warning);
    }
}

// ---- Renewal ----

std::optional<BootTime> SessionKeeper::work() {
    attend(std::numeric_limits<std::size_t>::max());
    MutexLock lock(mutex_);
    return next();
}

std::optional<BootTime> SessionKeeper::round() {
    {
        MutexLock lock(mutex_);
        sleeps_until_ = BootTime::min();
    }
    attend(max_in_a_round);
    MutexLock lock(mutex_);
    const auto at = next();
    sleeps_until_ = at.value_or(BootTime::max());
    return at;
}

void SessionKeeper::attend(std::size_t max_sessions) {
    notify();
    const Sessions due = take_due(max_sessions);
    renew(due);
    std::vector<Notifications> warnings;
    for (const auto& session : due) {
        session->request_stops();
        if (const auto left = session->check(clock_.now().boot)) {
            warnings.push_back({session, {}, {}, {}, left});
        }
        changed(*session);
    }
    {
        // Inserted before the other notices, so that the warning about a lease precedes its loss.
        MutexLock lock(mutex_);
        notifications_.insert(notifications_.begin(), std::make_move_iterator(warnings.begin()),
                              std::make_move_iterator(warnings.end()));
    }
    notify();
}

// Renews the due sessions. In the background mode, all requests are sent before the first answer
// arrives, so that many renewals take about as long as one, and the thread does not wait for the
// answers of a daemon: the daemon may be stopped, and warnings and stop requests can become due
// during the wait. Otherwise, tick() waits for the answers.
void SessionKeeper::renew(const Sessions& sessions) {
    const BootTime now = clock_.now().boot;
    Sessions due;
    std::copy_if(sessions.begin(), sessions.end(), std::back_inserter(due),
                 [&](const auto& session) {
                     return session->begin_renewal(background_ ? now + early(session->times) : now);
                 });
    if (due.empty()) return;
    if (remote_ == nullptr) return renew_here(due);
    std::vector<SessionId> ids;
    ids.reserve(due.size());
    for (const auto& session : due) ids.push_back(session->id);
    if (!background_) {
        const auto answers = remote_->renew(ids);
        for (std::size_t i = 0; i < due.size(); ++i) take_in(*due[i], answers[i]);
        return;
    }
    remote_->submit_renewals(
        ids, [this, due = std::move(due)](std::size_t index, const Result<SessionInfo>& renewed) {
            take_in(*due[index], renewed);
        });
}

// As renew(), if the manager is in this process. All renewals share one commit. The answers are
// handled on this thread and not on that of the manager, because a stop callback may wait. If the
// thread of the manager does not deliver the answers, because a callback of the program blocks it,
// each of the other sessions is renewed on this thread.
void SessionKeeper::renew_here(const Sessions& due) {
    if (!background_) {
        for (const auto& session : due) {
            take_in(*session, service_.ask(RenewSession{session->id, {}, {}, {}, {}}));
        }
        return;
    }
    struct Answers {
        Mutex mutex;
        CondVar all_answered;
        std::size_t missing ROCKLOCK_GUARDED_BY(mutex) = 0;
        // Empty after the keeper has stopped waiting.
        std::vector<std::optional<Result<SessionInfo>>> answers ROCKLOCK_GUARDED_BY(mutex);
    };
    const auto shared = std::make_shared<Answers>();
    {
        MutexLock lock(shared->mutex);
        shared->missing = due.size();
        shared->answers.resize(due.size());
    }
    for (std::size_t i = 0; i < due.size(); ++i) {
        service_.submit(RenewSession{due[i]->id, {}, {}, {}, {}},
                        [shared, i](Result<Answer>&& answer) {
                            MutexLock lock(shared->mutex);
                            if (shared->answers.empty()) return;
                            if (answer) {
                                shared->answers[i] = std::get<SessionInfo>(*std::move(answer));
                            } else {
                                shared->answers[i] = std::move(answer).error();
                            }
                            if (--shared->missing == 0) shared->all_answered.notify_one();
                        });
    }
    std::vector<std::optional<Result<SessionInfo>>> answers;
    {
        MutexLock lock(shared->mutex);
        const auto give_up = std::chrono::steady_clock::now() + max_wait_for_answers;
        while (shared->missing > 0) {
            const auto left = give_up - std::chrono::steady_clock::now();
            if (left.count() <= 0) break;
            shared->all_answered.wait_for(shared->mutex, left);
        }
        answers.swap(shared->answers);
    }
    for (std::size_t i = 0; i < due.size(); ++i) {
        if (!answers[i]) {
            answers[i] = service_.ask(RenewSession{due[i]->id, {}, {}, {}, {}});
        }
        take_in(*due[i], *answers[i]);
    }
}

void SessionKeeper::take_in(KeptSession& session, const Result<SessionInfo>& answer) {
    if (answer) {
        renewed(session, *answer);
    } else {
        session.not_renewed(answer.error());
        changed(session);
    }
    session.request_stops();
}

void SessionKeeper::close() {
    thread_.stop();
    Sessions kept;
    {
        MutexLock lock(mutex_);
        for (const auto& [id, entry] : sessions_) kept.push_back(entry.session);
    }
    for (const auto& session : kept) {
        std::vector<Grant> held;
        if (auto grants = service_.grants(session->id)) held = *std::move(grants);
        {
            MutexLock lock(session->mutex);
            if (std::exchange(session->over, true)) continue;
        }
        session->request_stops();
        for (Grant& grant : held) {
            Ending ending{Outcome::held, {}, "manager closed", clock_.now().wall};
            session->on_lost({session->id, std::move(grant), std::move(ending)});
        }
    }
    notify();
}

}  // namespace rocklock
