// Notices to the owners of sessions: lost grants, sessions that want a grant, and answers to
// requests to take a grant over.
//
// A notice is kept until a renewal of the session has returned it, or AwaitNotices has confirmed it
// with a greater `after`. It is answered to the AwaitNotices requests of the session together with
// the commit of the event, so it never reports a change that a crash can undo.
#include <algorithm>
#include <utility>

#include "lock/table/core.hpp"

namespace rocklock {
namespace {

// The maximum number of notices of each kind that a session keeps.
constexpr std::size_t max_kept = 100;
// The maximum number of AwaitNotices requests of a session.
constexpr std::size_t max_waiting = 4;

template <typename Notice>
void keep(std::vector<Notice>& kept, Notice notice) {
    if (kept.size() == max_kept) kept.erase(kept.begin());
    kept.push_back(std::move(notice));
}

template <typename Notice>
void forget_through(std::uint64_t number, std::vector<Notice>& kept) {
    std::erase_if(kept, [number](const Notice& notice) { return notice.number <= number; });
}

}  // namespace

void LockTable::Core::handle(const AwaitNotices& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    if (NoticeWaits::count(*session) == max_waiting) {
        Error error(ErrorCode::limit_exceeded,
                    "4 requests already wait for notices to this session: cancel one of them");
        error.limit = max_waiting;
        return refuse(ticket, std::move(error));
    }
    Notices& kept = NoticeWaits::notices_of(*session).kept;
    forget_through(request.after, kept.wanted);
    forget_through(request.after, kept.lost);
    forget_through(request.after, kept.answers);
    kept.after = std::max(kept.after, request.after);
    if (!kept.empty() || request.patience.count() <= 0) return answer(ticket, kept);
    notice_waits.add(*session, ticket, request.after,
                     lock_model::patience_end(now.boot, request.patience));
}

// Returns and forgets the notices of the session, for a renewal.
Notices LockTable::Core::take_notices(Session& session) {
    if (session.notices == nullptr) return {};
    Notices& kept = session.notices->kept;
    return std::exchange(kept, Notices{{}, {}, {}, kept.after});
}

void LockTable::Core::notify_wanted(Session& holder, Wanted wanted) {
    wanted.number = numbers.take_version();
    decision->wanted.push_back({holder.id, wanted});
    Notices& kept = NoticeWaits::notices_of(holder).kept;
    kept.after = wanted.number;
    keep(kept.wanted, std::move(wanted));
    answer_notice_waits(holder);
}

void LockTable::Core::notify_lost(const Grant& grant, const Ending& ending) {
    if (!options.reports_losses || options.reports_losses(grant.session->id)) {
        decision->lost.push_back({grant.session->id, view(grant), ending});
        decision->lost.back().grant.ended = ending;
    }
    // If the session has ended, the next call of its owner reports that.
    Session& session = *grant.session;
    if (session.ended) return;
    Notices& kept = NoticeWaits::notices_of(session).kept;
    kept.after = numbers.take_version();
    keep(kept.lost, {grant.id(), ending, kept.after});
    answer_notice_waits(session);
}

void LockTable::Core::notify_answer(const SessionId& asker, TakeOverAnswer given) {
    Session* session = sessions.find(asker);
    if (session == nullptr || !session->live(now.boot)) return;
    given.number = numbers.take_version();
    decision->answered.push_back({asker, given});
    Notices& kept = NoticeWaits::notices_of(*session).kept;
    kept.after = given.number;
    keep(kept.answers, std::move(given));
    answer_notice_waits(*session);
}

void LockTable::Core::answer_notice_waits(Session& session) {
    for (const Ticket waiting : notice_waits.take(session)) answer(waiting, session.notices->kept);
}

void LockTable::Core::end_notice_waits(Session& session) {
    ROCKLOCK_ASSERT(session.ended);
    for (const Ticket waiting : notice_waits.take(session)) {
        refuse(waiting, session_error(*session.ended));
    }
}

void LockTable::Core::time_out_notice_waits() {
    while (const auto overdue = notice_waits.take_overdue(now.boot)) {
        answer(overdue->ticket, Notices{{}, {}, {}, overdue->after});
    }
}

}  // namespace rocklock
