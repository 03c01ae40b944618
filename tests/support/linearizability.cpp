#include "support/linearizability.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace rocklock::proof {

namespace {

using Verb = Operation::Verb;
using OperationResult = Operation::Result;

constexpr std::size_t max_pending = 256;
constexpr std::size_t max_states = 200'000;

bool conflict(Mode one, Mode other) { return one != Mode::read || other != Mode::read; }

struct HeldLock {
    std::uint64_t grant = 0;
    std::uint64_t token = 0;
    std::uint32_t session = 0;
    Mode mode = Mode::write;
    bool operator<(const HeldLock& other) const {
        return std::tie(grant, token, session, mode) <
               std::tie(other.grant, other.token, other.session, other.mode);
    }
};

// A possible state of a resource, and the pending operations that have taken effect in it.
struct State {
    std::array<std::uint64_t, max_pending / 64> done{};
    std::uint64_t last_token = 0;
    // In order of the grants.
    std::vector<HeldLock> holders;
    bool operator<(const State& other) const {
        return std::tie(done, last_token, holders) <
               std::tie(other.done, other.last_token, other.holders);
    }

    bool is_done(std::size_t slot) const { return ((done[slot / 64] >> (slot % 64)) & 1) != 0; }
    void set_done(std::size_t slot) { done[slot / 64] |= std::uint64_t{1} << (slot % 64); }
    void clear_done(std::size_t slot) { done[slot / 64] &= ~(std::uint64_t{1} << (slot % 64)); }

    HeldLock* find(std::uint64_t grant, std::uint32_t session) {
        for (HeldLock& held : holders) {
            if (held.grant == grant && held.session == session) return &held;
        }
        return nullptr;
    }
    const HeldLock* find(std::uint64_t grant, std::uint32_t session) const {
        return const_cast<State*>(this)->find(grant, session);
    }
    bool held_against(std::uint32_t session, Mode mode) const {
        return std::any_of(holders.begin(), holders.end(), [&](const HeldLock& held) {
            return held.session != session && conflict(held.mode, mode);
        });
    }
    bool held_by(std::uint32_t session) const {
        return std::any_of(holders.begin(), holders.end(),
                           [&](const HeldLock& held) { return held.session == session; });
    }
    void erase(const HeldLock* held) { holders.erase(holders.begin() + (held - holders.data())); }
};

bool changes(const Operation& operation) {
    return operation.result == OperationResult::done || operation.result == OperationResult::open;
}

class ResourceSearch {
public:
    explicit ResourceSearch(std::vector<const Operation*> operations)
        : operations_(std::move(operations)) {}

    std::optional<std::string> run(SearchCounts& counts);

private:
    struct Event {
        std::int64_t at = 0;
        bool is_return = false;
        const Operation* operation = nullptr;
    };

    std::vector<Event> events() const;
    std::optional<std::string> call(const Operation& operation);
    std::optional<std::string> reply(const Operation& operation);
    std::string complaint(const Operation& operation) const;

    // Marks the pending operations that change nothing and are possible in this state. Marking them
    // early excludes no other order. Returns whether it marked any.
    bool take_forced_steps(State& state) const;
    // Returns whether a refused operation has not found its reason yet.
    bool reason_missing(const State& state) const;
    // A wait that fails leaves no trace in the state, but other operations may have been refused
    // because of it. Adds the states that these operations saw before the wait ended.
    bool refuse_after(std::size_t slot, std::vector<State> work, std::set<State>& good) const;
    bool may_be(const State& state, const Operation& operation) const;
    bool blocked(const State& state, const Operation& operation) const;
    // Returns the state after a pending operation, or none if the operation cannot be next.
    std::optional<State> after(const State& state, std::size_t slot) const;
    bool acquire(State& state, const Operation& operation) const;
    bool convert(State& state, const Operation& operation) const;
    bool smaller_token_pending(const State& state, const Operation& operation) const;

