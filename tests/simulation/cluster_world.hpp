// A simulated world with several managers, one after the other, on one fake etcd.
//
// Each node has a clock with another origin, and another boot id. A manager can be killed, paused
// or closed, and its lease in etcd can end although it is running. Another node, or the same one,
// then takes over. A manager that was paused continues later, without the knowledge of its
// successor: it decides, answers and commits, and none of this may have an effect.
//
// The checks are those of World, which hold across all managers, and in addition:
//
//     C1  the commits form one sequence, in which each belongs to the manager of its time
//     C2  a replaced manager answers no request that it has received after its replacement
//     C3  no acknowledged change is lost
//     C4  no guarded write is committed after a newer grant was acknowledged
//     C5  no lease ends before the clock of its holder says so (T1 and T6 of World)
//     C6  tokens rise, and repeated requests get the same grants (the model of World)
//     C7  the copy of a manager is equal to the values in etcd
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/stepped_etcd.hpp"
#include "simulation/world_state.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::simulation {

using testing::EtcdFault;
using testing::EtcdRequest;
using testing::FakeCluster;

// The clock of a node: that of the clients, with other origins.
class NodeClock final : public Clock {
public:
    NodeClock(Clock& truth, std::string boot_id, std::chrono::nanoseconds ahead,
              std::chrono::milliseconds wall_ahead)
        : truth_(truth), boot_id_(std::move(boot_id)), ahead_(ahead), wall_ahead_(wall_ahead) {}

    Instant now() override {
        const auto now = truth_.now();
        return {now.boot + ahead_, now.wall + wall_ahead_};
    }
    std::string boot_id() override { return boot_id_; }
    std::chrono::nanoseconds ahead() const { return ahead_; }
    void reboot(std::string boot_id, BootTime boot) {
        boot_id_ = std::move(boot_id);
        ahead_ = boot - truth_.now().boot;
    }

private:
    Clock& truth_;
    std::string boot_id_;
    std::chrono::nanoseconds ahead_;
    std::chrono::milliseconds wall_ahead_;
};

class ClusterWorld final : public World {
public:
    ClusterWorld(std::uint64_t seed, bool trace, Counts& counts);

private:
    struct Node {
        Node(Clock& truth, const std::string& named, std::chrono::nanoseconds ahead,
             milliseconds wall_ahead)
            : name(named), clock(truth, "boot 1 of " + named, ahead, wall_ahead) {}
        std::string name;
        NodeClock clock;
        std::uint64_t boots = 1;
    };
    // A manager that was replaced and does not know it yet. Its storage must outlive it.
    struct Replaced {
        std::unique_ptr<SteppedStorage> storage;
        std::unique_ptr<LockManager> manager;
        // The answers that were expected when it was replaced.
        ModelMirror mirror;
        std::uint64_t life = 0;
        std::size_t node = 0;
        std::chrono::nanoseconds ahead{0};
        // Its last request before the replacement.
        Ticket last{};
        // The commits that the decisions on its requests need, and the last commit that was made.
        std::map<Ticket, CommitNumber> decided;
        CommitNumber through = 0;
    };
    // A recovery by a node that may have failed to become the manager afterwards.
    struct Opening {
        Recovery recovery;
        std::unique_ptr<SteppedStorage> failed;
    };
    enum class Leaving : std::uint8_t { killed, paused, closed };
    // A grant that a client knows, and the revision of etcd at that time.
    struct KnownGrant {
        std::string resource;
        SessionId session;
        Token token{};
        etcd::Revision at = 0;
    };
    // A guarded write.
    struct Guarded {
        std::string resource;
        SessionId session;
        Token token{};
        rocklock::Verdict verdict{};
    };

    // ---- Setup ----

    void open_first() override;
    void bury() override;
    void bury_replaced();
    SteppedEtcd& etcd() { return static_cast<SteppedEtcd&>(*storage_); }

    // ---- Steps ----

    void step() override;
    void plan_failure() override;
    void quiet() override;
    void advance(std::chrono::nanoseconds by) override;
    void renew_lead();
    void end_lead();
    void apply_late();
    void compact();
    // A commit of the manager whose first attempt is not answered. Another node takes over before
    // the second attempt.
    void replace_during_commit();
    // A guarded write of the item that a client's lock protects.
    void write_item(LockManager& manager, SteppedStorage& storage);
    // A batch that exceeds a transaction of etcd.
    void write_large_batch();

    // ---- The replaced manager ----

    void step_replaced();
    void send_to_replaced();
    void ask_replaced();
    void answered_late(std::uint64_t life, Ticket own, const Result<Answer>& answer) override;
    void heard_late(std::uint64_t life, const LostNotice& notice) override;
    void judge_late_answer(Ticket own, const Result<Answer>& answer);

    // ---- Takeovers ----

    void crash() override;
    void take_over(Leaving leaving);
    Replaced leave(Leaving leaving);
    void open_successor(Leaving leaving, std::size_t old_node);
    Result<void> try_open(Node& node);
    std::vector<Recovery> executed_recoveries() const;
    void plan_fault_of_opening();

    // ---- Checks ----

    void finish() override;
    void promised(const Grant& grant) override;
    void check_chain();
    void check_copy();
    void check_large_batches();
    void check_writes();

    FakeCluster cluster_;
    std::deque<Node> nodes_;
    std::size_t current_ = 0;
    std::optional<Replaced> replaced_;
    // The attempts to open the store since the last manager.
    std::vector<Opening> openings_;
    std::vector<KnownGrant> known_grants_;
    // The position of a write is the version of its value. The storages refer to the verdicts.
    std::deque<Guarded> writes_;
    std::uint64_t large_version_ = 0;
};

}  // namespace rocklock::simulation
