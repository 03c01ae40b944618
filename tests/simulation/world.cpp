// A simulated world: its setup, one run, and the checks after every step.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "simulation/world_state.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

Verdict World::run() {
    set_up();
    const auto steps = 60 + random_.below(240);
    for (std::uint64_t i = 0; i < steps && !verdict_.wrong; ++i) {
        ++verdict_.steps;
        step();
        check();
    }
    if (!verdict_.wrong) quiet();
    bury();
    return std::move(verdict_);
}

void World::set_up() {
    storage_ = std::make_unique<SteppedStorage>(
        std::make_unique<FaultyStorage>(clock_, FaultyStorage::Pump::by_hand));
    open(true);
    const std::size_t clients = 2 + random_.below(4);
    setup_.run_together = random_.percent(25);
    for (std::size_t i = 0; i < clients; ++i) {
        Client client;
        // In some worlds two clients have the same principal, like two tabs of one person.
        client.principal = std::string(1, static_cast<char>('a' + (i == 3 ? 0 : i)));
        client.uid = static_cast<std::uint32_t>(i);
        // In some worlds clients would be confused if the parts of a key were joined without a
        // separator (S10, E6).
        if (setup_.run_together && i != 3) {
            client.uid = 0;
            client.principal = "a" + std::string(i, '1');
        }
        clients_.push_back(client);
    }
    const std::vector<std::string> all{"a", "b", "a/x", "a/x/1", "a/y", "b/x", "d", "e"};
    // In some worlds all clients compete for one or two resources.
    const std::size_t few =
        random_.percent(30) ? 1 + random_.below(2) : 2 + random_.below(all.size() - 1);
    setup_.names.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(few));
    setup_.closures = random_.percent(30);
    if (random_.percent(30))
        put_class("p/*", [&](LockClass& c) {
            c.permits = static_cast<std::uint32_t>(1 + random_.below(3));
            setup_.counting.emplace_back("p/1");
            setup_.counting.emplace_back("p/2");
        });
    if (random_.percent(60)) put_class("*", [&](LockClass&) {});
    if (random_.percent(40)) put_class("a/*", [&](LockClass&) {});
    if (random_.percent(30))
        put_class("d", [&](LockClass& c) {
            c.dependants.push_back({"e", random_.percent(50) ? Mode::read : Mode::write});
        });
    quiet();
}

void World::open(bool first) {
    storage_->obliging = true;
    LockManagerOptions options;
    options.background = false;
    options.session_ids = [this] { return life_.fresh; };
    options.table.reserve = 64;
    options.table.priority_step = priority_step;
    mirror_.model().set_priority_step(priority_step);
    if (watched()) options.events_kept = 100'000;
    auto opened = LockManager::open(*storage_, clock_, std::move(options));
    storage_->obliging = false;
    if (!opened) return fail("opening: " + opened.error().message);
    manager_ = *std::move(opened);
    ++life_.number;
    manager_->on_lost([this, life = life_.number](const LostNotice& notice) {
        if (life == life_.number) heard(notice);
    });
    manager_->on_wanted([this, life = life_.number](const WantedNotice& notice) {
        if (life != life_.number) return;
        if (notice.wanted.answer_by) {
            count_kind("wanted: asked");
        } else {
            oracle_.waited_for = notice.wanted.grant;
        }
        complain(mirror_.got(notice));
    });
    if (first) return;
}

// Destroys the manager. Anything that its destructor does reaches neither the store nor a client.
void World::bury() {
    if (manager_ == nullptr) return;
    ++life_.number;
    storage_->dead = true;
    manager_.reset();
}

void World::check() {
    if (verdict_.wrong || manager_ == nullptr) return;
    if (storage_->disk().failure()) {
        if (manager_->failure()) life_.failed_closed = true;
        return;
    }
    watch();
    const auto now = clock_.now();
    if (life_.ticked) {
        if (auto wrong = manager_->audit_invariants()) return fail("audit: " + *wrong);
        life_.ticked = false;
    }
    const auto counts = manager_->statistics();
    const auto ended =
        counts.released + counts.expired + counts.stolen + counts.broken + counts.transferred;
    if (counts.granted + counts.recovered != counts.held + ended)
        return fail("A5: the statistics do not add up");
    // W3: the periodic search for waiters that can be granted never finds one, because each event
    // has granted the waiters that it unblocked.
    if (counts.sweep_finds != 0) return fail("Q1: the search found a forgotten waiter");
    if (auto wrong = mirror_.model().contradiction(now.boot)) return fail("S1: " + *wrong);
    // A waiter is overtaken only by requests that arrive within the time for which their priority
    // counts.
    if (auto wrong = mirror_.model().overtaken(now.boot))
        return fail("Q3, Q4: a waiter for " + *wrong + " was overtaken");
    // T6: if a client believes that it holds a lock, it does hold it.
    for (const auto& client : clients_) {
        if (!client.session || now.boot >= client.valid_until) continue;
        for (const auto& [id, grant] : client.believed) {
            if (client.given_up.contains(id)) continue;
            const auto* known = mirror_.model().grant(mirror_.to_model(id));
            // Ended by force or by its own session, or at its maximum hold.
            if (known == nullptr || known->outcome != Outcome::held) continue;
            if (known->cap && *known->cap <= now.boot) continue;
            for (const auto& lock : grant.locks) {
                if (lock.permits > 0) continue;
                if (!manager_->holds(*client.session, lock.resource, Mode::read)) {
                    return fail("T6: " + client.principal + " believes to hold " + lock.resource);
                }
            }
        }
    }
}

