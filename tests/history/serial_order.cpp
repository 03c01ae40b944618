#include "history/serial_order.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "history/partial_order.hpp"

namespace rocklock::proof {

namespace {

using Verdict = Explanation::Verdict;

constexpr int max_attempts = 400;
// The maximum number of removals without a response for which both outcomes are tried.
constexpr std::size_t max_doubts = 10;

struct Contradiction : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// ---- Types ----

// The touch of an operation that has taken effect.
struct Known {
    std::size_t operation = 0;
    const Touch* touch = nullptr;
    // The number of the item before the touch, 0 if there was no item, none if it is unknown.
    std::optional<std::uint64_t> before{};

    bool writes() const {
        if (touch->effect == Effect::remove) return before != 0U;
        return touch->effect != Effect::none;
    }
};

struct KeyStory {
    std::vector<Known> known{};
    // The index in `known` of each writer, by the number of its operation.
    std::unordered_map<std::uint64_t, std::size_t> writers{};
    // The index of the write that replaced the version of that operation.
    std::unordered_map<std::uint64_t, std::size_t> successors{};
};

// A part of an item's history: from its creation, or from a write with an unknown predecessor, to
// its removal or to its last known version. Or a single read that found no item.
struct Piece {
    std::size_t first = 0;
    // The operations that precede everything that follows the piece.
    std::vector<std::size_t> lasts{};
    bool reads_only = false;
    bool begins_absent = true;
    bool ends_absent = true;
};

// The pieces of an item that begin with an unknown version and end with a removal.
using Removers = std::vector<const Piece*>;

// One of two pieces precedes the other; which one is not known yet.
struct Choice {
    const Piece* one = nullptr;
    const Piece* other = nullptr;
    const Removers* removers = nullptr;
};

class Story {
public:
    // `assumed`: the operations without a response that are assumed to have taken effect.
    Story(const TableHistory& history, const std::set<std::uint64_t>& assumed);

    Explanation explain();
    // The operations without a response that may have removed an item.
    const std::vector<std::uint64_t>& doubts() const { return doubts_; }

private:
    // Collecting the known facts.
    void happen(std::size_t operation);
    void happen(std::uint32_t key, std::uint64_t number);
    void learn(Known& known, std::uint64_t before);
    void learn_from_trail(Known& known);
    void learn_from_demand(Known& known);
    Known& writer(std::uint32_t key, std::uint64_t number);
    void find_successors();
    void collect_doubts();
    bool may_have_removed(const TableOperation& operation, const Touch& touch) const;
    std::string description(std::size_t operation) const { return describe(history_[operation]); }

    // Deriving constraints ("reasons") and pieces.
    void reason();
    void reason_by_time();
    void collect_pieces();
    Piece follow(KeyStory& story, const Known& start);
    void collect_choices(std::size_t begin, std::size_t end);
    std::string circle_text() const;

    // Deciding the order of the pieces.
    bool check_choices(PartialOrder& order, std::vector<Choice>& choices, std::string& wrong) const;
    static bool may_be_first(const PartialOrder& order, const Piece& one, const Piece& other);
    static bool may_be_first(const PartialOrder& order, const Piece& one, const Piece& other,
                             const Removers& removers);
    static void put_first(PartialOrder& order, const Piece& one, const Piece& other);
    std::optional<std::string> guess(PartialOrder order, std::vector<Choice> choices,
                                     std::mt19937& random, int attempt);
    bool is_first(const Choice& choice, std::mt19937& random, int attempt) const;
    std::optional<std::string> play(const std::vector<std::size_t>& order);

