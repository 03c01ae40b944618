#include "crash/judge.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "support/event_text.hpp"

namespace rocklock::crash {
namespace {

Ticket ticket_of(std::size_t step) { return Ticket{step + 1}; }

// Returns the decided steps in the order of their decisions.
std::vector<std::size_t> in_order(const Life& life) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < life.steps.size(); ++i) {
        if (life.steps[i].decided > 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&life](std::size_t a, std::size_t b) {
        return life.steps[a].decided < life.steps[b].decided;
    });
    return order;
}

// Returns whether the decision of the step must survive. An error needs only the decisions before
// it, and a deferred response makes no promise.
bool must_survive(const Step& step) {
    return step.answer && *step.answer && !is_deferred(step.operation.verb);
}

// Finds the decision that created the state which a response shows.
class Shown {
public:
    void record(const proof::ReferenceModel& model, std::uint64_t decision) {
        decision_ = decision;
        if (model.last_token() > last_token_) tokens_[model.last_token()] = decision;
        last_token_ = model.last_token();
        for (const proof::ModelSession& session : model.sessions()) {
            auto& moved = deadlines_[session.id];
            if (moved.first != session.deadline) moved = {session.deadline, decision};
        }
    }

    // A response that repeats an existing grant, as for a join or a transfer to the same session,
    // depends only on the decision that created the grant. A release in between may be lost.
    std::uint64_t rests_on(const Result<Answer>& owed) const {
        const auto* grant = owed ? std::get_if<Grant>(&*owed) : nullptr;
        if (grant == nullptr) return decision_;
        const auto given = tokens_.lower_bound(number(grant->token));
        const auto moved = deadlines_.find(grant->session);
        return std::max(given == tokens_.end() ? 0 : given->second,
                        moved == deadlines_.end() ? 0 : moved->second.second);
    }

private:
    std::uint64_t decision_ = 0;
    std::uint64_t last_token_ = 0;
    // The last token of a decision, and the decision.
    std::map<std::uint64_t, std::uint64_t> tokens_;
    std::map<SessionId, std::pair<std::optional<BootTime>, std::uint64_t>> deadlines_;
};

std::vector<std::uint64_t> numbers_of(const Result<Answer>& answer) {
    std::vector<std::uint64_t> numbers;
    if (!answer) {
        for (const Holder& holder : answer.error().blockers) {
            numbers.push_back(number(holder.grant));
            numbers.push_back(number(holder.token));
        }
    } else if (const auto* grant = std::get_if<Grant>(&*answer)) {
        numbers = {number(grant->id), number(grant->token)};
    }
    return numbers;
}

}  // namespace

// ---- Reading the store ----

Found inspect(const std::string& directory, const std::string& boot_id, bool close) {
    Found found;
    found.now = system_clock().now();
    testing::SimulatedClock clock;
    clock.reboot(boot_id, found.now.boot);
    clock.set_wall(found.now.wall);
    auto storage = open_rocksdb_storage(directory, clock);
    if (!storage) {
        found.wrong = "the store does not open: " + storage.error().message;
        return found;
    }
    LockManagerOptions options;
    options.background = false;
    auto opened = LockManager::open(**storage, clock, std::move(options));
    if (!opened) {
        found.wrong = "the manager does not open: " + opened.error().message;
        return found;
    }
    LockManager& manager = **opened;
    found.wrong = manager.audit_invariants();
    if (found.wrong) return found;
    ListLocks everything;
    everything.limit = 10'000;
    found.holders = manager.list(everything).value();
    found.sessions = manager.sessions("").value();
    for (const SessionView& session : found.sessions) {
        found.grants[session.id] = manager.grants(session.id).value();
    }
    found.classes = manager.classes();
    if (close) {
        if (auto closed = manager.close(); !closed) found.wrong = closed.error().message;
        if (auto closed = (*storage)->close(); !closed) found.wrong = closed.error().message;
    }
    return found;
}

// ---- Judging ----

// The errors that were found while comparing the responses, and the decisions that the responses
// depend on.
struct Outside::Replies {
    Complaint wrong;
    // The last decision that must survive because a response depends on it.
    std::uint64_t promised = 0;
    std::uint64_t answered = 0;
};

