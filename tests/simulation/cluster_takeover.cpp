// The takeovers of a simulated cluster.
#include <algorithm>
#include <utility>

#include "lock/records/records.hpp"
#include "simulation/cluster_world.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::seconds lead_ttl{3};

}  // namespace

void ClusterWorld::open_first() {
    open_successor(Leaving::killed, random_.below(nodes_.size()));
    openings_.clear();
}

void ClusterWorld::bury() {
    World::bury();
    bury_replaced();
}

void ClusterWorld::bury_replaced() {
    if (!replaced_) return;
    replaced_->life = 0;
    replaced_->storage->dead = true;
    replaced_->manager.reset();
    replaced_.reset();
}

void ClusterWorld::crash() {
    if (storage_->failure()) {
        count_kind("cluster: the manager failed");
        return take_over(random_.percent(30) ? Leaving::paused : Leaving::killed);
    }
    const auto dice = random_.below(100);
    if (dice < 55) return take_over(Leaving::paused);
    take_over(dice < 80 ? Leaving::killed : Leaving::closed);
}

// The manager ends or is paused, and another node takes over.
void ClusterWorld::take_over(Leaving leaving) {
    if (leaving == Leaving::closed) {
        if (!storage_->pump()) return;
        manager_->deliver_done();
        if (verdict_.wrong) return;
    }
    count_kind(std::string("cluster: ") + (leaving == Leaving::paused   ? "paused"
                                           : leaving == Leaving::killed ? "killed"
                                                                        : "closed"));
    // The promises to the clients are compared with the state before.
    const auto before = mirror_.model();
    Replaced old = leave(leaving);
    open_successor(leaving, old.node);
    if (verdict_.wrong) return;
    old.through = static_cast<SteppedEtcd&>(*old.storage).executed_through();
    if (old.through < last_of_life()) count_kind("cluster: commits were lost");
    say(nodes_[current_].name + " is the manager, commits up to " + std::to_string(old.through) +
        " of " + std::to_string(last_of_life()) + " were made, " +
        (openings_.back().recovery.exact ? "on the same boot" : "with full leases"));
    rewind(old.through, executed_recoveries());
    openings_.clear();
    life_.failed_closed = false;
    network_.in_flight.clear();
    if (leaving == Leaving::paused) replaced_.emplace(std::move(old));
    life_.after_restart = true;
    compare("after the takeover");
    remember(before, true);
    watch();
    life_.after_restart = false;
    if (!storage_->failure()) check_large_batches();
}

// Takes the manager out of the world. If it was paused, it can continue later.
ClusterWorld::Replaced ClusterWorld::leave(Leaving leaving) {
    bury_replaced();
    Replaced old;
    old.life = life_.number;
    old.node = current_;
    old.ahead = ahead_;
    old.last = Ticket{life_.tickets};
    for (const Happened& happened : log_) old.decided[happened.ticket] = happened.commit;
    if (leaving == Leaving::paused) {
        old.mirror = mirror_;
        old.manager = std::move(manager_);
    } else {
        World::bury();
    }
    if (leaving == Leaving::closed) etcd().resign();
    old.storage = std::move(storage_);
    if (random_.percent(50)) end_lead();
    return old;
}

// Tries to open the store until a node has opened it.
void ClusterWorld::open_successor(Leaving leaving, std::size_t old_node) {
    for (int attempts = 0; attempts < 100; ++attempts) {
        while (cluster_.late_requests() > 0 && random_.percent(50)) apply_late();
        const bool other = leaving == Leaving::paused || random_.percent(70);
        current_ = other ? 1 - old_node : old_node;
        Node& node = nodes_[current_];
        if (!other && random_.percent(30)) {
            count_kind("cluster: another boot");
            node.clock.reboot("boot " + std::to_string(++node.boots) + " of " + node.name,
                              BootTime{10s});
        }
        plan_fault_of_opening();
        const auto opened = try_open(node);
        cluster_.node(node.name).plan_none();
        if (opened) return;
        say("opening by " + node.name + ": " + opened.error().message);
        count_kind("cluster: a store was not opened: " +
                   std::string(to_string(opened.error().code)));
        // The lease of the old manager, or that of a failed attempt, may have to end first.
        clock_.advance(random_.percent(50) ? 10ms : milliseconds{lead_ttl} + 10ms);
    }
    fail("no node becomes the manager");
}

Result<void> ClusterWorld::try_open(Node& node) {
    EtcdOptions options;
    options.node = node.name;
    options.lead_ttl = lead_ttl;
    auto opened = SteppedEtcd::open(cluster_, node.name, node.clock, options);
    if (!opened) return std::move(opened).error();
    storage_ = *std::move(opened);
    const auto boot = storage_->get(Family::meta, records::boot_key).value();
    const auto record = boot ? records::decode_boot(*boot) : std::nullopt;
    manager_clock_ = &node.clock;
    ahead_ = node.clock.ahead();
    auto& opening = openings_.emplace_back();
    opening.recovery = {manager_now(), record && record->boot_id == node.clock.boot_id()};
    auto done = open_manager();
    if (!done) {
        storage_->dead = true;
        opening.failed = std::move(storage_);
    }
    return done;
}

// A failed node may have committed its recovery, which is its first commit.
std::vector<World::Recovery> ClusterWorld::executed_recoveries() const {
    std::vector<Recovery> executed;
    for (const Opening& opening : openings_) {
        const auto* failed = static_cast<const SteppedEtcd*>(opening.failed.get());
        if (failed == nullptr || failed->executed_through() > 0) {
            executed.push_back(opening.recovery);
        }
    }
    return executed;
}

void ClusterWorld::plan_fault_of_opening() {
    if (!random_.percent(30)) return;
    auto& node = cluster_.node(nodes_[current_].name);
    for (auto skipped = random_.below(5); skipped > 0; --skipped) {
        node.fail_next({EtcdFault::none, EtcdRequest::txn});
    }
    const auto fault = random_.pick(std::vector{EtcdFault::request_lost, EtcdFault::answer_lost,
                                                EtcdFault::applied_late, EtcdFault::duplicated,
                                                EtcdFault::unreachable});
    node.fail_next({fault, EtcdRequest::txn});
    if (fault != EtcdFault::duplicated && random_.percent(50)) {
        node.fail_next({EtcdFault::io_error, EtcdRequest::txn});
    }
}

}  // namespace rocklock::simulation