    const TableHistory& history_;
    std::unordered_map<std::uint64_t, std::size_t> by_number_;
    std::vector<bool> happened_;
    std::vector<std::size_t> to_learn_;
    std::vector<std::uint64_t> doubts_;
    std::map<std::uint32_t, KeyStory> keys_;
    Reasons reasons_;
    std::vector<Piece> pieces_;
    std::list<Removers> removers_;
    std::vector<Choice> choices_;
    // Operations with a different response in an order that was tried. A decision about them, or
    // about a neighbour, was wrong.
    std::set<std::size_t> blamed_;
    Explanation figures_;
};

// ---- Known facts ----

Story::Story(const TableHistory& history, const std::set<std::uint64_t>& assumed)
    : history_(history), happened_(history.size()), reasons_(history.size()) {
    figures_.operations = history.size();
    for (std::size_t at = 0; at < history.size(); ++at) {
        if (history[at].number == 0 || !by_number_.emplace(history[at].number, at).second) {
            throw std::runtime_error("two operations have one number: " + description(at));
        }
    }
    for (std::size_t at = 0; at < history.size(); ++at) {
        if (!history[at].open || assumed.contains(history[at].number)) happen(at);
    }
}

void Story::happen(std::size_t operation) {
    if (happened_[operation]) return;
    happened_[operation] = true;
    to_learn_.push_back(operation);
    for (const Touch& touch : history_[operation].touches) {
        KeyStory& story = keys_[touch.key];
        if (touch.effect != Effect::none) {
            story.writers.emplace(history_[operation].number, story.known.size());
        }
        story.known.push_back({operation, &touch});
    }
}

// The operation has taken effect, because another one saw what it wrote.
void Story::happen(std::uint32_t key, std::uint64_t number) {
    const auto found = by_number_.find(number);
    const bool wrote = found != by_number_.end() &&
                       std::any_of(history_[found->second].touches.begin(),
                                   history_[found->second].touches.end(), [&](const Touch& touch) {
                                       return touch.key == key && (touch.effect == Effect::put ||
                                                                   touch.effect == Effect::update);
                                   });
    if (!wrote) {
        throw Contradiction("k" + std::to_string(key) + " was seen as " + std::to_string(number) +
                            " left it, which did no such thing");
    }
    happen(found->second);
}

Known& Story::writer(std::uint32_t key, std::uint64_t number) {
    happen(key, number);
    KeyStory& story = keys_[key];
    return story.known[story.writers.at(number)];
}

void Story::learn(Known& known, std::uint64_t before) {
    if (known.before && *known.before != before) {
        throw Contradiction("saw or replaced both " + std::to_string(*known.before) + " and " +
                            std::to_string(before) + " of k" + std::to_string(known.touch->key) +
                            ": " + description(known.operation));
    }
    if (before == history_[known.operation].number) {
        throw Contradiction("replaced what it wrote itself: " + description(known.operation));
    }
    known.before = before;
}

void Story::learn_from_trail(Known& known) {
    const Trail& trail = *known.touch->seen;
    const std::uint32_t key = known.touch->key;
    learn(known, trail.empty() ? 0 : trail.back());
    for (std::size_t at = 0; at < trail.size(); ++at) {
        if (std::count(trail.begin(), trail.end(), trail[at]) > 1) {
            throw Contradiction(std::to_string(trail[at]) +
                                " wrote twice: " + description(known.operation));
        }
        Known& wrote = writer(key, trail[at]);
        if (wrote.touch->effect == Effect::update) {
            learn(wrote, at == 0 ? 0 : trail[at - 1]);
        } else if (at > 0) {
            throw Contradiction("what was put keeps what was there before: " +
                                description(known.operation));
        }
    }
}

void Story::learn_from_demand(Known& known) {
    const Demand& demand = known.touch->demand;
    if (known.touch->met && demand.kind == Demand::Kind::absent) learn(known, 0);
    if (known.touch->met && demand.kind == Demand::Kind::equals) {
        happen(known.touch->key, demand.number);
        learn(known, demand.number);
    }
    if (known.before && demand.holds(*known.before) != known.touch->met) {
        throw Contradiction("the condition was not so: " + description(known.operation));
    }
}

void Story::find_successors() {
    while (!to_learn_.empty()) {
        const std::size_t operation = to_learn_.back();
        to_learn_.pop_back();
        for (const Touch& touch : history_[operation].touches) {
            // Uses an index, because learning can extend the list.
            const KeyStory& story = keys_[touch.key];
            std::size_t at = 0;
            while (story.known[at].touch != &touch) ++at;
            Known known = story.known[at];
            if (touch.seen) learn_from_trail(known);
            learn_from_demand(known);
            if (known.before) learn(keys_[touch.key].known[at], *known.before);
        }
    }
    for (auto& [key, story] : keys_) {
        for (std::size_t at = 0; at < story.known.size(); ++at) {
            const Known& known = story.known[at];
            if (!known.writes() || known.before.value_or(0) == 0) continue;
            const auto [other, is_new] = story.successors.emplace(*known.before, at);
            if (is_new) continue;
            throw Contradiction("k" + std::to_string(key) + " was replaced twice as " +
                                std::to_string(*known.before) + " left it:\n  " +
                                description(story.known[other->second].operation) + "\n  " +
                                description(known.operation));
        }
    }
}

void Story::collect_doubts() {
    for (std::size_t at = 0; at < history_.size(); ++at) {
        if (happened_[at]) continue;
        const auto& touches = history_[at].touches;
        const auto removals = std::count_if(touches.begin(), touches.end(), [](const Touch& touch) {
            return touch.effect == Effect::remove;
        });
        const auto possible =
            std::count_if(touches.begin(), touches.end(), [&](const Touch& touch) {
                return touch.effect == Effect::remove && may_have_removed(history_[at], touch);
            });
        if (removals > 0 && possible == removals) doubts_.push_back(history_[at].number);
    }
}

// Returns whether the removal may have taken effect: the version it requires existed, no other
// write replaced it, and no operation that began later saw it.
bool Story::may_have_removed(const TableOperation& operation, const Touch& touch) const {
    if (touch.demand.kind != Demand::Kind::equals) return true;
    const auto found = keys_.find(touch.key);
    if (found == keys_.end()) return false;
    const KeyStory& story = found->second;
    if (!story.writers.contains(touch.demand.number)) return false;
    if (story.successors.contains(touch.demand.number)) return false;
    return std::none_of(story.known.begin(), story.known.end(), [&](const Known& known) {
        return known.before == touch.demand.number &&
               history_[known.operation].called > operation.returned;
    });
}

// ---- Constraints ----

void Story::reason() {
    for (const auto& [key, story] : keys_) {
        for (const Known& known : story.known) {
            if (known.before.value_or(0) == 0) continue;
            reasons_.add(by_number_.at(*known.before), known.operation);
            const auto next = story.successors.find(*known.before);
            if (next == story.successors.end()) continue;
            const std::size_t replaced = story.known[next->second].operation;
            if (replaced != known.operation) reasons_.add(known.operation, replaced);
        }
    }
    for (std::size_t at = 0; at < history_.size(); ++at) {
        const auto meant = by_number_.find(history_[at].attempt_of);
        if (meant == by_number_.end() || !happened_[meant->second]) continue;
        reasons_.add(at, meant->second);
    }
    reason_by_time();
}

// Adds a node for each return, and chains these nodes. Without them, each pair of operations that
// do not overlap would need its own constraint.
void Story::reason_by_time() {
    std::vector<std::size_t> by_return;
    for (std::size_t at = 0; at < history_.size(); ++at) {
        if (happened_[at]) by_return.push_back(at);
    }
    std::vector<std::size_t> by_call = by_return;
    std::sort(by_return.begin(), by_return.end(), [&](std::size_t one, std::size_t other) {
        return history_[one].returned < history_[other].returned;
    });
    std::sort(by_call.begin(), by_call.end(), [&](std::size_t one, std::size_t other) {
        return history_[one].called < history_[other].called;
    });
    std::optional<std::size_t> moment;
    auto next = by_return.begin();
    for (const std::size_t called : by_call) {
        for (; next != by_return.end() && history_[*next].returned < history_[called].called;
             ++next) {
            const std::size_t now = reasons_.add_thing();
            if (moment) reasons_.add(*moment, now);
            reasons_.add(*next, now);
            moment = now;
        }
        if (moment) reasons_.add(*moment, called);
    }
}

std::string Story::circle_text() const {
    std::string text = "there is no first of these, each of which is before the next:";
    for (const std::size_t at : reasons_.circle(history_.size())) {
        // Skips the nodes that stand for points in time.
        if (at < history_.size()) text += "\n  " + description(at);
    }
    return text;
}

// ---- Pieces ----

Piece Story::follow(KeyStory& story, const Known& start) {
    Piece piece;
    piece.first = start.operation;
    piece.begins_absent = start.before.has_value();
    const Known* last = &start;
    std::size_t steps = 0;
    while (true) {
        const auto next = story.successors.find(history_[last->operation].number);
        if (next == story.successors.end() || ++steps > story.known.size()) break;
        last = &story.known[next->second];
    }
    piece.lasts = {last->operation};
    piece.ends_absent = last->touch->effect == Effect::remove;
    if (piece.ends_absent) return piece;
    for (const Known& known : story.known) {
        if (known.before == history_[last->operation].number) {
            piece.lasts.push_back(known.operation);
        }
    }
    return piece;
}

void Story::collect_pieces() {
    std::vector<std::size_t> ends;
    for (auto& [key, story] : keys_) {
        for (const Known& known : story.known) {
            if (known.writes() && known.before.value_or(0) == 0) {
                pieces_.push_back(follow(story, known));
            } else if (known.before == 0U) {
                pieces_.push_back({known.operation, {known.operation}, true});
            }
        }
        ends.push_back(pieces_.size());
    }
    // The choices point to pieces, so `pieces_` must be complete before.
    std::size_t begin = 0;
    for (const std::size_t end : ends) collect_choices(std::exchange(begin, end), end);
}

void Story::collect_choices(std::size_t begin, std::size_t end) {
    Removers& removers = removers_.emplace_back();
    for (std::size_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[i];
        if (!piece.begins_absent && piece.ends_absent) removers.push_back(&piece);
        for (std::size_t j = i + 1; j < end; ++j) {
            if (piece.reads_only && pieces_[j].reads_only) continue;
            choices_.push_back({&piece, &pieces_[j], &removers});
        }
    }
}

// ---- Order of the pieces ----

bool Story::may_be_first(const PartialOrder& order, const Piece& one, const Piece& other) {
    return std::none_of(one.lasts.begin(), one.lasts.end(), [&](std::size_t last) {
        return order.is_before(other.first, last) || last == other.first;
    });
}

// If `one` leaves an item and `other` begins without one, a removal must be possible between them.
bool Story::may_be_first(const PartialOrder& order, const Piece& one, const Piece& other,
                         const Removers& removers) {
    if (!may_be_first(order, one, other)) return false;
    if (one.ends_absent || !other.begins_absent) return true;
    return std::any_of(removers.begin(), removers.end(), [&](const Piece* between) {
        return may_be_first(order, one, *between) && may_be_first(order, *between, other);
    });
}

void Story::put_first(PartialOrder& order, const Piece& one, const Piece& other) {
    for (const std::size_t last : one.lasts) {
        if (!order.is_before(last, other.first)) order.add(last, other.first);
    }
}

// Decides each choice that allows only one order, until no more follow. Returns false, with a
// message in `wrong`, if a choice allows neither.
bool Story::check_choices(PartialOrder& order, std::vector<Choice>& choices,
                          std::string& wrong) const {
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t at = 0; at < choices.size();) {
            const auto& [one, other, removers] = choices[at];
            const bool one_first = may_be_first(order, *one, *other, *removers);
            const bool other_first = may_be_first(order, *other, *one, *removers);
            if (one_first && other_first) {
                ++at;
                continue;
            }
            if (!one_first && !other_first) {
                wrong = "neither what begins with one of these can be before the other:\n  " +
                        description(one->first) + "\n  " + description(other->first);
                return false;
            }
            put_first(order, one_first ? *one : *other, one_first ? *other : *one);
            choices[at] = choices.back();
            choices.pop_back();
            changed = true;
        }
    }
    return true;
}

