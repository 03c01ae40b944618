#include <algorithm>
#include <utility>
#include <variant>

#include "client/boot_clock.hpp"
#include "client/framed_service.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// The time until the next check of a session if the daemon did not answer the previous one.
constexpr milliseconds next_try{1'000};
// If the daemon reports a later deadline than the client has computed, the client checks the
// session again this long after that deadline.
constexpr milliseconds recheck_margin{2};
// The number of ended sessions above which they are removed from `known_sessions_`.
constexpr std::size_t max_over = 4096;
// The maximum number of AwaitNotices calls at a time. If there are more sessions, the others
// receive their notices with their renewals. More calls must not wait, because the daemon stops
// reading from a connection on which too many calls wait.
constexpr std::size_t max_awaiting = 4096;
constexpr std::size_t max_reported = 256;

template <typename T>
T* reply_in(Result<Reply>& reply) {
    return reply ? std::get_if<T>(&*reply) : nullptr;
}

bool session_is_over(const Error& error) {
    return error.code == ErrorCode::session_expired || error.code == ErrorCode::session_not_found;
}

BootTime deadline_after(BootTime from, std::chrono::milliseconds remaining) {
    return remaining == no_expiry ? no_deadline : from + remaining;
}

void count_grant(Grant& grant, BootTime from) {
    // `remaining` is rounded down to whole milliseconds, so this time is not before the decision.
    const auto decided = grant.deadline - grant.remaining;
    if (grant.cap) grant.cap = from + (*grant.cap - decided);
    grant.deadline = deadline_after(from, grant.remaining);
    if (grant.own_session) {
        grant.own_session->deadline = grant.deadline;
        grant.own_session->remaining = grant.remaining;
    }
}

}  // namespace

void FramedService::count_from_here(Reply& reply, BootTime from) {
    if (auto* session = std::get_if<SessionInfo>(&reply)) {
        session->deadline = deadline_after(from, session->remaining);
    } else if (auto* grant = std::get_if<Grant>(&reply)) {
        count_grant(*grant, from);
    } else if (auto* detail = std::get_if<SessionDetail>(&reply)) {
        detail->session.deadline = deadline_after(from, detail->session.remaining);
        for (Grant& held : detail->grants) count_grant(held, from);
    }
}

// Shortens the remaining times of a reply from a machine with another clock.
void FramedService::shorten_times(Reply& reply) {
    const auto shorten = [](auto& value) {
        const auto shorter = without_drift(value.remaining);
        value.deadline -= value.remaining - shorter;
        value.remaining = shorter;
    };
    if (auto* session = std::get_if<SessionInfo>(&reply)) {
        shorten(*session);
    } else if (auto* grant = std::get_if<Grant>(&reply)) {
        shorten(*grant);
    } else if (auto* detail = std::get_if<SessionDetail>(&reply)) {
        shorten(detail->session);
        for (Grant& held : detail->grants) shorten(held);
    }
}

FramedService::Notifications FramedService::learn(std::uint64_t number, const PendingCall& pending,
                                                  Result<Reply>& reply) {
    Notifications notifications;
    const auto* proven = proven_session(pending.call.body);
    if (!reply) {
        const auto known =
            proven == nullptr ? known_sessions_.end() : known_sessions_.find(*proven);
        if (session_is_over(reply.error()) && known != known_sessions_.end()) {
            lose_all(
                *proven, known->second,
                reply.error().ended.value_or(Ending{Outcome::expired, {}, {}, clock_.now().wall}),
                notifications);
        } else if (reply.error().code == ErrorCode::steal_refused && proven != nullptr) {
            // The holder may answer the request later. Its answer arrives as a notice.
            await_notices(*proven);
        }
        return notifications;
    }
    if (auto* session = reply_in<SessionInfo>(reply))
        learn_session(pending, *session, notifications);
    if (const auto* grant = reply_in<Grant>(reply)) learn_grant(pending, *grant);
    if (auto* notices = reply_in<rocklock::Notices>(reply)) {
        if (const auto known = known_sessions_.find(*proven); known != known_sessions_.end()) {
            learn_notices(known->first, known->second, *notices, notifications);
            known->second.noticed = notices->after;
        }
    }
    if (const auto* detail = reply_in<SessionDetail>(reply)) {
        learn_detail(number, pending, *detail, notifications);
    }
    const bool closed = reply_in<ClosedSession>(reply) != nullptr;
    const auto* release = std::get_if<Release>(&pending.call.body);
    if (proven == nullptr || (!closed && release == nullptr)) return notifications;
    const auto known = known_sessions_.find(*proven);
    if (known == known_sessions_.end()) return notifications;
    if (closed) {
        end(known->second);
        known->second.grants.clear();
    }
    if (release != nullptr) {
        learn_release(known->second, release->grant, *reply_in<Released>(reply));
    }
    return notifications;
}

