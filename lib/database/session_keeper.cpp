#include "database/session_keeper.hpp"

#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "lock/names.hpp"

namespace rocklock {

using std::chrono::milliseconds;

Result<KeepingTimes> keeping_times(const SessionOptions& options) {
    const milliseconds zero{0};
    const auto invalid = [](std::string message) {
        return Error(ErrorCode::invalid_argument, std::move(message));
    };
    if (options.renew_every < zero || options.warn_at < zero || options.margin < zero) {
        return invalid("renew_every, warn_at and margin can't be negative: give 0 for the default");
    }
    if (auto error = check_lease(options.lease)) return *std::move(error);
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
                       " leaves nothing of a lease of " + exact_duration(times.lease));
    }
    if (!times.renew) return times;
    if (times.renew_every > times.lease / 3) {
        return invalid("renew_every is " + exact_duration(times.renew_every) +
                       ": at most a third of the lease, " + exact_duration(times.lease / 3) +
                       ", leaves room for two that fail");
    }
    if (times.margin >= times.warn_at) {
        return invalid("warn_at is " + exact_duration(times.warn_at) +
                       ": it must be longer than the margin, " + exact_duration(times.margin));
    }
    if (times.warn_at >= times.lease - times.renew_every) {
        return invalid("warn_at is " + exact_duration(times.warn_at) +
                       ": it must be shorter than the lease less renew_every, " +
                       exact_duration(times.lease - times.renew_every) +
                       ", or every renewal comes with a warning");
    }
    return times;
}

// ---- What Session and Guard share ----

BootTime KeptSession::reliable_until(const Grant* grant) const {
    if (made_here.in_child()) return BootTime::min();
    MutexLock lock(mutex);
    if (over) return BootTime::min();
    BootTime until = deadline;
    if (grant != nullptr) {
        if (lost.contains(grant->id) || given_up.contains(grant->id)) return BootTime::min();
        until = std::min(until, grant->cap.value_or(BootTime::max()));
    }
    return until - times.margin;
}

milliseconds KeptSession::remaining(const Grant* grant) const {
    const BootTime until = reliable_until(grant);
    const BootTime now = clock.now().boot;
    return until <= now ? milliseconds{0} : std::chrono::duration_cast<milliseconds>(until - now);
}

void KeptSession::renewed(const SessionInfo& info, milliseconds jitter) {
    MutexLock lock(mutex);
    const BootTime at = info.deadline - info.lease;
    if (at < decided) return;
    decided = at;
    deadline = info.deadline;
    // A lease that was made shorter by hand is renewed more often.
    renew_at = deadline - info.lease + std::min(times.renew_every, info.lease / 3) - jitter;
    warned = false;
}

void KeptSession::granted(const Grant& grant) {
    MutexLock lock(mutex);
    // `remaining` is cut to whole milliseconds, so this is not later than the decision. Of one that
    // was decided before the last renewal the answer comes late, and the lease may be another one.
    const BootTime at = grant.deadline - grant.remaining - milliseconds{1};
    if (at < decided || grant.deadline <= deadline) return;
    decided = at;
    deadline = grant.deadline;
    warned = false;
}

void KeptSession::give_up(GrantId grant, bool gone) {
    MutexLock lock(mutex);
    if (gone) {
        given_up.insert(grant);
    } else {
        given_up.erase(grant);
    }
}

void KeptSession::let_go() {
    if (made_here.in_child()) return;
    {
        MutexLock lock(mutex);
        over = true;
    }
    on_lost.set({});
    on_warning.set({});
    on_wanted.set({});
}

Result<void> KeptSession::assert_held(const Grant* grant, std::string_view resource,
                                      Mode mode) const {
    const std::string what =
        "\"" + std::string(resource) + "\" in mode " + std::string(to_string(mode));
    if (!valid(grant)) {
        return Error(ErrorCode::not_owner, "not held any more: the lease of what should cover " +
                                               what + " is over, or within its margin of it");
    }
    if (!service.holds(id, resource, mode)) {
        return Error(ErrorCode::not_owner, "this session does not hold " + what);
    }
    return {};
}

// ---- Keeping ----

SessionKeeper::SessionKeeper(LockService& service, Clock& clock, bool background)
    : service_(service), clock_(clock), background_(background) {
    if (background_) thread_.start([this] { return work(); });
}

SessionKeeper::~SessionKeeper() { thread_.stop(); }

std::shared_ptr<KeptSession> SessionKeeper::keep(const SessionInfo& info,
                                                 const KeepingTimes& times) {
    auto kept = std::make_shared<KeptSession>(service_, clock_, *this, info, times);
    kept->renewed(info, jitter(times));
    {
        MutexLock lock(mutex_);
        sessions_[info.id] = kept;
    }
    changed();
    return kept;
}