// Guesses which piece is first: by the times of return. Later attempts sometimes deviate, more
// often for operations at which an earlier attempt failed.
bool Story::is_first(const Choice& choice, std::mt19937& random, int attempt) const {
    const bool by_time =
        history_[choice.one->first].returned < history_[choice.other->first].returned;
    if (attempt == 0) return by_time;
    const bool blamed =
        blamed_.contains(choice.one->first) || blamed_.contains(choice.other->first);
    return random() % (blamed ? 2 : 16) == 0 ? !by_time : by_time;
}

// Guesses the remaining choices one by one, and decides those that follow from each guess. Returns
// the reason of a failure, or none.
std::optional<std::string> Story::guess(PartialOrder order, std::vector<Choice> choices,
                                        std::mt19937& random, int attempt) {
    std::string wrong;
    while (!choices.empty()) {
        const Choice choice = choices.back();
        choices.pop_back();
        ++figures_.guesses;
        const bool one_first = is_first(choice, random, attempt);
        put_first(order, one_first ? *choice.one : *choice.other,
                  one_first ? *choice.other : *choice.one);
        if (!check_choices(order, choices, wrong)) return wrong;
    }
    return play(order.in_order());
}

// Executes the operations on a model. Returns a message about the first response that differs, or
// none.
std::optional<std::string> Story::play(const std::vector<std::size_t>& order) {
    std::map<std::uint32_t, Trail> items;
    for (const std::size_t at : order) {
        if (!happened_[at]) continue;
        const TableOperation& operation = history_[at];
        for (const Touch& touch : operation.touches) {
            const Trail& item = items[touch.key];
            if ((touch.seen && *touch.seen != item) ||
                touch.demand.holds(item.empty() ? 0 : item.back()) != touch.met) {
                blamed_.insert(at);
                return "in the order that was found this is another: " + description(at);
            }
        }
        for (const Touch& touch : operation.touches) {
            Trail& item = items[touch.key];
            if (touch.effect == Effect::put || touch.effect == Effect::remove) item.clear();
            if (touch.effect == Effect::put || touch.effect == Effect::update) {
                item.push_back(operation.number);
            }
        }
    }
    return std::nullopt;
}

