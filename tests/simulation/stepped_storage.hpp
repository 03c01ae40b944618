// The storages of a simulated world.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <rocklock/testing/faulty_storage.hpp>

namespace rocklock::simulation {

using testing::FaultyStorage;

// A storage that a manager uses. It writes and syncs only when the simulation requests this, except
// while a manager is being opened. After `dead` is set, it does not respond.
class SteppedStorage : public Storage {
public:
    // Writes the first `count` queued commits.
    virtual Result<void> write_next(std::size_t count) = 0;
    // Syncs all written commits.
    virtual Result<void> sync() = 0;
    // Writes and syncs all queued commits.
    virtual Result<void> pump() = 0;
    // Returns the number of the last commit.
    virtual CommitNumber last() const = 0;

    bool obliging = false;
    bool dead = false;
    // While this is true, nothing waits for a confirmation. The simulation then examines a manager
    // without an effect on its storage.
    bool examined = false;
};

// A storage on a simulated disk.
class SteppedDisk final : public SteppedStorage {
public:
    explicit SteppedDisk(std::unique_ptr<FaultyStorage> disk) : disk_(std::move(disk)) {}

    CommitNumber enqueue(Batch batch, Durability durability, rocklock::Verdict* verdict) override {
        if (dead) return last_;
        last_ = disk_->enqueue(std::move(batch), durability, verdict);
        return last_;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        if (dead) return Error(ErrorCode::io_error, "the process is dead");
        if (obliging) {
            if (auto pumped = disk_->pump(); !pumped) return pumped;
        }
        return disk_->wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return !dead && disk_->done(number, durability);
    }
    std::unique_ptr<Snapshot> snapshot() const override { return disk_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return disk_->get(family, key);
    }
    std::optional<Error> failure() const override {
        if (dead) return Error(ErrorCode::io_error, "the process is dead");
        return disk_->failure();
    }
    bool suspect() const override { return disk_->suspect(); }
    Result<void> mark_sound() override { return disk_->mark_sound(); }
    Result<void> close() override { return dead ? Result<void>() : disk_->close(); }

    Result<void> write_next(std::size_t count) override { return disk_->write_next(count); }
    Result<void> sync() override { return disk_->sync(); }
    Result<void> pump() override { return disk_->pump(); }
    CommitNumber last() const override { return last_; }

    FaultyStorage& disk() { return *disk_; }

private:
    std::unique_ptr<FaultyStorage> disk_;
    CommitNumber last_ = 0;
};

}  // namespace rocklock::simulation