void SessionKeeper::changed() {
    if (background_) thread_.call();
}

milliseconds SessionKeeper::jitter(const KeepingTimes& times) {
    MutexLock lock(mutex_);
    // xorshift64: enough to keep a thousand sessions from renewing at once.
    jitter_state_ ^= jitter_state_ << 13;
    jitter_state_ ^= jitter_state_ >> 7;
    jitter_state_ ^= jitter_state_ << 17;
    const auto most = static_cast<std::uint64_t>(times.renew_every.count()) / 10;
    return milliseconds(static_cast<std::int64_t>(jitter_state_ % (most + 1)));
}

std::shared_ptr<KeptSession> SessionKeeper::find(const SessionId& id) {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second.lock();
}

std::vector<std::shared_ptr<KeptSession>> SessionKeeper::all() {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<KeptSession>> kept;
    std::erase_if(sessions_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [id, session] : sessions_) {
        if (auto alive = session.lock()) kept.push_back(std::move(alive));
    }
    return kept;
}

void SessionKeeper::lost(const LostNotice& notice) {
    auto session = find(notice.session);
    if (session == nullptr) return;
    {
        MutexLock lock(session->mutex);
        session->lost.insert(notice.grant.id);
    }
    {
        MutexLock lock(mutex_);
        news_.push_back({std::move(session), notice, std::nullopt});
    }
    changed();
}

void SessionKeeper::wanted(const WantedNotice& notice) {
    auto session = find(notice.session);
    if (session == nullptr) return;
    {
        MutexLock lock(mutex_);
        news_.push_back({std::move(session), std::nullopt, notice.wanted});
    }
    changed();
}

void SessionKeeper::given_up(const SessionId& id, GrantId grant) {
    if (const auto session = find(id)) session->give_up(grant, true);
}

void SessionKeeper::tell() {
    for (;;) {
        News news;
        {
            MutexLock lock(mutex_);
            if (news_.empty()) return;
            news = std::move(news_.front());
            news_.pop_front();
        }
        if (news.lost) news.session->on_lost(*news.lost);
        if (news.wanted) news.session->on_wanted(*news.wanted);
    }
}

std::optional<BootTime> SessionKeeper::work() {
    tell();
    std::optional<BootTime> next;
    for (const auto& session : all()) {
        const auto at = attend(*session);
        if (at) next = std::min(next.value_or(BootTime::max()), *at);
    }
    tell();
    return next;
}

std::optional<BootTime> SessionKeeper::attend(KeptSession& session) {
    BootTime now = clock_.now().boot;
    bool due = false;
    {
        MutexLock lock(session.mutex);
        if (session.over) return std::nullopt;
        due = session.times.renew && now >= session.renew_at;
    }
    if (due) renew(session);
    now = clock_.now().boot;
    std::optional<milliseconds> left;
    BootTime next{};
    {
        MutexLock lock(session.mutex);
        if (session.over) return std::nullopt;
        const BootTime warn_from = session.deadline - session.times.warn_at;
        if (now >= session.deadline) return std::nullopt;
        if (!session.warned && now >= warn_from) {
            session.warned = true;
            left = std::chrono::duration_cast<milliseconds>(session.deadline - now);
        }
        next = session.warned ? session.deadline : warn_from;
        if (session.times.renew) next = std::min(next, session.renew_at);
    }
    if (left) session.on_warning(*left);
    return next;
}

void SessionKeeper::renew(KeptSession& session) {
    const auto renewed = service_.ask(RenewSession{session.id, {}, {}, {}, {}});
    if (renewed) return session.renewed(*renewed, jitter(session.times));
    MutexLock lock(session.mutex);
    const ErrorCode code = renewed.error().code;
    if (code == ErrorCode::session_expired || code == ErrorCode::session_not_found) {
        session.over = true;
        return;
    }
    // Again soon; the lease runs on meanwhile, and the warning comes in time.
    session.renew_at =
        clock_.now().boot + std::max(session.times.renew_every / 4, milliseconds{10});
}

void SessionKeeper::close() {
    thread_.stop();
    for (const auto& session : all()) {
        std::vector<Grant> held;
        if (auto grants = service_.grants(session->id)) held = *std::move(grants);
        {
            MutexLock lock(session->mutex);
            if (std::exchange(session->over, true)) continue;
        }
        for (Grant& grant : held) {
            Ending ending{Outcome::held, {}, "manager closed", clock_.now().wall};
            session->on_lost({session->id, std::move(grant), std::move(ending)});
        }
    }
    tell();
}

}  // namespace rocklock