    std::vector<const Operation*> operations_;
    std::array<const Operation*, max_pending> slots_{};
    std::vector<std::size_t> pending_;
    std::set<State> states_{State{}};
};

std::vector<ResourceSearch::Event> ResourceSearch::events() const {
    std::vector<Event> events;
    for (const Operation* operation : operations_) {
        events.push_back({operation->called, false, operation});
        if (operation->result != OperationResult::open || operation->returned != 0)
            events.push_back({operation->returned, true, operation});
    }
    // Calls come before returns of the same time.
    std::stable_sort(events.begin(), events.end(), [](const Event& one, const Event& other) {
        return std::pair(one.at, one.is_return) < std::pair(other.at, other.is_return);
    });
    return events;
}

std::optional<std::string> ResourceSearch::run(SearchCounts& counts) {
    for (const Event& event : events()) {
        auto wrong = event.is_return ? reply(*event.operation) : call(*event.operation);
        if (wrong) return wrong;
        counts.max_states = std::max(counts.max_states, states_.size());
        counts.states += states_.size();
    }
    return std::nullopt;
}

std::optional<std::string> ResourceSearch::call(const Operation& operation) {
    if (operation.result != OperationResult::open && operation.returned < operation.called) {
        return "returned before it was called: " + describe(operation);
    }
    const auto free = std::find(slots_.begin(), slots_.end(), nullptr);
    if (free == slots_.end()) return "too many operations at once to judge";
    *free = &operation;
    pending_.push_back(static_cast<std::size_t>(free - slots_.begin()));
    // The new operation may take effect at once, or be the reason for another one's refusal.
    std::set<State> next_states;
    for (State state : states_) {
        take_forced_steps(state);
        next_states.insert(std::move(state));
    }
    states_ = std::move(next_states);
    return std::nullopt;
}

std::optional<std::string> ResourceSearch::reply(const Operation& operation) {
    const auto slot = static_cast<std::size_t>(std::find(slots_.begin(), slots_.end(), &operation) -
                                               slots_.begin());
    std::vector<State> work(states_.begin(), states_.end());
    std::set<State> seen = states_;
    std::set<State> good;
    while (!work.empty()) {
        State state = std::move(work.back());
        work.pop_back();
        if (state.is_done(slot)) {
            state.clear_done(slot);
            good.insert(std::move(state));
            continue;
        }
        for (const std::size_t next : pending_) {
            auto then = after(state, next);
            if (!then) continue;
            take_forced_steps(*then);
            if (seen.insert(*then).second) work.push_back(*std::move(then));
        }
        if (seen.size() > max_states) return "too many possible states to judge";
    }
    // An operation without a reply may have had no effect.
    if (operation.result == OperationResult::open) good.insert(states_.begin(), states_.end());
    if (good.empty()) return complaint(operation);
    if (operation.waits && !changes(operation)) {
        if (!refuse_after(slot, {states_.begin(), states_.end()}, good)) {
            return "too many possible states to judge";
        }
    }
    states_ = std::move(good);
    slots_[slot] = nullptr;
    std::erase(pending_, slot);
    return std::nullopt;
}

bool ResourceSearch::refuse_after(std::size_t slot, std::vector<State> work,
                                  std::set<State>& good) const {
    std::set<State> seen(work.begin(), work.end());
    while (!work.empty()) {
        const State state = std::move(work.back());
        work.pop_back();
        if (!reason_missing(state)) continue;
        for (const std::size_t next : pending_) {
            auto then = after(state, next);
            if (!then) continue;
            // The other pending operations may also take effect later.
            if (take_forced_steps(*then) && then->is_done(slot)) {
                State left = *then;
                left.clear_done(slot);
                good.insert(std::move(left));
            }
            if (seen.insert(*then).second) work.push_back(*std::move(then));
        }
        if (seen.size() > max_states) return false;
    }
    return true;
}

bool ResourceSearch::reason_missing(const State& state) const {
    return std::any_of(pending_.begin(), pending_.end(), [&](std::size_t slot) {
        return slots_[slot]->result == OperationResult::refused && !state.is_done(slot);
    });
}

std::string ResourceSearch::complaint(const Operation& operation) const {
    std::string text = "no order explains: " + describe(operation) + "\n  it could be";
    std::size_t shown = 0;
    for (const State& state : states_) {
        if (++shown > 4) break;
        text += shown > 1 ? "\n  or" : "";
        if (state.holders.empty()) text += " free";
        for (const HeldLock& held : state.holders) {
            text += " held by s" + std::to_string(held.session) + " to " +
                    std::string(to_string(held.mode)) + " as g" + std::to_string(held.grant);
        }
        text += ", last token " + std::to_string(state.last_token);
    }
    for (const std::size_t slot : pending_) text += "\n  beside: " + describe(*slots_[slot]);
    return text;
}

bool ResourceSearch::take_forced_steps(State& state) const {
    bool any = false;
    for (const std::size_t slot : pending_) {
        const Operation& operation = *slots_[slot];
        if (!changes(operation) && !state.is_done(slot) && may_be(state, operation)) {
            state.set_done(slot);
            any = true;
        }
    }
    return any;
}

bool ResourceSearch::may_be(const State& state, const Operation& operation) const {
    switch (operation.result) {
        case OperationResult::refused:
            return blocked(state, operation);
        case OperationResult::withdrawn:
            return true;
        case OperationResult::already_held:
            return state.held_by(operation.session);
        case OperationResult::not_held:
            return state.find(operation.grant, operation.session) == nullptr;
        case OperationResult::done:
        case OperationResult::open:
            break;
    }
    return false;
}

// Returns whether another session holds a conflicting lock, or waits for one and is itself blocked.
// A conversion waits for holders only.
bool ResourceSearch::blocked(const State& state, const Operation& operation) const {
    if (state.held_against(operation.session, operation.mode)) return true;
    if (operation.verb == Verb::convert || state.holders.empty()) return false;
    std::vector<const Operation*> waiting;
    std::vector<const Operation*> left;
    for (const std::size_t slot : pending_) {
        const Operation& other = *slots_[slot];
        if (!other.waits || &other == &operation) continue;
        if (changes(other) && state.is_done(slot)) continue;
        const bool held_up = state.held_against(other.session, other.mode);
        if (held_up) waiting.push_back(&other);
        if (!held_up && other.verb == Verb::acquire) left.push_back(&other);
    }
    const auto behind = [&](const Operation& one) {
        return std::any_of(waiting.begin(), waiting.end(), [&](const Operation* other) {
            return other->session != one.session && conflict(other->mode, one.mode);
        });
    };
    for (std::size_t i = 0; i < left.size();) {
        if (!behind(*left[i])) {
            ++i;
            continue;
        }
        waiting.push_back(left[i]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        i = 0;
    }
    return behind(operation);
}

std::optional<State> ResourceSearch::after(const State& state, std::size_t slot) const {
    const Operation& operation = *slots_[slot];
    if (!changes(operation) || state.is_done(slot)) return std::nullopt;
    State then = state;
    bool possible = true;
    switch (operation.verb) {
        case Verb::acquire:
            possible = acquire(then, operation);
            break;
        case Verb::convert:
            possible = convert(then, operation);
            break;
        case Verb::release:
        case Verb::expire:
            if (const HeldLock* held = then.find(operation.grant, operation.session)) {
                then.erase(held);
            } else {
                possible = false;
            }
            break;
        case Verb::write: {
            const HeldLock* held = then.find(operation.grant, operation.session);
            possible = held != nullptr && held->token == operation.token;
            break;
        }
        case Verb::close:
            std::erase_if(then.holders,
                          [&](const HeldLock& held) { return held.session == operation.session; });
            break;
    }
    if (!possible) return std::nullopt;
    then.set_done(slot);
    return then;
}

bool ResourceSearch::acquire(State& state, const Operation& operation) const {
    if (state.held_against(operation.session, operation.mode) || state.held_by(operation.session))
        return false;
    if (operation.result == OperationResult::done) {
        if (operation.token <= state.last_token || smaller_token_pending(state, operation))
            return false;
        state.last_token = operation.token;
    }
    state.holders.push_back({operation.grant, operation.token, operation.session, operation.mode});
    std::sort(state.holders.begin(), state.holders.end());
    return true;
}

bool ResourceSearch::convert(State& state, const Operation& operation) const {
    HeldLock* held = state.find(operation.grant, operation.session);
    if (held == nullptr) return false;
    if (operation.mode > held->mode) {
        if (state.held_against(operation.session, operation.mode)) return false;
        if (operation.result == OperationResult::done) {
            if (operation.token <= state.last_token || smaller_token_pending(state, operation))
                return false;
            held->token = state.last_token = operation.token;
        }
    } else if (operation.result == OperationResult::done && held->token != operation.token) {
        return false;
    }
    held->mode = operation.mode;
    return true;
}

// If an acquire with a smaller token is still pending, this operation cannot go first: tokens rise,
// so that acquire could never take effect.
bool ResourceSearch::smaller_token_pending(const State& state, const Operation& operation) const {
    return std::any_of(pending_.begin(), pending_.end(), [&](std::size_t slot) {
        const Operation& other = *slots_[slot];
        return other.verb == Verb::acquire && other.result == OperationResult::done &&
               !state.is_done(slot) && other.token < operation.token;
    });
}

bool returns_token(const Operation& operation) {
    return operation.result == OperationResult::done &&
           (operation.verb == Verb::acquire || operation.verb == Verb::convert);
}

}  // namespace

std::optional<std::string> find_contradiction(std::span<const Operation> history,
                                              SearchCounts* counts) {
    std::map<std::uint32_t, std::vector<const Operation*>> resources;
    for (const Operation& operation : history) resources[operation.resource].push_back(&operation);
    SearchCounts sum;
    sum.operations = history.size();
    std::optional<std::string> wrong;
    for (auto& [resource, operations] : resources) {
        wrong = ResourceSearch(std::move(operations)).run(sum);
        if (wrong) break;
    }
    if (counts != nullptr) *counts = sum;
    return wrong;
}

std::optional<std::string> find_token_disorder(std::span<const Operation> history) {
    std::unordered_map<std::uint64_t, std::uint64_t> grant_of;
    std::unordered_set<std::uint64_t> born;
    std::map<std::uint32_t, std::vector<const Operation*>> resources;
    for (const Operation& operation : history) {
        if (!returns_token(operation)) continue;
        const bool birth = operation.verb == Verb::acquire;
        const auto known = grant_of.emplace(operation.token, operation.grant).first;
        if (known->second != operation.grant || (birth && !born.insert(operation.token).second))
            return "a token was given twice: " + describe(operation);
        if (birth) resources[operation.resource].push_back(&operation);
    }
    for (auto& [resource, grants] : resources) {
        std::vector<const Operation*> by_return = grants;
        std::sort(grants.begin(), grants.end(), [](const Operation* one, const Operation* other) {
            return one->called < other->called;
        });
        std::sort(by_return.begin(), by_return.end(),
                  [](const Operation* one, const Operation* other) {
                      return one->returned < other->returned;
                  });
        std::uint64_t highest = 0;
        std::size_t next = 0;
        for (const Operation* grant : grants) {
            for (; next < by_return.size() && by_return[next]->returned < grant->called; ++next) {
                highest = std::max(highest, by_return[next]->token);
            }
            if (grant->token <= highest)
                return "a token fell below " + std::to_string(highest) + ": " + describe(*grant);
        }
    }
    return std::nullopt;
}

std::string describe(const Operation& operation) {
    static constexpr std::array<const char*, 6> verbs{"acquire", "convert", "release",
                                                      "close",   "expire",  "write"};
    static constexpr std::array<const char*, 6> results{"done",         "refused",  "withdrawn",
                                                        "already held", "not held", "open"};
    return "r" + std::to_string(operation.resource) + " s" + std::to_string(operation.session) +
           " " + verbs[static_cast<std::size_t>(operation.verb)] + " " +
           std::string(to_string(operation.mode)) + (operation.waits ? " waiting" : "") + " g" +
           std::to_string(operation.grant) + " -> " +
           results[static_cast<std::size_t>(operation.result)] + " token " +
           std::to_string(operation.token) + " [" + std::to_string(operation.called) + ", " +
           std::to_string(operation.returned) + "]";
}

}  // namespace rocklock::proof
