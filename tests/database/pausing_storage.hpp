// A storage under which a writer of items can be stopped where it hurts most: it has decided, and
// its commit is not in the queue yet, or it is committed and nothing was done about that yet.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <rocklock/storage.hpp>

namespace rocklock::testing {

class PausingStorage final : public Storage {
public:
    explicit PausingStorage(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}

    // Called once, before the next commit that writes an item is queued.
    void meanwhile(std::function<void()> run) { meanwhile_ = std::move(run); }
    // Called once, as soon as the next commit that writes an item is done.
    void afterwards(std::function<void()> run) { afterwards_ = std::move(run); }

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        const bool writes_item =
            std::any_of(batch.writes.begin(), batch.writes.end(),
                        [](const Write& write) { return write.family == Family::items; });
        if (writes_item && meanwhile_) std::exchange(meanwhile_, nullptr)();
        const auto number = storage_->enqueue(std::move(batch), durability, verdict);
        if (writes_item && afterwards_) awaited_ = number;
        return number;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        auto done = storage_->wait(number, durability);
        if (done && awaited_ == number) {
            awaited_.reset();
            std::exchange(afterwards_, nullptr)();
        }
        return done;
    }
    bool done(CommitNumber number, Durability durability) const override {
        return storage_->done(number, durability);
    }
    bool syncs() const override { return storage_->syncs(); }
    std::unique_ptr<Snapshot> snapshot() const override { return storage_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return storage_->get(family, key);
    }
    AtHand get_at_hand(Family family, std::string_view key, std::size_t most) const override {
        return storage_->get_at_hand(family, key, most);
    }
    std::optional<Error> failure() const override { return storage_->failure(); }
    bool suspect() const override { return storage_->suspect(); }
    Result<void> mark_sound() override { return storage_->mark_sound(); }
    Result<void> close() override { return storage_->close(); }

private:
    const std::unique_ptr<Storage> storage_;
    std::function<void()> meanwhile_;
    std::function<void()> afterwards_;
    std::optional<CommitNumber> awaited_;
};

}  // namespace rocklock::testing
