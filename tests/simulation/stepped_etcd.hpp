// A storage on a fake etcd, of which the simulation determines the progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/storage/etcd.hpp>

#include "simulation/stepped_storage.hpp"
#include "storage/etcd/client/layout.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::simulation {

inline constexpr const char* etcd_prefix = "/rocklock/";

// The store of a manager. Commits stay in a queue until the simulation writes them.
class SteppedEtcd final : public SteppedStorage {
public:
    // Becomes the manager and opens the store. `cluster` must outlive the object.
    static Result<std::unique_ptr<SteppedEtcd>> open(testing::FakeCluster& cluster,
                                                     const std::string& node, Clock& clock,
                                                     const EtcdOptions& options);

    CommitNumber enqueue(Batch batch, Durability durability, rocklock::Verdict* verdict) override;
    Result<void> wait(CommitNumber number, Durability durability) override;
    bool done(CommitNumber number, Durability durability) const override;
    bool must_confirm() const override { return true; }
    std::unique_ptr<Snapshot> snapshot() const override { return store_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return store_->get(family, key);
    }
    std::optional<Error> failure() const override;
    bool suspect() const override { return store_->suspect(); }
    bool restored() const override { return store_->restored(); }
    Result<void> mark_sound() override { return store_->mark_sound(); }
    Result<void> close() override { return {}; }

    // Writes the first `count` queued commits in one transaction, or fewer if they do not fit.
    Result<void> write_next(std::size_t count) override;
    Result<void> sync() override { return pump(); }
    Result<void> pump() override;
    CommitNumber last() const override { return last_; }

    // Resigns as the manager.
    void resign();
    etcd::Epoch epoch() const { return epoch_; }
    // Returns the number of the last commit that etcd has executed, which this manager may not
    // know. It no longer changes after another node has become the manager.
    CommitNumber executed_through() const;
    // Sets a function that is called once, before a transaction is sent again.
    void before_retry(std::function<void()> act) { *before_retry_ = std::move(act); }

private:
    class Connection;
    struct Queued {
        Batch batch;
        Durability durability;
        rocklock::Verdict* verdict;
    };

    using Act = std::shared_ptr<std::function<void()>>;
    SteppedEtcd(testing::FakeCluster& cluster, std::unique_ptr<Storage> store, Act before_retry);
    std::size_t fitting(std::size_t count) const;
    std::uint64_t last_number() const;

    testing::FakeCluster& cluster_;
    std::unique_ptr<Storage> store_;
    etcd::Epoch epoch_ = 0;
    std::vector<Queued> queue_;
    CommitNumber last_ = 0;
    CommitNumber written_ = 0;
    // The commits of which the outcome is unknown, and the number that they have in etcd.
    CommitNumber unknown_through_ = 0;
    std::uint64_t unknown_number_ = 0;
    const Act before_retry_;
};

}  // namespace rocklock::simulation
