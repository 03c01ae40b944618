// Executes Steal, and the holder's answers to it.
//
// Every class of the grant's resources must allow the steal; the strictest one decides. Each class
// with `steal_by` must name the thief.
//
//     never    only an administrator may steal. Applies to every grant without expiry
//     idle     allowed if the holder's session has been inactive for `steal_after`
//     ask      the first Steal asks the holder, and is refused:
//
//                  asked ──answered yes──► may steal
//                    │ └───no answer for `steal_after`──► may steal
//                    └──answered no──► refused ──after `steal_after`──► may ask again
//
// A request to the holder is identified by the uid and the principal of the thief, regardless of
// the session. It belongs to the grant and ends with it. It is kept in memory only: after a
// restart, the thief has to ask again.
#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Ask;

namespace {

// The maximum number of principals that have asked for one grant.
constexpr std::size_t asks_limit = 100;

std::string ago(std::chrono::nanoseconds time) {
    return format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(time)) + " ago";
}

}  // namespace

// The requirements of the classes of a grant, and for each the resource with the strictest class.
struct LockTable::Core::StealTerms {
    const Hold* never = nullptr;
    const Hold* idle = nullptr;
    milliseconds idle_after{0};
    const Hold* ask = nullptr;
    milliseconds ask_after{0};
};

LockTable::Core::StealTerms LockTable::Core::steal_terms(const Grant& victim) const {
    StealTerms terms;
    for (const Hold& hold : victim.holds()) {
        const LockClass& lock_class = classes.of(hold.resource()->name());
        switch (lock_class.steal) {
            case StealPolicy::never:
                if (terms.never == nullptr) terms.never = &hold;
                break;
            case StealPolicy::anyone:
                break;
            case StealPolicy::idle:
                if (lock_class.steal_after > terms.idle_after) terms.idle = &hold;
                terms.idle_after = std::max(terms.idle_after, lock_class.steal_after);
                break;
            case StealPolicy::ask:
                if (lock_class.steal_after > terms.ask_after) terms.ask = &hold;
                terms.ask_after = std::max(terms.ask_after, lock_class.steal_after);
                break;
        }
    }
    return terms;
}

Error LockTable::Core::steal_refusal(const Hold& hold, StealPolicy policy, std::string why,
                                     std::optional<BootTime> until) const {
    Error error(ErrorCode::steal_refused,
                "resource \"" + std::string(hold.resource()->name()) + "\": " + std::move(why));
    error.policy = policy;
    if (until) {
        error.retry_after = std::chrono::ceil<milliseconds>(*until - now.boot);
        error.message += "; try again in " + format_duration(*error.retry_after);
    }
    error.blockers.push_back(show_holder(hold));
    return error;
}

std::optional<Error> LockTable::Core::check_right(
    const Grant& grant, const std::optional<std::vector<std::string>>& identities,
    std::string_view done) const {
    if (!identities) return std::nullopt;
    const bool steals = done == "stolen";
    for (const Hold& hold : grant.holds()) {
        const LockClass& lock_class = classes.of(hold.resource()->name());
        const auto& right = steals ? lock_class.steal_by : lock_class.break_by;
        if (steals && right.empty()) continue;
        if (names_any(right, *identities)) continue;
        std::string message = "resource \"" + std::string(hold.resource()->name()) + "\" can be " +
                              std::string(done) + " only by " + named_in(right);
        if (!lock_class.pattern.empty()) message += " (class \"" + lock_class.pattern + "\")";
        return Error(ErrorCode::access_denied, std::move(message));
    }
    return std::nullopt;
}