// Returns the model after the first `decisions` decisions. Compares its responses with those of the
// worker.
proof::ModelMirror Outside::replay(const Life& life, std::uint64_t decisions,
                                   Replies& replies) const {
    proof::ModelMirror mirror = mirror_;
    std::vector<std::size_t> open;
    Shown shown;
    shown.record(mirror.model(), 0);
    for (const std::size_t i : in_order(life)) {
        const Step& step = life.steps[i];
        if (step.decided > decisions) break;
        mirror.expect(Event(step.operation.request), ticket_of(i), step.operation.fresh, step.at);
        shown.record(mirror.model(), step.decided);
        if (step.answer) open.push_back(i);
        // Compares the response of this step, and those of the waiters that it unblocked.
        std::erase_if(open, [&](std::size_t waiting) {
            if (replies.wrong || mirror.owed(ticket_of(waiting)) == nullptr) return false;
            const Step& answered = life.steps[waiting];
            const std::uint64_t rests_on = shown.rests_on(*mirror.owed(ticket_of(waiting)));
            replies.wrong = mirror.got(ticket_of(waiting), *answered.answer);
            ++replies.answered;
            if (must_survive(answered)) replies.promised = std::max(replies.promised, rests_on);
            return true;
        });
        if (replies.wrong) {
            replies.wrong = "decision " + std::to_string(step.decided) + ", " +
                            proof::describe(Event(step.operation.request)) + ": " + *replies.wrong;
            return mirror;
        }
    }
    if (!open.empty() && decisions == life.decisions) {
        replies.wrong = "answered though nothing was decided: " +
                        proof::describe(Event(life.steps[open.front()].operation.request));
    }
    return mirror;
}

proof::ModelMirror Outside::played(const Life& life) const {
    Replies ignored;
    return replay(life, life.decisions, ignored);
}

Complaint Outside::compare(proof::ModelMirror& mirror, const Found& found) {
    if (auto wrong = mirror.same_sessions(found.sessions, found.now)) return wrong;
    for (const SessionView& session : found.sessions) {
        const auto grants = found.grants.find(session.id);
        if (grants == found.grants.end()) return "a session without a list of its grants";
        if (auto wrong = mirror.same_grants(session.id, grants->second, found.now)) return wrong;
    }
    if (auto wrong = mirror.same_holders(found.holders, found.now)) return wrong;
    std::vector<LockClass> classes = mirror.model().classes();
    std::vector<LockClass> listed = found.classes;
    const auto by_pattern = [](const LockClass& a, const LockClass& b) {
        return a.pattern < b.pattern;
    };
    std::sort(classes.begin(), classes.end(), by_pattern);
    std::sort(listed.begin(), listed.end(), by_pattern);
    if (classes != listed) return "the classes differ";
    return std::nullopt;
}

// Checks that each new number is greater than all numbers seen before. Tokens rise over the whole
// life of the store (invariant S4), and none is given twice (invariant S5).
Complaint Outside::judge_numbers(const Life& life) const {
    for (const Step& step : life.steps) {
        if (!step.answer) continue;
        for (const std::uint64_t given : numbers_of(*step.answer)) {
            if (given > highest_ || numbers_.contains(given)) continue;
            return "the number " + std::to_string(given) + " is new and not above " +
                   std::to_string(highest_);
        }
    }
    return std::nullopt;
}

void Outside::remember_numbers(const Life& life, const Found& found) {
    for (const Step& step : life.steps) {
        if (!step.answer) continue;
        for (const std::uint64_t given : numbers_of(*step.answer)) numbers_.insert(given);
    }
    for (const auto& [session, grants] : found.grants) {
        for (const Grant& grant : grants) {
            numbers_.insert({number(grant.id), number(grant.token)});
        }
    }
    if (!numbers_.empty()) highest_ = *numbers_.rbegin();
}

Verdict Outside::judge(const Life& life, const Found& found) {
    Verdict verdict;
    verdict.decided = life.decisions;
    verdict.wrong = found.wrong;
    if (!verdict.wrong) verdict.wrong = judge_numbers(life);
    if (verdict.wrong) return verdict;
    Replies replies;
    std::ignore = replay(life, life.decisions, replies);
    verdict.wrong = replies.wrong;
    verdict.answered = replies.answered;
    if (verdict.wrong) return verdict;

    // If the written decisions are known, exactly those have survived. A promised decision after
    // them can only be one without an effect, so the state after it is the same.
    const std::uint64_t least = std::max(replies.promised, life.written.value_or(0));
    const std::uint64_t most = life.written ? least : life.decisions;
    Complaint last;
    for (std::uint64_t survived = most + 1; survived-- > least;) {
        Replies ignored;
        proof::ModelMirror mirror = replay(life, survived, ignored);
        mirror.forget_owed();
        mirror.model().restart(found.now, found.exact);
        const Complaint wrong = compare(mirror, found);
        if (!wrong) {
            verdict.survived = survived;
            for (const auto& [session, grants] : found.grants) verdict.grants += grants.size();
            mirror_ = std::move(mirror);
            remember_numbers(life, found);
            return verdict;
        }
        if (!last) last = wrong;
    }
    verdict.wrong = "what is found is the state after none of the decisions " +
                    std::to_string(least) + " to " + std::to_string(most) + " of " +
                    std::to_string(life.decisions) + "; of the last: " + last.value_or("");
    return verdict;
}

}  // namespace rocklock::crash