void FramedService::learn_release(KnownSession& known, GrantId grant, const Released& released) {
    const auto held = known.grants.find(grant);
    if (held == known.grants.end()) return;
    const bool lost = released.outcome == Outcome::expired || released.outcome == Outcome::stolen ||
                      released.outcome == Outcome::broken;
    // The next renewal reports how the grant was lost, and learn_session() removes it then.
    held->second.releasing = false;
    held->second.grant.count = released.count;
    if (released.outcome != Outcome::held && !lost) known.grants.erase(held);
}

void FramedService::learn_session(const PendingCall& pending, SessionInfo& session,
                                  Notifications& notifications) {
    if (const auto* proven = proven_session(pending.call.body)) session.id = *proven;
    if (known_counts_.over > max_over) {
        std::erase_if(known_sessions_, [](const auto& entry) { return entry.second.over; });
        known_counts_.over = 0;
    }
    KnownSession& known = known_sessions_[session.id];
    if (session.secret != Secret{}) known.secret = session.secret;
    if (opens_with_connection(pending.call.body)) known.of_connection = true;
    known.lease = session.lease;
    known.deadline = std::max(known.deadline, session.deadline);
    if (std::holds_alternative<RenewSession>(pending.call.body)) known.deadline = session.deadline;
    next_check_ = std::min(next_check_, known.deadline);
    learn_notices(session.id, known, session, notifications);
    if (!known.grants.empty()) await_notices(session.id, known);
}

// Returns whether a notice has not been reported. The replies to a renewal and to AwaitNotices can
// both contain it, in any order. Managers of earlier versions do not number notices.
bool FramedService::is_new(KnownSession& known, std::uint64_t number) {
    if (number == 0) return true;
    auto& reported = known.reported;
    if (std::find(reported.begin(), reported.end(), number) != reported.end()) return false;
    if (reported.size() == max_reported) reported.pop_front();
    reported.push_back(number);
    return true;
}

// `received` is the reply to a renewal or to AwaitNotices.
template <typename Received>
void FramedService::learn_notices(const SessionId& session, KnownSession& known, Received& received,
                                  Notifications& notifications) {
    for (Wanted& wanted : received.wanted) {
        if (!is_new(known, wanted.number)) continue;
        notifications.wanted.push_back({session, std::move(wanted)});
    }
    for (TakeOverAnswer& answer : received.answers) {
        if (!is_new(known, answer.number)) continue;
        notifications.answered.push_back({session, std::move(answer)});
    }
    for (LostGrant& lost : received.lost) {
        const auto grant = known.grants.find(lost.grant);
        if (grant == known.grants.end()) continue;
        notifications.lost.push_back(
            {session, std::move(grant->second.grant), std::move(lost.ending)});
        known.grants.erase(grant);
    }
}

// Sends an AwaitNotices call unless one is under way.
void FramedService::await_notices(const SessionId& session) {
    const auto known = known_sessions_.find(session);
    if (known != known_sessions_.end()) await_notices(session, known->second);
}

void FramedService::await_notices(const SessionId& session, KnownSession& known) {
    if (!connected_ || closed_ || known_counts_.awaiting == max_awaiting) return;
    if (known.awaiting || known.over || known.closing) return;
    known.awaiting = true;
    ++known_counts_.awaiting;
    Call call;
    call.body = AwaitNotices{session, known.noticed, no_limit};
    enter(
        std::move(call),
        [this, session](const Result<Reply>& reply) {
            MutexLock lock(mutex_);
            --known_counts_.awaiting;
            const auto ended = known_sessions_.find(session);
            if (ended == known_sessions_.end()) return;
            ended->second.awaiting = false;
            // After an error, the next renewal sends AwaitNotices again.
            if (!reply) return;
            await_notices(session);
            send_entered();
        },
        true);
}

void FramedService::learn_grant(const PendingCall& pending, const Grant& grant) {
    if (const auto* transfer = std::get_if<Transfer>(&pending.call.body)) {
        const auto giver = known_sessions_.find(transfer->session);
        if (giver != known_sessions_.end()) giver->second.grants.erase(transfer->grant);
    }
    if (grant.ended) return;
    if (grant.own_session) {
        KnownSession& own = known_sessions_[grant.session];
        own.secret = grant.own_session->secret;
        own.lease = grant.own_session->lease;
        own.of_connection = opens_with_connection(pending.call.body);
    }
    const auto known = known_sessions_.find(grant.session);
    if (known == known_sessions_.end()) return;
    KnownGrant& held = known->second.grants[grant.id];
    held.grant = grant;
    held.known_at = last_number_;
    held.releasing = false;
    await_notices(grant.session, known->second);
    // The daemon renews a session when it grants a lock.
    if (!grant.cap) known->second.deadline = std::max(known->second.deadline, grant.deadline);
    next_check_ = std::min(next_check_, known->second.deadline);
}

