#include "support/model_mirror.hpp"

#include <algorithm>
#include <set>

#include "support/event_text.hpp"

namespace rocklock::proof {
namespace {

using Complaint = ModelMirror::Complaint;

using LockKey = std::tuple<std::string, Mode, bool, std::uint32_t, std::string>;
std::multiset<LockKey> keys(const std::vector<GrantedLock>& locks) {
    std::multiset<LockKey> found;
    for (const auto& lock : locks) {
        // A permit has no mode.
        found.emplace(lock.resource, lock.permits > 0 ? Mode::write : lock.mode, lock.subtree,
                      lock.permits, lock.cause);
    }
    return found;
}

}  // namespace

// ---- Numbers ----

GrantId ModelMirror::to_model(GrantId real) const {
    const auto found = model_of_.find(number(real));
    return found == model_of_.end() ? GrantId{~std::uint64_t{0} - number(real)}
                                    : GrantId{found->second};
}

std::optional<GrantId> ModelMirror::to_real(GrantId model) const {
    const auto found = real_of_.find(number(model));
    return found == real_of_.end() ? std::nullopt : std::optional(GrantId{found->second});
}

// Tokens rise from decision to decision, and each is given once.
Complaint ModelMirror::cannot_be(std::uint64_t model, std::uint64_t real) const {
    const auto known = real_of_.find(model);
    if (known != real_of_.end()) {
        if (known->second == real) return std::nullopt;
        return "the number is " + std::to_string(real) + ", and was " +
               std::to_string(known->second);
    }
    if (model_of_.contains(real)) return "the number " + std::to_string(real) + " was given twice";
    if (real == 0 || real >= (std::uint64_t{1} << 53))
        return "the number " + std::to_string(real) + " is out of range";
    const auto decision = decision_of_.at(model);
    const auto later = range_of_.upper_bound(decision);
    const auto same = range_of_.lower_bound(decision);
    if (later != range_of_.end() && later->second.first <= real) {
        return "the number " + std::to_string(real) + " came too early";
    }
    if (same != range_of_.begin() && std::prev(same)->second.second >= real) {
        return "the number " + std::to_string(real) + " does not rise";
    }
    return std::nullopt;
}

Complaint ModelMirror::bind(std::uint64_t model, std::uint64_t real) {
    if (auto complaint = cannot_be(model, real)) return complaint;
    if (real_of_.contains(model)) return std::nullopt;
    const auto decision = decision_of_.at(model);
    auto& range = range_of_.try_emplace(decision, real, real).first->second;
    range = {std::min(range.first, real), std::max(range.second, real)};
    real_of_[model] = real;
    model_of_[real] = model;
    highest_ = std::max(highest_, real);
    return std::nullopt;
}

Event ModelMirror::translated(Event event) const {
    if (auto* request = std::get_if<Request>(&event)) {
        std::visit(
            [&](auto& verb) {
                if constexpr (requires { verb.grant = GrantId{}; })
                    verb.grant = to_model(verb.grant);
            },
            *request);
    }
    return event;
}

// ---- Expecting ----

void ModelMirror::expect(const Event& event, Ticket ticket, const SessionId& fresh, Instant now) {
    const auto before = model_.last_token();
    auto expected = model_.apply(translated(event), ticket, fresh, now);
    ++decisions_;
    for (auto token = before + 1; token <= model_.last_token(); ++token)
        decision_of_[token] = decisions_;
    for (auto& reply : expected.replies)
        owed_.insert_or_assign(reply.ticket, std::move(reply.answer));
    for (auto& notice : expected.lost) lost_owed_.emplace(notice.grant.id, std::move(notice));
    for (auto& notice : expected.wanted) {
        const std::pair whose{notice.session, notice.wanted.grant};
        if (notice.wanted.answer_by) {
            asked_owed_[whose].push_back(*notice.wanted.answer_by);
        } else {
            ++wanted_owed_[whose];
        }
    }
}

const Result<Answer>* ModelMirror::owed(Ticket ticket) const {
    const auto found = owed_.find(ticket);
    return found == owed_.end() ? nullptr : &found->second;
}

void ModelMirror::forget_owed() {
    owed_.clear();
    lost_owed_.clear();
    wanted_owed_.clear();
    asked_owed_.clear();
}

// ---- Comparing ----

Complaint ModelMirror::got(Ticket ticket, const Result<Answer>& answer) {
    const auto found = owed_.find(ticket);
    const auto where = "request " + std::to_string(static_cast<std::uint64_t>(ticket)) + ": ";
    if (found == owed_.end()) return where + "got " + describe(answer) + ", expected no answer yet";
    auto complaint = compare(found->second, answer);
    if (complaint) {
        return where + "got " + describe(answer) + ", expected " + describe(found->second) + ": " +
               *complaint;
    }
    owed_.erase(found);
    return std::nullopt;
}

Complaint ModelMirror::learn(const ModelMirror& other, const Grant& grant) {
    const GrantId token{number(grant.token)};
    if (auto complaint = bind(number(other.to_model(grant.id)), number(grant.id))) return complaint;
    return bind(number(other.to_model(token)), number(token));
}

Complaint ModelMirror::compare(const Result<Answer>& expected, const Result<Answer>& real) {
    if (expected.has_value() != real.has_value()) return "refused against granted";
    if (!expected) return compare(expected.error(), real.error());
    if (expected->index() != real->index()) return "another kind of answer";
    if (const auto* grant = std::get_if<Grant>(&*expected))
        return compare(*grant, std::get<Grant>(*real));
    if (const auto* session = std::get_if<SessionInfo>(&*expected)) {
        const auto& actual = std::get<SessionInfo>(*real);
        if (session->id != actual.id) return "another session";
        if (session->lease != actual.lease) return "another lease";
        if (session->deadline != actual.deadline) return "another deadline";
    }
    if (const auto* released = std::get_if<Released>(&*expected)) {
        const auto& actual = std::get<Released>(*real);
        if (released->outcome != actual.outcome) return "another outcome";
        if (released->count != actual.count) return "another count";
    }
    if (const auto* closed = std::get_if<ClosedSession>(&*expected)) {
        const auto& actual = std::get<ClosedSession>(*real).released;
        if (actual.size() != closed->released.size()) return "other grants";
        // Compares the grants with known ids. The answers for the others have not been delivered
        // yet.
        for (const auto id : actual) {
            const auto known = to_model(id);
            if (!model_of_.contains(number(id))) continue;
            if (std::find(closed->released.begin(), closed->released.end(), known) ==
                closed->released.end()) {
                return "other grants";
            }
        }
    }
    if (const auto* policy = std::get_if<LockClass>(&*expected)) {
        if (*policy != std::get<LockClass>(*real)) return "another class";
    }
    return std::nullopt;
}

Complaint ModelMirror::compare(const Grant& expected, const Grant& real) {
    if (auto complaint = bind(number(expected.id), number(real.id))) return complaint;
    if (auto complaint = bind(number(expected.token), number(real.token))) return complaint;
    if (expected.session != real.session) return "another session";
    if (keys(expected.locks) != keys(real.locks)) return "other locks";
    if (expected.ended.has_value() != real.ended.has_value()) return "ended against held";
    if (expected.ended) {
        return expected.ended->outcome != real.ended->outcome ? Complaint("another outcome")
                                                              : std::nullopt;
    }
    if (expected.count != real.count) return "another count";
    if (expected.waited != real.waited) return "waited or not";
    if (expected.deadline != real.deadline) return "another deadline";
    if (expected.own_session.has_value() != real.own_session.has_value())
        return "own session or not";
    return std::nullopt;
}

Complaint ModelMirror::compare(const Error& expected, const Error& real) {
    if (expected.code != real.code) return "another error";
    if (expected.code == ErrorCode::steal_refused) {
        if (expected.policy != real.policy) return "another policy";
        if (expected.retry_after != real.retry_after) return "another time to try again";
        const bool named = real.blockers.size() == 1 &&
                           to_model(real.blockers.front().grant) == expected.blockers.front().grant;
        return named ? std::nullopt : Complaint("another holder is named");
    }
    if (expected.code != ErrorCode::conflict) return std::nullopt;
    // P4: the refusal names all blockers at the time of the decision, and no others.
    std::set<GrantId> theirs;
    auto blockers = real.blockers;
    std::sort(blockers.begin(), blockers.end(),
              [](const auto& a, const auto& b) { return a.grant < b.grant; });
    for (const auto& holder : blockers) {
        // The blocker may be a new grant, and the answer with its id not delivered yet. It is
        // recognized by its session and locks.
        for (const auto& blocker : expected.blockers) {
            if (to_real(blocker.grant) || model_of_.contains(number(holder.grant))) continue;
            if (!cannot_be(number(blocker.grant), number(holder.grant)) &&
                matches(blocker.grant, holder.session, holder.resource, &holder)) {
                if (auto complaint = bind(number(blocker.grant), number(holder.grant)))
                    return complaint;
            }
        }
        theirs.insert(to_model(holder.grant));
    }
    std::set<GrantId> ours;
    for (const auto& holder : expected.blockers) ours.insert(holder.grant);
    if (theirs != ours) return "other blockers";
    std::set<SessionId> before;
    for (const auto& waiter : real.waiters) before.insert(waiter.session);
    std::set<SessionId> expected_before;
    for (const auto& waiter : expected.waiters) expected_before.insert(waiter.session);
    if (before != expected_before) return "other waiters before it";
    if (expected.retry_after && expected.blockers.empty() && expected.waiters.empty() &&
        expected.retry_after != real.retry_after) {
        return "another retry_after";
    }
    return std::nullopt;
}

Complaint ModelMirror::got(const HistoryLookup& question) {
    const auto found = owed_.find(question.ticket);
    if (found == owed_.end()) return "the table asks the history for an unknown request";
    const auto* grant = model_.grant(to_model(question.grant));
    const auto* owner = model_.session(question.session);
    const bool session_lives = owner != nullptr && !owner->ended;
    if (grant != nullptr && grant->outcome == Outcome::held && session_lives) {
        return "the table forgot a grant that is held";
    }
    owed_.erase(found);
    return std::nullopt;
}

bool ModelMirror::matches(GrantId model, const SessionId& session, std::string_view resource,
                          const Holder* holder) const {
    const auto* grant = model_.grant(model);
    return grant != nullptr && grant->session == session &&
           std::any_of(grant->locks.begin(), grant->locks.end(), [&](const auto& lock) {
               return lock.resource == resource &&
                      (holder == nullptr ||
                       (lock.permits == holder->permits && lock.subtree == holder->subtree &&
                        lock.cause == holder->cause &&
                        (lock.permits > 0 || lock.mode == holder->mode)));
           });
}

Complaint ModelMirror::got(const LostNotice& notice) {
    // The answer with the id of the grant may never have been delivered.
    for (const auto& [model, owed] : lost_owed_) {
        if (to_real(model) || model_of_.contains(number(notice.grant.id)) ||
            notice.grant.locks.empty())
            continue;
        if (!matches(model, notice.session, notice.grant.locks.front().resource, nullptr)) continue;
        if (keys(owed.grant.locks) != keys(notice.grant.locks)) continue;
        // Several grants of a session can have the same locks.
        if (owed.grant.deadline != notice.grant.deadline) continue;
        if (cannot_be(number(model), number(notice.grant.id))) continue;
        if (auto complaint = bind(number(model), number(notice.grant.id))) return complaint;
    }
    const auto found = lost_owed_.find(to_model(notice.grant.id));
    if (found == lost_owed_.end()) {
        return "a notice that grant " + std::to_string(number(notice.grant.id)) + " was " +
               std::string(to_string(notice.ending.outcome)) +
               ", which is wrong or was reported before";
    }
    if (found->second.ending.outcome != notice.ending.outcome ||
        found->second.session != notice.session) {
        return "a notice that tells of another ending: " +
               std::string(to_string(notice.ending.outcome));
    }
    lost_owed_.erase(found);
    return std::nullopt;
}

// Each question to a holder is delivered once, and only if a steal asked for it.
Complaint ModelMirror::got_ask(const WantedNotice& notice) {
    const auto found = asked_owed_.find({notice.session, to_model(notice.wanted.grant)});
    if (found == asked_owed_.end()) return "a holder is asked although no session wants to steal";
    const auto until =
        std::find(found->second.begin(), found->second.end(), *notice.wanted.answer_by);
    if (until == found->second.end()) return "a holder is asked to answer by another time";
    found->second.erase(until);
    if (found->second.empty()) asked_owed_.erase(found);
    return std::nullopt;
}

Complaint ModelMirror::got(const WantedNotice& notice) {
    if (notice.wanted.answer_by) return got_ask(notice);
    const auto found = wanted_owed_.find({notice.session, to_model(notice.wanted.grant)});
    // The notice may be repeated for each resource, and again if a new holder blocks the waiter.
    if (found != wanted_owed_.end()) wanted_owed_.erase(found);
    if (!model_of_.contains(number(notice.wanted.grant))) {
        // The answer with the id of the grant has not been delivered yet.
        for (auto owed = wanted_owed_.begin(); owed != wanted_owed_.end(); ++owed) {
            if (owed->first.first != notice.session || to_real(owed->first.second)) continue;
            if (!matches(owed->first.second, notice.session, notice.wanted.resource, nullptr))
                continue;
            wanted_owed_.erase(owed);
            return std::nullopt;
        }
        // The id is not known yet, and several grants match.
        for (auto owed = wanted_owed_.begin(); owed != wanted_owed_.end(); ++owed) {
            if (owed->first.first != notice.session || to_real(owed->first.second)) continue;
            wanted_owed_.erase(owed);
            break;
        }
        return std::nullopt;
    }
    const auto* grant = model_.grant(to_model(notice.wanted.grant));
    if (grant == nullptr || grant->session != notice.session)
        return "a session is notified of a wait for the grant of another session";
    return std::nullopt;
}

Complaint ModelMirror::got(const Decision& decision, bool time_is_up) {
    for (const auto& reply : decision.replies) {
        if (auto complaint = got(reply.ticket, reply.answer)) return complaint;
    }
    for (const auto& question : decision.history) {
        if (auto complaint = got(question)) return complaint;
    }
    for (const auto& notice : decision.lost) {
        if (auto complaint = got(notice)) return complaint;
    }
    for (const auto& notice : decision.wanted) {
        if (auto complaint = got(notice)) return complaint;
    }
    return check_served(time_is_up);
}

Complaint ModelMirror::check_served(bool time_is_up) const {
    if (!owed_.empty()) {
        return "request " + std::to_string(static_cast<std::uint64_t>(owed_.begin()->first)) +
               ": got no answer, expected " + describe(owed_.begin()->second);
    }
    for (const auto& [grant, notice] : lost_owed_) {
        if (!time_is_up && notice.ending.outcome == Outcome::expired) continue;
        return "there was no notice that the grant of " + brief(notice.session) + " was " +
               std::string(to_string(notice.ending.outcome));
    }
    if (!asked_owed_.empty()) {
        return "the holder " + brief(asked_owed_.begin()->first.first) +
               " was not asked to release it";
    }
    if (!wanted_owed_.empty()) {
        return "the holder " + brief(wanted_owed_.begin()->first.first) +
               " was not notified that a session waits";
    }
    return std::nullopt;
}

std::string ModelMirror::print(Instant now) const {
    std::string text;
    const auto lock_text = [](const std::vector<ModelLock>& locks) {
        std::string all;
        for (const auto& lock : locks) all += describe_lock(lock) + "; ";
        return all;
    };
    for (const auto& grant : model_.grants()) {
        if (!model_.lives(grant, now.boot)) continue;
        const auto real = to_real(grant.id);
        text += "    " + brief(grant.session) + " holds " + lock_text(grant.locks) + "grant " +
                (real ? std::to_string(number(*real)) : "not reported") + " until " +
                milliseconds_of(model_.deadline(grant)) + "\n";
    }
    for (const auto& waiter : model_.waiters()) {
        text += "    " + brief(waiter.session) +
                (waiter.converting ? " converts " : " waits for ") + lock_text(waiter.wanted) +
                "#" + std::to_string(static_cast<std::uint64_t>(waiter.ticket)) +
                (waiter.until ? " until " + milliseconds_of(*waiter.until) : "") + "\n";
    }
    for (const auto& [name, until] : model_.closed()) {
        text += "    " + name + " is closed until " + milliseconds_of(until) + "\n";
    }
    return text;
}

Complaint ModelMirror::same_holders(const LockPage& page, Instant now) const {
    using Row =
        std::tuple<std::string, std::uint64_t, Mode, bool, std::uint32_t, std::string, SessionId>;
    std::multiset<Row> ours;
    for (const auto& grant : model_.grants()) {
        if (!model_.lives(grant, now.boot)) continue;
        for (const auto& lock : grant.locks) {
            const auto real = to_real(grant.id);
            ours.emplace(lock.resource, real ? number(*real) : 0,
                         lock.permits > 0 ? Mode::write : lock.mode, lock.subtree, lock.permits,
                         lock.cause, grant.session);
        }
    }
    std::multiset<Row> theirs;
    for (const auto& holder : page.locks) {
        const bool known = model_of_.contains(number(holder.grant));
        theirs.emplace(holder.resource, known ? number(holder.grant) : 0,
                       holder.permits > 0 ? Mode::write : holder.mode, holder.subtree,
                       holder.permits, holder.cause, holder.session);
    }
    if (ours == theirs) return std::nullopt;
    const auto print = [](const std::multiset<Row>& rows) {
        std::string text;
        for (const auto& row : rows) {
            text += "\n    " + std::get<0>(row) + " grant " + std::to_string(std::get<1>(row)) +
                    " " + std::string(to_string(std::get<2>(row))) +
                    (std::get<3>(row) ? " subtree" : "") + " " + std::to_string(std::get<4>(row)) +
                    " " + std::get<5>(row) + " " + brief(std::get<6>(row));
        }
        return text;
    };
    return "the holders differ; listed:" + print(theirs) + "\n  the model has:" + print(ours);
}

Complaint ModelMirror::same_sessions(const std::vector<SessionView>& sessions, Instant now) const {
    std::set<std::tuple<SessionId, std::chrono::milliseconds, std::chrono::milliseconds>> ours;
    for (const auto& session : model_.sessions()) {
        if (session.ended || !session.deadline || *session.deadline <= now.boot) continue;
        ours.emplace(session.id, session.lease,
                     *session.deadline == no_deadline
                         ? no_expiry
                         : std::chrono::duration_cast<std::chrono::milliseconds>(*session.deadline -
                                                                                 now.boot));
    }
    decltype(ours) theirs;
    for (const auto& view : sessions) {
        const auto* known = model_.session(view.id);
        if (known != nullptr && known->own && !known->deadline)
            continue;  // Still waits for its grant.
        theirs.emplace(view.id, view.lease, view.remaining);
    }
    if (ours == theirs) return std::nullopt;
    std::string text = "the sessions differ; listed:";
    for (const auto& row : theirs)
        text +=
            " " + brief(std::get<0>(row)) + "(" + std::to_string(std::get<2>(row).count()) + ")";
    text += "; the model has:";
    for (const auto& row : ours)
        text +=
            " " + brief(std::get<0>(row)) + "(" + std::to_string(std::get<2>(row).count()) + ")";
    return text;
}

// Ids of grants rise with the decisions, so both sides have the same order.
Complaint ModelMirror::same_grants(const SessionId& session, const std::vector<Grant>& grants,
                                   Instant now) {
    auto next = grants.begin();
    const auto whose = "the grants of " + brief(session) + ": ";
    for (const auto& known : model_.grants()) {
        if (known.session != session || !model_.lives(known, now.boot)) continue;
        Grant expected;
        expected.id = known.id;
        expected.token = known.token;
        expected.session = session;
        for (const auto& lock : known.locks) {
            expected.locks.push_back(
                {lock.resource, lock.mode, lock.subtree, lock.permits, lock.cause});
        }
        expected.count = known.count;
        expected.deadline = model_.deadline(known);
        if (next == grants.end()) return whose + "missing is " + describe_grant(expected);
        // Whether the grant had to wait is not compared.
        expected.waited = next->waited;
        if (auto complaint = compare(expected, *next)) {
            return whose + describe_grant(*next) + ", expected " + describe_grant(expected) + ": " +
                   *complaint;
        }
        ++next;
    }
    if (next != grants.end()) return whose + "no request was granted " + describe_grant(*next);
    return std::nullopt;
}

}  // namespace rocklock::proof