std::optional<Error> LockTable::Core::judge_steal(const Steal& request, const Session& thief,
                                                  Grant& victim) {
    if (request.force) return std::nullopt;
    if (std::min(victim.session->deadline, victim.cap()) == no_deadline && !request.administrator) {
        return steal_refusal(victim.holds().front(), StealPolicy::never,
                             "it is locked without expiry, and only its owner or an administrator "
                             "can end that: wait for the lock, or ask an administrator to break it",
                             {});
    }
    const StealTerms terms = steal_terms(victim);
    if (terms.never != nullptr && !request.administrator) {
        return steal_refusal(*terms.never, StealPolicy::never,
                             "its class does not allow steals: wait for the lock, or ask an "
                             "administrator to break it",
                             {});
    }
    const std::string& holder = victim.session->principal;
    const BootTime active = std::max(victim.session->active, victim.acquired());
    const BootTime idle_until = terms.idle != nullptr ? active + terms.idle_after : now.boot;
    if (terms.ask != nullptr) {
        const auto ask = ask_holder(thief, victim, terms, request.reason);
        if (!ask) return ask.error();
        const BootTime until = ask->since + terms.ask_after;
        if (ask->answer != Ask::Answer::allowed && until > now.boot) {
            const bool refused = ask->answer == Ask::Answer::refused;
            return steal_refusal(
                *terms.ask, StealPolicy::ask,
                holder + (refused ? " refused to release it " : " was asked to release it ") +
                    ago(now.boot - ask->since),
                std::max(until, idle_until));
        }
    }
    if (idle_until > now.boot) {
        return steal_refusal(
            *terms.idle, StealPolicy::idle,
            holder + " was active " + ago(now.boot - active) +
                ", and the lock can be stolen only from a holder that is inactive for " +
                format_duration(terms.idle_after),
            idle_until);
    }
    return std::nullopt;
}

// Removes refusals that are older than `steal_after`, so that those principals can ask again.
void LockTable::Core::forget_old_refusals(Grant& grant, milliseconds steal_after) const {
    std::erase_if(grant.extra()->asks, [&](const Ask& ask) {
        return ask.answer == Ask::Answer::refused && ask.since + steal_after <= now.boot;
    });
}

Result<Ask> LockTable::Core::ask_holder(const Session& thief, Grant& victim,
                                        const StealTerms& terms, const std::string& reason) {
    auto& asks = victim.with_extra().asks;
    forget_old_refusals(victim, terms.ask_after);
    const auto asked = std::find_if(asks.begin(), asks.end(), [&](const Ask& ask) {
        return ask.uid == thief.uid && ask.principal == thief.principal;
    });
    if (asked != asks.end()) {
        asked->session = thief.id;
        return *asked;
    }
    if (asks.size() >= asks_limit) {
        Error error(
            ErrorCode::limit_exceeded,
            "100 other requests to steal this grant are already open: wait for the lock instead");
        error.limit = asks_limit;
        return error;
    }
    asks.push_back({thief.uid, thief.principal, thief.id, Ask::Answer::none, now.boot});
    Wanted wanted{victim.id(), std::string(terms.ask->resource()->name()), thief.principal,
                  terms.ask->mode, now.wall};
    wanted.answer_by = wall_of(now.boot + terms.ask_after);
    wanted.reason = reason;
    if (options.events) note_wanted(*terms.ask, wanted);
    notify_wanted(*victim.session, std::move(wanted));
    return asks.back();
}

void LockTable::Core::handle(const Steal& request) {
    Session* thief = require_session(request.session);
    if (thief == nullptr) return;
    if (auto error = lock_model::check_reason(request.reason))
        return refuse(ticket, *std::move(error));
    if (request.force && !request.administrator) {
        return refuse(ticket, {ErrorCode::access_denied, "only administrators may use force"});
    }
    Grant* const found = grants.find(request.grant);
    if (found == nullptr) {
        decision->history.push_back(
            {ticket, thief->id, request.grant, HistoryLookup::Verb::force, 0});
        return;
    }
    Grant& victim = *found;
    if (!lock_model::live(victim, now.boot)) {
        return refuse(ticket, lock_model::ended_error(ending_of(victim)));
    }
    if (victim.session == thief) {
        Error error(ErrorCode::already_held, "the session already holds this grant");
        error.grant = victim.id();
        return refuse(ticket, std::move(error));
    }
    // The lease limits of the classes apply to every holder, however it got the lock.
    if (auto error = lease_too_long(victim, thief->lease)) return refuse(ticket, *std::move(error));
    std::vector<RequestedLock> stolen;
    for (const Hold& hold : victim.holds())
        stolen.push_back({.resource = hold.resource(), .mode = hold.mode, .subtree = hold.subtree});
    if (auto error = check_draining(stolen)) return refuse(ticket, *std::move(error));
    if (!request.administrator) {
        if (auto error = check_right(victim, request.identities, "stolen"))
            return refuse(ticket, *std::move(error));
    }
    if (auto error = judge_steal(request, *thief, victim)) {
        ++counts.steals_refused;
        return refuse(ticket, *std::move(error));
    }
    if (const auto& full = usage.growth_refused()) return refuse(ticket, *full);
    if (auto error = check_receiver(victim, *thief)) return refuse(ticket, *std::move(error));
    if (auto error = conflict_after_move(victim, *thief)) return refuse(ticket, *std::move(error));
    if (!thief->waits.empty()) {
        auto cycle = find_cycle(*thief, &victim);
        if (!cycle.empty()) return refuse(ticket, deadlock(std::move(cycle)));
    }
    const Ending ending{Outcome::stolen, thief->principal, request.reason, now.wall};
    answer_grant(ticket, take_over(victim, *thief, ending));
    if (mutated(Mutant::lazy_steal)) decision->durability = Durability::written;
}

