// A store whose callers let others go first now and then: on few processors, threads that never
// wait would meet too seldom.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <rocklock/storage.hpp>

namespace rocklock::proof {

inline void jostle() {
    thread_local std::minstd_rand random(
        static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())));
    if (random() % 3 == 0) std::this_thread::yield();
}

// A moment of it. One that reads several keys may be jostled in between.
class JostledSnapshot final : public Snapshot {
public:
    explicit JostledSnapshot(std::unique_ptr<Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        jostle();
        return snapshot_->get(family, key);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return snapshot_->scan(family, first, last);
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return snapshot_->scan_back(family, first, last);
    }

private:
    std::unique_ptr<Snapshot> snapshot_;
};

class JostledStorage final : public Storage {
public:
    explicit JostledStorage(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        jostle();
        const auto number = storage_->enqueue(std::move(batch), durability, verdict);
        jostle();
        return number;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        auto waited = storage_->wait(number, durability);
        jostle();
        return waited;
    }
    bool done(CommitNumber number, Durability durability) const override {
        return storage_->done(number, durability);
    }
    bool syncs() const override { return storage_->syncs(); }
    std::unique_ptr<Snapshot> snapshot() const override {
        jostle();
        return std::make_unique<JostledSnapshot>(storage_->snapshot());
    }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        auto value = storage_->get(family, key);
        jostle();
        return value;
    }
    std::optional<Error> failure() const override { return storage_->failure(); }
    bool suspect() const override { return storage_->suspect(); }
    Result<void> mark_sound() override { return storage_->mark_sound(); }
    Result<void> close() override { return storage_->close(); }

private:
    std::unique_ptr<Storage> storage_;
};

}  // namespace rocklock::proof
