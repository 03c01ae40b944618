// The storage of a simulated world.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <rocklock/testing/faulty_storage.hpp>

namespace rocklock::simulation {

using testing::FaultyStorage;

// The storage that the manager uses. It writes and syncs only when the simulation requests this,
// except while a manager is being opened. After `dead` is set, it does not respond.
class SteppedStorage final : public Storage {
public:
    explicit SteppedStorage(std::unique_ptr<FaultyStorage> disk) : disk_(std::move(disk)) {}

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

    FaultyStorage& disk() { return *disk_; }
    const FaultyStorage& disk() const { return *disk_; }
    CommitNumber last() const { return last_; }

    bool obliging = false;
    bool dead = false;

private:
    std::unique_ptr<FaultyStorage> disk_;
    CommitNumber last_ = 0;
};

}  // namespace rocklock::simulation