// Returns whether the entry belongs to an alternative that its session holds itself. The request
// does not wait for other holders of it.
bool LockTable::Core::is_own_alternative(const WaitLock& lock) const {
    const Wait& wait = *lock.wait;
    const auto index = static_cast<std::size_t>(&lock - wait.locks.data());
    const auto found = std::find_if(
        wait.alternatives.begin(), wait.alternatives.end(),
        [&](const auto& one) { return index >= one.first && index < one.first + one.count; });
    return found != wait.alternatives.end() &&
           own_hold(*wait.session, *wait.requested_locks[found->first].resource) != nullptr;
}

// If the hold has permits, a waiter for permits counts only if too few are left for it; the holders
// of the missing permits may be others. A waiter for a set counts even if it also waits for other
// resources.
bool LockTable::Core::waited_for(const Hold& hold) const {
    const RequestedLock held{.resource = hold.resource(),
                             .permits = hold.permits(),
                             .mode = hold.mode,
                             .subtree = hold.subtree};
    bool found = false;
    for_each_meeting(held, [&](const Resource& at, bool only_subtree) {
        for (const WaitLock* lock = at.queue(); lock != nullptr && !found; lock = lock->next) {
            const Session& session = *lock->wait->session;
            if (&session == hold.grant()->session || !session.live(now.boot)) continue;
            if (only_subtree && !lock->requested->subtree) continue;
            if (!lock_model::in_conflict(*lock->requested, held)) continue;
            if (is_own_alternative(*lock)) continue;
            Conflicts counted;
            if (hold.permits() > 0 && lock->requested->permits > 0)
                add_permits(*lock->requested, counted);
            found = hold.permits() == 0 || lock->requested->permits == 0 || counted.blocked;
        }
    });
    return found;
}

bool LockTable::Core::waited_for(const Grant& grant) const {
    const auto holds = grant.holds();
    return std::any_of(holds.begin(), holds.end(),
                       [this](const Hold& hold) { return waited_for(hold); });
}

void LockTable::Core::handle(const AnswerWanted& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    Grant* grant = require_grant(request.session, request.grant, HistoryLookup::Verb::other);
    if (grant == nullptr) return;
    session->active = now.boot;
    bool asked = false;
    if (grant->extra()) {
        const StealTerms terms = steal_terms(*grant);
        forget_old_refusals(*grant, terms.ask_after);
        for (Ask& ask : grant->extra()->asks) {
            ask.answer = request.allow ? Ask::Answer::allowed : Ask::Answer::refused;
            ask.since = now.boot;
            asked = true;
            TakeOverAnswer given{grant->id(), {}, session->principal, request.allow};
            if (terms.ask != nullptr) given.resource = terms.ask->resource()->name();
            if (!request.allow) given.ask_again = wall_of(now.boot + terms.ask_after);
            notify_answer(ask.session, std::move(given));
        }
    }
    if (!request.allow || asked || !waited_for(*grant)) {
        return answer(ticket, Released{Outcome::held, grant->count()});
    }
    answer(ticket, Released{});
    end_grant(*grant, {Outcome::released, {}, {}, now.wall});
}

}  // namespace rocklock
