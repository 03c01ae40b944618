// The steps of the scheduler of a simulated world.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "simulation/world_state.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

void World::step() {
    const auto dice = random_.below(1000);
    if (manager_->failure() || storage_->failure()) return crash();
    if (dice < 330) return act();
    if (dice < 600) return deliver_to_manager();
    if (dice < 670) return write();
    if (dice < 740) return sync();
    if (dice < 820) return deliver();
    if (dice < 910) return pass_time();
    if (dice < 920) return stall();
    if (dice < 940) return cancel();
    if (dice < 955) return wall();
    if (dice < 975) return quiet();
    if (dice < 990) return crash();
    if (dice < 995) return plan_failure();
    if (dice < 997) return change_draining();
    return deliver_to_manager();
}

// Resumes a class that is drained, or drains another one. Most classes must not be drained, because
// nothing of them is granted.
void World::change_draining() {
    const auto& classes = mirror_.model().classes();
    for (const LockClass& one : classes) {
        if (one.draining) return send(0, Request(ResumeClass{one.pattern, "root"}));
    }
    if (classes.empty()) return;
    count_kind("class: drained");
    send(0, Request(DrainClass{random_.pick(classes).pattern, "upkeep", "root"}));
}

void World::write() {
    if (storage_->failure()) return;
    const auto count = 1 + random_.below(3);
    say("write " + std::to_string(count));
    if (!storage_->write_next(count)) count_kind("storage: a write failed");
}

void World::sync() {
    if (storage_->failure()) return;
    say("sync");
    if (!storage_->sync()) count_kind("storage: a sync failed");
}

void World::deliver() {
    say("deliver");
    manager_->deliver_done();
}

void World::plan_failure() {
    // A minimum hold begins again if the manager does not know how much of it has passed. The model
    // does not simulate this, so these worlds have no failures.
    if (setup_.closures) return;
    const bool on_sync = random_.percent(60);
    say(on_sync ? "the next sync will fail" : "a write will fail soon");
    disk_->disk().fail_nth(on_sync ? FaultyStorage::Call::sync : FaultyStorage::Call::write,
                           1 + random_.below(2));
}

void World::wall() {
    const std::vector<milliseconds> jumps{1s, -1s, 1h, -1h, 24h * 3650, -24h * 3650, 1ms, -7ms};
    const auto by = random_.pick(jumps);
    say("wall clock jumps " + std::to_string(by.count()) + " ms");
    clock_.jump_wall(by);
    count_kind("clock: the wall clock jumps");
}

// Advances the clock to the next due time, to just before it, or by a random time that does not
// pass it.
void World::pass_time() {
    const auto next = mirror_.model().next_change();
    const auto now = manager_now().boot;
    std::chrono::nanoseconds by = milliseconds{random_.below(400)};
    if (next && *next > now && *next - now < 1h) {
        if (random_.percent(40)) by = *next - now;
        if (random_.percent(10)) by = *next - now - 1ns;
        // T2: an event that is due is decided exactly at its time.
        by = std::min<std::chrono::nanoseconds>(by, *next - now);
    }
    if (next && *next <= now) by = 0ns;
    advance(by);
    say("+" + std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(by).count()) +
        "us");
    tick();
}

void World::tick() {
    if (manager_->failure()) return;
    if (storage_->failure()) return;
    Happened tick;
    tick.event = Tick{};
    tick.now = manager_now();
    tick.ticket = Ticket{++life_.tickets};
    expect(tick);
    [[maybe_unused]] const auto next = manager_->decide_due();
    log_.back().commit = storage_->last();
    life_.ticked = true;
}

// Stops the manager for a while. Afterwards the renewals that arrived in the meantime are served
// first.
void World::stall() {
    const auto before = manager_->last_decision();
    clock_.advance(milliseconds{250 + random_.below(2500)});
    say("stalled");
    count_kind("clock: the manager was stalled");
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        auto& client = clients_[i];
        if (!client.session || !random_.percent(60)) continue;
        RenewSession late;
        late.session = *client.session;
        late.as_of = before;
        // The request was sent while the manager was stopped.
        send(i, Request(late), to_client(before));
        deliver_to_manager(network_.waiting.size() - 1, false);
        count_kind("renew: late, after a stall");
    }
    tick();
}