Explanation Story::explain() {
    find_successors();
    collect_doubts();
    reason();
    collect_pieces();
    for (std::size_t at = 0; at < reasons_.count(); ++at) {
        figures_.reasons += reasons_.after(at).size();
    }
    figures_.choices = choices_.size();
    const auto in_order = reasons_.in_order();
    if (!in_order) throw Contradiction(circle_text());
    PartialOrder order(reasons_, *in_order, history_.size());
    std::vector<Choice> choices = choices_;
    std::string wrong;
    if (!check_choices(order, choices, wrong)) throw Contradiction(wrong);
    std::mt19937 random(1);
    std::optional<std::string> left;
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        left = guess(order, choices, random, attempt);
        if (!left) break;
        // Without choices, further attempts would give the same result.
        if (choices.empty()) break;
    }
    figures_.verdict = left ? Verdict::undecided : Verdict::explained;
    figures_.text = left.value_or("");
    return figures_;
}

Explanation explain_with(const TableHistory& history, const std::set<std::uint64_t>& assumed,
                         std::vector<std::uint64_t>* doubts) {
    Story story(history, assumed);
    try {
        Explanation found = story.explain();
        if (doubts != nullptr) *doubts = story.doubts();
        return found;
    } catch (const Contradiction& contradiction) {
        if (doubts != nullptr) *doubts = story.doubts();
        Explanation found;
        found.verdict = Verdict::contradicted;
        found.text = contradiction.what();
        found.operations = history.size();
        return found;
    }
}

}  // namespace

// No operation sees which one removed an item. First assumes that the removals without a response
// have not taken effect. If that fails, it tries all combinations.
Explanation explain(const TableHistory& history) {
    std::vector<std::uint64_t> doubts;
    Explanation first = explain_with(history, {}, &doubts);
    if (first.verdict == Verdict::explained || doubts.empty()) return first;
    Explanation found = std::move(first);
    if (doubts.size() > max_doubts) {
        found.verdict = Verdict::undecided;
        doubts.resize(max_doubts);
    }
    for (std::size_t mask = (std::size_t{1} << doubts.size()) - 1; mask > 0; --mask) {
        std::set<std::uint64_t> assumed;
        for (std::size_t at = 0; at < doubts.size(); ++at) {
            if (((mask >> at) & 1U) != 0) assumed.insert(doubts[at]);
        }
        Explanation other = explain_with(history, assumed, nullptr);
        if (other.verdict == Verdict::explained) return other;
        if (other.verdict == Verdict::undecided) found.verdict = Verdict::undecided;
    }
    return found;
}

}  // namespace rocklock::proof