// Compares the known grants with the reply. A grant that was known when the request was made, and
// that is not in the reply, has ended.
void FramedService::learn_detail(std::uint64_t number, const PendingCall& pending,
                                 const SessionDetail& detail, Notifications& notifications) {
    const auto& session = std::get<ShowSession>(pending.call.body).session;
    KnownSession& known = known_sessions_[session];
    known.secret = pending.call.secret.value_or(known.secret);
    known.lease = detail.session.lease;
    known.deadline = std::max(known.deadline, detail.session.deadline + recheck_margin);
    next_check_ = std::min(next_check_, known.deadline);
    std::map<GrantId, const Grant*> live;
    for (const Grant& grant : detail.grants) live[grant.id] = &grant;
    std::erase_if(known.grants, [&](auto& entry) {
        const bool gone = entry.second.known_at < number && !live.contains(entry.first);
        if (gone && !entry.second.releasing && !known.closing) {
            // The grant was not ended by this client, and the reply that reported its end was lost.
            notifications.lost.push_back({session,
                                          std::move(entry.second.grant),
                                          {Outcome::expired,
                                           {},
                                           "the daemon no longer lists this grant",
                                           clock_.now().wall}});
        }
        return gone;
    });
    for (const auto& [id, grant] : live)
        known.grants.try_emplace(id, KnownGrant{*grant, number, false});
}

void FramedService::end(KnownSession& known) {
    if (!std::exchange(known.over, true)) ++known_counts_.over;
}

void FramedService::lose_all(const SessionId& session, KnownSession& known, const Ending& ending,
                             Notifications& notifications) {
    end(known);
    for (auto& [id, held] : std::exchange(known.grants, {})) {
        if (known.closing || held.releasing) continue;
        notifications.lost.push_back({session, std::move(held.grant), ending});
    }
}

void FramedService::notify(const Notifications& notifications) {
    for (const LostNotice& notice : notifications.lost) {
        if (callbacks_.lost) callbacks_.lost(notice);
    }
    for (const WantedNotice& notice : notifications.wanted) {
        if (callbacks_.wanted) callbacks_.wanted(notice);
    }
    for (const AnsweredNotice& notice : notifications.answered) {
        if (callbacks_.answered) callbacks_.answered(notice);
    }
}

void FramedService::on_lost(std::function<void(const LostNotice&)> notify) {
    callbacks_.lost = std::move(notify);
}

void FramedService::on_wanted(std::function<void(const WantedNotice&)> notify) {
    callbacks_.wanted = std::move(notify);
}

void FramedService::on_answered(std::function<void(const AnsweredNotice&)> notify) {
    callbacks_.answered = std::move(notify);
}

std::optional<BootTime> FramedService::tick() {
    if (fork_check_.in_child()) return std::nullopt;
    return check_sessions(true);
}

// Queries sessions that have grants and, according to the client's computation, an expired lease.
// The query does not renew them. Returns the time of the next check, or none if no check is needed.
// If `waits` is true, waits for the replies.
std::optional<BootTime> FramedService::check_sessions(bool waits) {
    std::vector<SessionId> due;
    std::optional<BootTime> next;
    {
        MutexLock lock(mutex_);
        const auto now = clock_.now().boot;
        if (!connected_) return std::nullopt;
        if (now < next_check_) {
            return next_check_ == BootTime::max() ? std::nullopt : std::optional(next_check_);
        }
        for (auto& [session, known] : known_sessions_) {
            if (known.over || known.closing || known.grants.empty() || known.checking) continue;
            if (known.deadline <= now && connected_) {
                known.checking = true;
                due.push_back(session);
            } else {
                next = std::min(next.value_or(BootTime::max()), known.deadline);
            }
        }
        next_check_ = next.value_or(BootTime::max());
    }
    for (const SessionId& session : due) {
        auto answered = [this, session](const Result<Reply>& reply) {
            MutexLock lock(mutex_);
            KnownSession& known = known_sessions_[session];
            known.checking = false;
            if (!reply) known.deadline = clock_.now().boot + next_try;
            next_check_ = std::min(next_check_, known.deadline);
        };
        if (waits) {
            answered(wait_for({ShowSession{session}, {}, {}}, {}));
        } else {
            send({ShowSession{session}, {}, {}}, std::move(answered), true);
        }
    }
    return next;
}

}  // namespace rocklock