void World::complain(const std::optional<std::string>& wrong) {
    if (wrong) fail(*wrong);
}

void World::fail(const std::string& what) {
    if (verdict_.wrong) return;
    verdict_.wrong = "step " + std::to_string(verdict_.steps) + ": " + what;
    say("WRONG: " + what + "\n  the model has:\n" + mirror_.print(clock_.now()));
}

void World::say(const std::string& what) {
    if (!trace_on_) return;
    const auto now = clock_.now().boot.time_since_epoch();
    verdict_.trace +=
        std::to_string(verdict_.steps) + " [" +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) +
        "us] " + what + "\n";
}

namespace {

// Every run of a few thousand seeds so far has seen these events.
const char* const required[] = {
    "granted: at once",
    "granted: after a wait",
    "granted: a set",
    "granted: any, at once",
    "granted: any, after a wait",
    "granted: with a priority, after a wait",
    "granted: a subtree",
    "granted: a dependant",
    "granted: permits",
    "granted: counted",
    "granted: with its own session",
    "granted: again, ended since",
    "converted: at once",
    "converted: after a wait",
    "stolen: at once",
    "transferred: at once",
    "reacquired: at once",
    "released: released",
    "released: held",
    "released: already_released",
    "released: expired",
    "released: stolen",
    "released: broken",
    "released: transferred",
    "ended: expired",
    "ended: stolen",
    "ended: broken",
    "event: granted",
    "event: wanted",
    "event: warned",
    "event: converted",
    "event: transferred",
    "event: released",
    "event: expired",
    "event: stolen",
    "event: broken",
    "refused: conflict",
    "refused: patience_expired",
    "refused: cancelled",
    "refused: deadlock",
    "refused: already_held",
    "refused: session_expired",
    "refused: session_not_found",
    "refused: grant_ended",
    "refused: not_owner",
    "refused: steal_refused",
    "refused: steal, never",
    "refused: steal, idle",
    "refused: steal, ask",
    "refused: access_denied",
    "stolen: what was refused before",
    "wanted: asked",
    "answered: held",
    "answered: released",
    "refused: queue_full",
    "refused: kind_mismatch",
    "refused: class_draining",
    "refused: invalid_argument",
    "refused: precondition_failed",
    "session: opened",
    "session: without expiry",
    "session: renewed",
    "session: closed",
    "renew: late, after a stall",
    "network: a message lost",
    "network: a message twice",
    "network: messages reordered",
    "network: an old message again",
    "network: an answer lost",
    "clock: the wall clock jumps",
    "clock: the manager was stalled",
    "storage: a write failed",
    "storage: a sync failed",
    "crash: killed",
    "crash: power cut",
    "crash: killed after a failure",
    "crash: power cut after a failure",
    "crash: torn record",
    "crash: commits were lost",
    "crash: another boot",
    "quiet: everything compared",
    nullptr,
};

}  // namespace

const char* const* required_kinds() { return required; }

Verdict play(std::uint64_t seed, bool trace, Counts& counts) {
    return World(seed, trace, counts).run();
}

Summary play_all(std::uint64_t from, std::uint64_t to, double seconds) {
    Summary summary;
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (std::uint64_t seed = from; seed < to && passed() < seconds; ++seed) {
        auto verdict = play(seed, false, summary.counts);
        ++summary.seeds;
        summary.steps += verdict.steps;
        if (!verdict.wrong) continue;
        // The failed seed is simulated again, with a trace.
        Counts again;
        summary.failed = play(seed, true, again);
        if (!summary.failed->wrong)
            summary.failed->wrong = *verdict.wrong + " (and not when played again!)";
        break;
    }
    summary.seconds = passed();
    return summary;
}

std::string Summary::missing() const {
    std::string text;
    for (const auto* const* kind = required_kinds(); *kind != nullptr; ++kind) {
        if (!counts.contains(*kind)) text += std::string(*kind) + "\n";
    }
    return text;
}

}  // namespace rocklock::simulation
