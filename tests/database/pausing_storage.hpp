// A storage that can stop a writer of items at two critical points. One point is after the decision
// and before its commit is queued. The other is after the commit and before any action that follows
// it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <rocklock/storage/storage.hpp>

#include "support/forwarding_storage.hpp"

namespace rocklock::testing {

class PausingStorage final : public ForwardingStorage {
public:
    using ForwardingStorage::ForwardingStorage;

    // `run` is called once, before the next commit that writes to `family` is queued.
    void meanwhile(std::function<void()> run, Family family = Family::items) {
        meanwhile_ = std::move(run);
        awaited_family_ = family;
    }
    // `run` is called once, immediately after the next commit that writes an item.
    void afterwards(std::function<void()> run) { afterwards_ = std::move(run); }

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        const auto writes = [&](Family family) {
            return std::any_of(batch.writes.begin(), batch.writes.end(),
                               [&](const Write& write) { return write.family == family; });
        };
        const bool writes_item = writes(Family::items);
        if (meanwhile_ && writes(awaited_family_)) std::exchange(meanwhile_, nullptr)();
        const auto number = storage().enqueue(std::move(batch), durability, verdict);
        if (writes_item && afterwards_) awaited_ = number;
        return number;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        auto done = storage().wait(number, durability);
        if (done && awaited_ == number) {
            awaited_.reset();
            std::exchange(afterwards_, nullptr)();
        }
        return done;
    }

private:
    std::function<void()> meanwhile_;
    Family awaited_family_ = Family::items;
    std::function<void()> afterwards_;
    std::optional<CommitNumber> awaited_;
};

}  // namespace rocklock::testing
