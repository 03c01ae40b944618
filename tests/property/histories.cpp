// Plays the histories breadth first. A state is described by a text without the names of owners and
// resources, so that states which differ only in those names are merged, and each state is expanded
// once. The graph of states then gives the number of histories, including those that were not
// played one by one. Without merging, a depth-first search plays every history.
#include "property/histories.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <rocklock/lock.hpp>

#include "lock/model/modes.hpp"
#include "lock/table/lock_table.hpp"
#include "support/event_text.hpp"
#include "support/listing.hpp"
#include "support/model_mirror.hpp"

namespace rocklock::proof {
namespace {

using Complaint = std::optional<std::string>;

constexpr std::chrono::seconds lease{30};
constexpr std::uint8_t none = 0xFF;

enum class Verb : std::uint8_t {
    acquire,
    convert,
    release,
    cancel,
    close,
    // One owner stops renewing; the others renew their leases until that owner's lease has ended.
    expire,
    steal,
    transfer,
    break_it,
};

// An operation of one owner. It refers to grants and waiters by index, so that it applies to any
// history.
struct Operation {
    Verb verb = Verb::acquire;
    std::uint8_t owner = 0;
    // The index among the live grants or the waiters; the owner to which a grant is transferred.
    std::uint8_t which = none;
    std::uint8_t to = none;
    // The requested mode of each resource.
    std::array<std::uint8_t, 2> modes{none, none};
    bool subtree = false;
    bool waits = false;
    bool any = false;
};

struct Step {
    Event event;
    Ticket ticket{};
    Instant now;
};

SessionId session_of(std::uint8_t owner) {
    SessionId id;
    id.bytes[0] = static_cast<std::uint8_t>(owner + 1);
    return id;
}

std::uint8_t owner_of(const SessionId& id) { return static_cast<std::uint8_t>(id.bytes[0] - 1); }

// A lock table that is compared with the reference model after each event.
class World {
public:
    explicit World(const HistoryBounds& bounds) : bounds_(bounds) {
        now_.boot = BootTime{std::chrono::hours{1}};
        now_.wall = WallTime{std::chrono::hours{500'000}};
        for (std::uint8_t owner = 0; owner < bounds.owners; ++owner) {
            OpenSession open;
            open.principal = std::string(1, static_cast<char>('p' + owner));
            open.lease = lease;
            happen(Request(open), session_of(owner));
        }
    }
    // Copies a world by playing its events again on a new table.
    World(const World& other)
        : bounds_(other.bounds_), now_(other.now_), steps_(other.steps_), mirror_(other.mirror_) {
        std::uint8_t owner = 0;
        for (const Step& step : steps_) {
            decision_.clear();
            const bool opens = owner < bounds_.owners;
            table_->apply(step.event, step.ticket, opens ? session_of(owner++) : SessionId{},
                          step.now, decision_);
        }
    }
    World& operator=(const World&) = delete;

    void play(const Operation& operation);
    std::vector<Operation> operations() const;
    std::string state() const;
    const Complaint& wrong() const { return wrong_; }

private:
    void happen(Event event, const SessionId& fresh = {});
    Complaint check();
    void expire(std::uint8_t dying);
    std::vector<const ModelGrant*> living() const;
    GrantId grant(std::uint8_t which) const {
        return mirror_.to_real(living().at(which)->id).value();
    }
    Acquire acquire(const Operation& operation) const;
    bool lives(std::uint8_t owner) const {
        const auto* session = mirror_.model().session(session_of(owner));
        return session != nullptr && !session->ended;
    }
    bool waits_for(std::uint8_t owner, std::size_t resource) const;
    void add_acquires(std::uint8_t owner, std::vector<Operation>& all) const;
    void add_changes(std::uint8_t which, const ModelGrant& grant,
                     std::vector<Operation>& all) const;
    std::string state_named(const std::vector<std::uint8_t>& owners,
                            const std::vector<std::size_t>& resources) const;
    void add_locks(const std::vector<ModelLock>& locks, const std::vector<std::size_t>& resources,
                   std::string& text) const;

    const HistoryBounds& bounds_;
    Instant now_;
    std::vector<Step> steps_;
    ModelMirror mirror_;
    std::unique_ptr<LockTable> table_ =
        std::make_unique<LockTable>(LockTableOptions{}, SessionKey{});
    Decision decision_;
    Complaint wrong_;
};

// ---- One event ----

void World::happen(Event event, const SessionId& fresh) {
    if (wrong_) return;
    const Ticket ticket{steps_.size() + 1};
    steps_.push_back({std::move(event), ticket, now_});
    const Event& happened = steps_.back().event;
    mirror_.expect(happened, ticket, fresh, now_);
    decision_.clear();
    table_->apply(happened, ticket, fresh, now_, decision_);
    wrong_ = mirror_.got(decision_, std::holds_alternative<Tick>(happened));
    if (!wrong_) wrong_ = check();
    if (!wrong_) return;
    std::string history;
    for (const Step& step : steps_) history += "    " + describe(step.event) + "\n";
    *wrong_ = history + *wrong_ + "\n  the model has:\n" + mirror_.print(now_);
}

Complaint World::check() {
    if (auto wrong = table_->audit_invariants(now_)) return "audit: " + *wrong;
    ListLocks all;
    all.limit = 10'000;
    const auto page = list(*table_, all, now_);
    if (!page) return page.error().message;
    // S1 is checked twice: on the list of the table and on the model.
    const auto meet = [](const Holder& one, const Holder& other) {
        return one.resource == other.resource ||
               (one.subtree && other.resource.starts_with(one.resource + "/"));
    };
    for (const Holder& one : page->locks) {
        for (const Holder& other : page->locks) {
            if (one.session == other.session || !meet(one, other)) continue;
            if (conflicting(one.mode, other.mode)) return "S1: " + one.resource + " is held twice";
        }
    }
    if (auto wrong = mirror_.model().contradiction(now_.boot)) return "S1: " + *wrong;
    if (auto wrong = mirror_.same_holders(*page, now_)) return wrong;
    if (auto wrong = mirror_.same_sessions(sessions(*table_, now_), now_)) return wrong;
    if (table_->statistics(now_).waiting != mirror_.model().waiters().size()) {
        return "other waiters than the model has";
    }
    return std::nullopt;
}

// ---- One operation ----

std::vector<const ModelGrant*> World::living() const {
    std::vector<const ModelGrant*> found;
    for (const ModelGrant& grant : mirror_.model().grants()) {
        if (mirror_.model().lives(grant, now_.boot)) found.push_back(&grant);
    }
    return found;
}

Acquire World::acquire(const Operation& operation) const {
    Acquire request;
    request.session = session_of(operation.owner);
    if (operation.waits) request.patience = no_limit;
    request.any = operation.any;
    for (std::size_t i = 0; i < bounds_.resources.size(); ++i) {
        if (operation.modes[i] == none) continue;
        LockRequest lock;
        lock.resource = bounds_.resources[i];
        lock.mode = static_cast<Mode>(operation.modes[i]);
        lock.subtree = operation.subtree && i == 0;
        request.locks.push_back(std::move(lock));
    }
    return request;
}

// All leases are full before and after this operation, so time is not part of a state.
void World::expire(std::uint8_t dying) {
    const BootTime end = now_.boot + lease;
    for (const bool over : {false, true}) {
        now_.boot = over ? end : end - lease / 2;
        if (over) happen(Tick{});
        for (std::uint8_t owner = 0; owner < bounds_.owners; ++owner) {
            if (owner == dying || !lives(owner)) continue;
            happen(Request(RenewSession{session_of(owner), {}, {}, {}, {}}));
        }
    }
}

void World::play(const Operation& operation) {
    const SessionId session = session_of(operation.owner);
    switch (operation.verb) {
        case Verb::acquire:
            return happen(Request(acquire(operation)));
        case Verb::convert: {
            Convert convert;
            convert.session = session;
            convert.grant = grant(operation.which);
            convert.mode = static_cast<Mode>(operation.modes[0]);
            if (operation.waits) convert.patience = no_limit;
            return happen(Request(convert));
        }
        case Verb::release:
            return happen(Request(Release{session, grant(operation.which)}));
        case Verb::cancel:
            return happen(CancelWait{mirror_.model().waiters().at(operation.which).ticket});
        case Verb::close:
            return happen(Request(CloseSession{session}));
        case Verb::expire:
            return expire(operation.owner);
        case Verb::steal:
            return happen(Request(Steal{session, grant(operation.which), "wanted", true}));
        case Verb::transfer:
            return happen(
                Request(Transfer{session, grant(operation.which), session_of(operation.to)}));
        case Verb::break_it:
            return happen(Request(Break{grant(operation.which), "wanted", "root"}));
    }
}

// ---- All that could happen next ----

// Returns whether the owner already waits for the resource. If one session has two requests for one
// resource, the rules do not say which of them is served first, so such requests are not generated.
bool World::waits_for(std::uint8_t owner, std::size_t resource) const {
    const auto& waiters = mirror_.model().waiters();
    return std::any_of(waiters.begin(), waiters.end(), [&](const ModelWaiter& waiter) {
        if (waiter.converting || owner_of(waiter.session) != owner) return false;
        return std::any_of(waiter.wanted.begin(), waiter.wanted.end(), [&](const ModelLock& lock) {
            return lock.resource == bounds_.resources[resource];
        });
    });
}

void World::add_acquires(std::uint8_t owner, std::vector<Operation>& all) const {
    std::vector<std::uint8_t> modes{none};
    for (const Mode mode : bounds_.modes) modes.push_back(static_cast<std::uint8_t>(mode));
    for (const std::uint8_t first : modes) {
        for (const std::uint8_t second : modes) {
            if (first == none && second == none) continue;
            if (first != none && waits_for(owner, 0)) continue;
            if (second != none && waits_for(owner, 1)) continue;
            for (const bool waits : {false, true}) {
                Operation operation{.owner = owner, .modes = {first, second}, .waits = waits};
                all.push_back(operation);
                operation.any = true;
                if (bounds_.any && first != none && second != none) all.push_back(operation);
                operation.any = false;
                operation.subtree = true;
                if (bounds_.subtrees && first != none) all.push_back(operation);
            }
        }
    }
}

void World::add_changes(std::uint8_t which, const ModelGrant& grant,
                        std::vector<Operation>& all) const {
    const std::uint8_t owner = owner_of(grant.session);
    all.push_back({.verb = Verb::release, .owner = owner, .which = which});
    for (const Mode mode : bounds_.modes) {
        Operation convert{.verb = Verb::convert, .owner = owner, .which = which};
        convert.modes[0] = static_cast<std::uint8_t>(mode);
        all.push_back(convert);
        convert.waits = true;
        // A downgrade never waits.
        const bool up = std::any_of(grant.locks.begin(), grant.locks.end(),
                                    [&](const ModelLock& lock) { return lock.mode < mode; });
        if (up) all.push_back(convert);
    }
    for (std::uint8_t other = 0; other < bounds_.owners; ++other) {
        if (other == owner || !lives(other)) continue;
        // S6: a call with another owner's grant has no effect.
        all.push_back({.verb = Verb::release, .owner = other, .which = which});
        if (!bounds_.forced) continue;
        all.push_back({.verb = Verb::steal, .owner = other, .which = which});
        all.push_back({.verb = Verb::transfer, .owner = owner, .which = which, .to = other});
    }
    if (bounds_.forced) all.push_back({.verb = Verb::break_it, .owner = owner, .which = which});
}

std::vector<Operation> World::operations() const {
    std::vector<Operation> all;
    for (std::uint8_t owner = 0; owner < bounds_.owners; ++owner) {
        if (!lives(owner)) continue;
        add_acquires(owner, all);
        all.push_back({.verb = Verb::close, .owner = owner});
        all.push_back({.verb = Verb::expire, .owner = owner});
    }
    const auto grants = living();
    for (std::size_t which = 0; which < grants.size(); ++which) {
        add_changes(static_cast<std::uint8_t>(which), *grants[which], all);
    }
    const auto& waiters = mirror_.model().waiters();
    for (std::size_t which = 0; which < waiters.size(); ++which) {
        all.push_back({.verb = Verb::cancel,
                       .owner = owner_of(waiters[which].session),
                       .which = static_cast<std::uint8_t>(which)});
    }
    return all;
}

// ---- The state ----

void World::add_locks(const std::vector<ModelLock>& locks,
                      const std::vector<std::size_t>& resources, std::string& text) const {
    // The order within a set has no effect.
    std::array<char, 2> modes{'-', '-'};
    for (const ModelLock& lock : locks) {
        const std::size_t at = lock.resource == bounds_.resources[0] ? 0 : 1;
        modes.at(resources[at]) =
            static_cast<char>((lock.subtree ? 'A' : 'a') + static_cast<int>(lock.mode));
    }
    text.append(modes.data(), modes.size());
}

// Returns everything that the rules depend on, with the owners and resources renamed.
std::string World::state_named(const std::vector<std::uint8_t>& owners,
                               const std::vector<std::size_t>& resources) const {
    const ReferenceModel& model = mirror_.model();
    std::string text(bounds_.owners, ' ');
    for (std::uint8_t owner = 0; owner < bounds_.owners; ++owner) {
        text[owners[owner]] = lives(owner) ? '+' : '-';
    }
    const auto name = [&](const SessionId& session) {
        return static_cast<char>('0' + owners[owner_of(session)]);
    };
    const auto grants = living();
    // The order of grants of different owners has no effect.
    std::vector<std::string> held;
    for (const ModelGrant* grant : grants) {
        held.emplace_back(1, name(grant->session));
        add_locks(grant->locks, resources, held.back());
        for (const ModelWaiter& waiter : model.waiters()) {
            if (waiter.converting == grant->id) add_locks(waiter.after, resources, held.back());
        }
    }
    std::sort(held.begin(), held.end());
    for (const std::string& one : held) text += "|" + one;
    for (const ModelWaiter& waiter : model.waiters()) {
        text += waiter.converting ? '^' : '<';
        text += name(waiter.session);
        add_locks(waiter.wanted, resources, text);
        if (waiter.alternatives.empty()) continue;
        // The preferred one of the alternatives.
        const std::string& first = waiter.alternatives.front().front().resource;
        text += resources[first == bounds_.resources[0] ? 0 : 1] == 0 ? '0' : '1';
    }
    return text;
}

std::string World::state() const {
    std::vector<std::uint8_t> owners(bounds_.owners);
    std::iota(owners.begin(), owners.end(), std::uint8_t{0});
    std::string least;
    do {
        std::vector<std::size_t> resources{0, 1};
        do {
            std::string text = state_named(owners, resources);
            if (least.empty() || text < least) least = std::move(text);
        } while (!bounds_.subtrees && std::next_permutation(resources.begin(), resources.end()));
    } while (std::next_permutation(owners.begin(), owners.end()));
    return least;
}

// ---- All histories ----

class Search {
public:
    Search(const HistoryBounds& bounds, double seconds) : bounds_(bounds), limit_(seconds) {}

    HistoryTally run() {
        if (bounds_.merge) {
            merged();
        } else {
            in_full();
        }
        tally_.seconds = passed();
        return std::move(tally_);
    }

private:
    // A state, the operation that first led to it, and the states to which each operation leads.
    struct Node {
        std::size_t from = 0;
        Operation by;
        std::vector<std::uint32_t> next;
    };

    double passed() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    bool over() const { return tally_.wrong || passed() > limit_; }
    void merged();
    void in_full();
    void extend(const World& world, std::uint32_t left, std::size_t owners, std::size_t resources);
    World rebuild(std::size_t node) const;
    bool expand(std::size_t node);
    void count(std::uint32_t operations);

    const HistoryBounds& bounds_;
    const double limit_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    HistoryTally tally_;
    std::vector<Node> nodes_;
    std::unordered_map<std::string, std::uint32_t> known_;
};

World Search::rebuild(std::size_t node) const {
    std::vector<Operation> path;
    for (; node != 0; node = nodes_[node].from) path.push_back(nodes_[node].by);
    World world(bounds_);
    std::reverse(path.begin(), path.end());
    for (const Operation& operation : path) world.play(operation);
    return world;
}

bool Search::expand(std::size_t node) {
    const World world = rebuild(node);
    for (const Operation& operation : world.operations()) {
        World next(world);
        next.play(operation);
        ++tally_.played;
        if (next.wrong()) {
            tally_.wrong = next.wrong();
            return false;
        }
        const auto [it, added] =
            known_.emplace(next.state(), static_cast<std::uint32_t>(nodes_.size()));
        if (added) nodes_.push_back({node, operation, {}});
        nodes_[node].next.push_back(it->second);
    }
    return true;
}

// Breadth first: each state is expanded once, at its shortest distance from the start.
void Search::merged() {
    known_.emplace(World(bounds_).state(), 0);
    nodes_.emplace_back();
    std::size_t done = 0;
    for (std::uint32_t length = 1; length <= bounds_.operations; ++length) {
        for (const std::size_t end = nodes_.size(); done < end; ++done) {
            if (over() || !expand(done)) return;
        }
        tally_.states = nodes_.size();
        tally_.closed = done == nodes_.size();
        count(length);
        if (tally_.closed) return;
    }
}

// Counts all histories, including those that were not played one by one, from the number of paths
// to each state.
void Search::count(std::uint32_t operations) {
    std::vector<std::uint64_t> here(nodes_.size());
    here[0] = 1;
    std::uint64_t all = 0;
    for (std::uint32_t length = 1; length <= operations; ++length) {
        std::vector<std::uint64_t> then(nodes_.size());
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (here[node] == 0) continue;
            all += here[node] * nodes_[node].next.size();
            for (const std::uint32_t next : nodes_[node].next) then[next] += here[node];
        }
        here = std::move(then);
    }
    tally_.operations = operations;
    tally_.histories = all;
}

void Search::in_full() {
    for (std::uint32_t length = 1; length <= bounds_.operations; ++length) {
        const std::uint64_t before = tally_.played;
        extend(World(bounds_), length, 0, 0);
        if (over()) return;
        tally_.operations = length;
        // Shorter histories are prefixes of these and were played before.
        tally_.histories = tally_.played - before;
    }
}

// Plays each history that begins with `world`. Owners and resources that have not been used yet are
// interchangeable, so only the first of them is tried.
void Search::extend(const World& world, std::uint32_t left, std::size_t owners,
                    std::size_t resources) {
    for (const Operation& operation : world.operations()) {
        if (over()) return;
        const bool second = operation.verb == Verb::acquire && operation.modes[1] != none;
        const bool first = operation.verb == Verb::acquire && operation.modes[0] != none;
        if (operation.owner > owners) continue;
        if (second && !first && resources == 0 && !bounds_.subtrees) continue;
        World next(world);
        next.play(operation);
        ++tally_.played;
        if (next.wrong()) {
            tally_.wrong = next.wrong();
            return;
        }
        if (left == 1) continue;
        extend(next, left - 1, std::max<std::size_t>(owners, operation.owner + 1U),
               first || second ? 1 : resources);
    }
}

}  // namespace

std::string HistoryTally::text() const {
    return std::to_string(histories) + " histories of up to " + std::to_string(operations) +
           " operations, " + (closed ? "longer ones lead to no other state, " : "") +
           (states > 0 ? std::to_string(states) + " states, " : "") + std::to_string(played) +
           " operations played in " +
           std::to_string(static_cast<int>(seconds * 10) / 10.0).substr(0, 5) + " s";
}

HistoryTally play_every_history(const HistoryBounds& bounds, double seconds) {
    return Search(bounds, seconds).run();
}

}  // namespace rocklock::proof