void World::cancel() {
    if (network_.in_flight.empty()) return;
    auto chosen = network_.in_flight.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(network_.in_flight.size())));
    tick();
    Happened happened;
    happened.event = CancelWait{chosen->first};
    happened.now = manager_now();
    happened.ticket = Ticket{++life_.tickets};
    say("cancel #" + std::to_string(static_cast<std::uint64_t>(chosen->first)));
    expect(happened);
    manager_->cancel(chosen->second);
    log_.back().commit = storage_->last();
}

// Lets all pending work finish. Then the table, the model and the clients must agree.
void World::quiet() {
    say("quiet");
    if (manager_->failure() || storage_->failure()) return crash();
    while (!network_.waiting.empty() && !verdict_.wrong) {
        if (storage_->failure()) return;
        deliver_to_manager(0, true);
    }
    tick();
    if (storage_->failure()) return;
    // A planned failure may happen now.
    for (int rounds = 0; rounds < 4; ++rounds) {
        if (!storage_->pump()) return count_kind("storage: a write failed");
        manager_->deliver_done();
    }
    count_kind("quiet: everything compared");
    complain(mirror_.check_served(true));
    watch();
    compare("at rest");
    const auto stuck = mirror_.model().stuck(manager_now().boot);
    if (!stuck.empty()) fail("Q6: a cycle persists");
}

// Returns whether a client of this world follows the events.
bool World::watched() const { return verdict_.seed % 4 != 0; }

void World::watch() {
    if (!watched() || verdict_.wrong || manager_->failure() || storage_->failure()) {
        return;
    }
    WatchRequest request;
    request.after = watcher_.after();
    request.limit = 10'000;
    manager_->submit_watch(request, [this](const Result<EventPage>& page) {
        if (!page) return fail("watching: " + page.error().message);
        for (const LockEvent& event : page->events) {
            count_kind("event: " + std::string(to_string(event.type)));
        }
        complain(life_.after_restart ? watch_anew(*page) : watcher_.hear(*page));
    });
}

std::optional<std::string> World::watch_anew(const EventPage& page) {
    ListLocks all;
    all.limit = 10'000;
    const auto table = manager_->list(all);
    if (!table) return table.error().message;
    return watcher_.restart(page, *table, [this](const std::string& resource) {
        return manager_->history({resource, 1000, ""});
    });
}

void World::compare(const std::string& when) {
    const auto now = manager_now();
    ListLocks all;
    all.limit = 10'000;
    const auto page = manager_->list(all);
    if (!page) return fail_unless_storage_failed(when, page.error());
    if (auto wrong = mirror_.same_holders(*page, now)) return fail(when + ": " + *wrong);
    if (watched() && !life_.after_restart) complain(watcher_.same(*page));
    const auto sessions = manager_->sessions({});
    if (!sessions) return fail_unless_storage_failed(when, sessions.error());
    if (auto wrong = mirror_.same_sessions(*sessions, now)) return fail(when + ": " + *wrong);
    exclude(*page, when);
    for (const auto& holder : page->locks) {
        if (oracle_.reported_lost.contains(holder.grant)) {
            fail(when + ": grant " + std::to_string(number(holder.grant)) +
                 " is held, and its session was notified that it was lost");
        }
        if (holder.remaining < 0ms) fail(when + ": a negative duration");
    }
}

// Checks S1 on the list of locks alone, without the model.
void World::exclude(const LockPage& page, const std::string& when) {
    const auto covers = [](const Holder& above, const Holder& below) {
        return above.resource == below.resource ||
               (above.subtree && below.resource.starts_with(above.resource + "/"));
    };
    for (const auto& one : page.locks) {
        for (const auto& other : page.locks) {
            if (one.session == other.session || one.permits > 0 || other.permits > 0) continue;
            if (one.mode == Mode::read && other.mode == Mode::read) continue;
            if (covers(one, other)) fail(when + ": S1: " + one.resource + " is held twice");
        }
    }
}

}  // namespace rocklock::simulation
