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
    if (!verdict_.wrong) finish();
    bury();
    return std::move(verdict_);
}

void World::set_up() {
    open_first();
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
    setup_.closures = random_.percent(30) && setup_.may_have_closures;
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

void World::open_first() {
    use_disk(std::make_unique<FaultyStorage>(clock_, FaultyStorage::Pump::by_hand));
    open();
}

void World::use_disk(std::unique_ptr<FaultyStorage> disk) {
    auto stepped = std::make_unique<SteppedDisk>(std::move(disk));
    disk_ = stepped.get();
    storage_ = std::move(stepped);
}

void World::open() {
    if (auto opened = open_manager(); !opened) fail("opening: " + opened.error().message);
}

Result<void> World::open_manager() {
    storage_->obliging = true;
    LockManagerOptions options;
    options.background = false;
    options.session_ids = [this] { return life_.fresh; };
    options.table.reserve = 64;
    options.table.priority_step = priority_step;
    mirror_.model().set_priority_step(priority_step);
    if (watched()) options.events_kept = 100'000;
    auto opened = LockManager::open(*storage_, *manager_clock_, std::move(options));
    storage_->obliging = false;
    if (!opened) return std::move(opened).error();
    manager_ = *std::move(opened);
    ++life_.number;
    manager_->on_lost([this, life = life_.number](const LostNotice& notice) {
        life == life_.number ? heard(notice) : heard_late(life, notice);
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
    return {};
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
    if (storage_->failure()) {
        if (manager_->failure()) life_.failed_closed = true;
        return;
    }
    watch();
    const auto now = manager_now();
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
    check_beliefs();
}

// T6: if a client believes that it holds a lock, it does hold it.
void World::check_beliefs() {
    const auto now = manager_now();
    storage_->examined = true;
    for (const auto& client : clients_) {
        if (!client.session || client_now() >= client.valid_until) continue;
        for (const auto& [id, grant] : client.believed) {
            if (client.given_up.contains(id)) continue;
            const auto* known = mirror_.model().grant(mirror_.to_model(id));
            // Ended by force or by its own session, or at its maximum hold.
            if (known == nullptr || known->outcome != Outcome::held) continue;
            if (known->cap && *known->cap <= now.boot) continue;
            for (const auto& lock : grant.locks) {
                if (lock.permits > 0) continue;
                if (!manager_->holds(*client.session, lock.resource, Mode::read)) {
                    fail("T6: " + client.principal + " believes to hold " + lock.resource);
                }
            }
        }
    }
    storage_->examined = false;
}

void World::complain(const std::optional<std::string>& wrong) {
    if (wrong) fail(*wrong);
}

void World::fail(const std::string& what) {
    if (verdict_.wrong) return;
    verdict_.wrong = "step " + std::to_string(verdict_.steps) + ": " + what;
    say("WRONG: " + what + "\n  the model has:\n" + mirror_.print(manager_now()));
}

void World::fail_unless_storage_failed(const std::string& when, const Error& error) {
    if (!storage_->failure()) fail(when + ": " + error.message);
}

void World::say(const std::string& what) {
    if (!trace_on_) return;
    const auto now = clock_.now().boot.time_since_epoch();
    verdict_.trace +=
        std::to_string(verdict_.steps) + " [" +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) +
        "us] " + what + "\n";
}

}  // namespace rocklock::simulation
