// The crashes of a simulated world, and the checks after them.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "simulation/world_state.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

void World::crash() {
    auto& disk = disk_->disk();
    const bool failed = disk.failure().has_value();
    const auto log_ends = disk.log_ends();
    const auto synced = disk.synced_through();
    const auto log = disk.log();
    // After a power failure the machine reboots. After a failed sync a part of the log may be
    // missing even on the same boot.
    const bool power = !setup_.closures && random_.percent(50);
    const bool forgetful = failed && !power && !setup_.closures && random_.percent(50);
    std::unique_ptr<FaultyStorage> survivor;
    CommitNumber through = synced + log_ends.size();
    std::string how = "killed";
    if (power || forgetful) {
        const auto cut = random_.percent(20) ? 0 : random_.below(log.size() + 1);
        survivor = disk.reopen_after_power_cut(cut);
        through =
            synced + static_cast<CommitNumber>(std::count_if(log_ends.begin(), log_ends.end(),
                                                             [&](auto end) { return end <= cut; }));
        how = "power cut at byte " + std::to_string(cut) + " of " + std::to_string(log.size());
        if (cut != 0 && std::find(log_ends.begin(), log_ends.end(), cut) == log_ends.end()) {
            count_kind("crash: torn record");
        }
    } else {
        survivor = disk.reopen_after_kill();
    }
    count_kind(std::string("crash: ") + (power ? "power cut" : "killed") +
               (failed ? " after a failure" : ""));
    if (through < storage_->last()) count_kind("crash: commits were lost");
    const bool suspect = survivor->suspect();
    // The promises to the clients are compared with the state before the crash, so it is copied
    // before the model is replayed.
    const auto before = mirror_.model();
    bury();
    use_disk(std::move(survivor));
    const bool new_boot = power || (!setup_.closures && random_.percent(5));
    const auto down = milliseconds{random_.below(1500)};
    if (new_boot) {
        ++life_.boots;
        clock_.reboot("boot " + std::to_string(life_.boots),
                      BootTime{std::chrono::seconds{10}} + down);
        for (auto& client : clients_) client.valid_until = {};
        for (auto& call : network_.waiting) call.sent = clock_.now().boot;
        count_kind("crash: another boot");
    } else {
        clock_.advance(down);
    }
    const bool exact = !new_boot && !suspect;
    say(how + ", commits up to " + std::to_string(through) + " of " +
        std::to_string(last_of_life()) + " survive, " +
        (exact ? "same boot" : "leases begin anew"));
    rewind(through, {{manager_now(), exact}});
    open();
    if (verdict_.wrong) return;
    life_.failed_closed = false;
    network_.in_flight.clear();
    storage_->obliging = true;
    life_.after_restart = true;
    compare("after the crash");
    remember(before, !power && !forgetful);
    watch();
    life_.after_restart = false;
    storage_->obliging = false;
    life_.after_crash = true;
}

CommitNumber World::last_of_life() const { return log_.empty() ? 0 : log_.back().commit; }

// Replays the events that survived, and the recoveries, on a new model. The commits of the
// restarted manager are counted from 0.
void World::rewind(CommitNumber through, const std::vector<Recovery>& recoveries) {
    std::vector<Happened> survived;
    for (auto& happened : log_) {
        if (happened.commit > through) break;
        happened.commit = 0;
        survived.push_back(happened);
    }
    for (const Recovery& recovery : recoveries) {
        Happened restart;
        restart.kind = Happened::Kind::restart;
        restart.now = recovery.now;
        restart.exact = recovery.exact;
        restart.skip_to = mirror_.model().last_token();
        survived.push_back(restart);
    }
    log_ = std::move(survived);
    ReferenceModel again;
    again.set_priority_step(priority_step);
    // The events contain real ids of grants. In the mirror's numbers they are the same as before.
    mirror_.replay_into(again, [&](const auto& apply) {
        for (const auto& happened : log_) {
            if (happened.kind == Happened::Kind::restart) {
                again.restart(happened.now, happened.exact);
                again.skip_tokens(happened.skip_to);
            } else if (happened.kind == Happened::Kind::active) {
                again.seen_active(happened.fresh, happened.now.boot);
            } else {
                apply(happened.event, happened.ticket, happened.fresh, happened.now);
            }
        }
    });
    mirror_.forget_owed();
}

// D1: a grant that was acknowledged and not ended by any decision is still held, on the same boot
// for at least as long as promised.
void World::remember(const ReferenceModel& before, bool all_written_survive) {
    const auto now = clock_.now();
    const auto& after = mirror_.model();
    for (const auto id : oracle_.acknowledged) {
        const auto* was = before.grant(mirror_.to_model(id));
        if (was == nullptr || was->outcome != Outcome::held) continue;
        const auto* is = after.grant(mirror_.to_model(id));
        if (is == nullptr)
            return fail("D1: the acknowledged grant " + std::to_string(number(id)) +
                        " is forgotten");
        if (is->outcome != Outcome::held) {
            return fail("D1: the acknowledged grant " + std::to_string(number(id)) + " has ended");
        }
        if (number(is->token) < number(was->token) && oracle_.acknowledged_tokens.contains(id)) {
            return fail("D1: a token went back");
        }
    }
    // Sessions and renewals are only written, not synced, so a power failure may lose them.
    if (!all_written_survive) return;
    for (const auto& client : clients_) {
        if (!client.session || now.boot >= client.valid_until) continue;
        const auto* session = after.session(*client.session);
        const auto* once = before.session(*client.session);
        if (once == nullptr || once->ended) continue;
        if (session == nullptr || session->ended ||
            to_client(*session->deadline) < client.valid_until) {
            return fail("T1: the session of " + client.principal +
                        " was promised more than it has");
        }
    }
}

}  // namespace rocklock::simulation
