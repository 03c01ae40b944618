// A storage that forwards every call to another storage. A derived class overrides some of the
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/storage/storage.hpp>

namespace rocklock::testing {

class ForwardingStorage : public Storage {
public:
    explicit ForwardingStorage(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        return storage_->enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        return storage_->wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return storage_->done(number, durability);
    }
    bool syncs() const override { return storage_->syncs(); }
    bool must_confirm() const override { return storage_->must_confirm(); }
    std::unique_ptr<Snapshot> snapshot() const override { return storage_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return storage_->get(family, key);
    }
    CachedValue get_cached(Family family, std::string_view key, std::size_t most) const override {
        return storage_->get_cached(family, key, most);
    }
    std::optional<Error> failure() const override { return storage_->failure(); }
    bool accepts_growth() const override { return storage_->accepts_growth(); }
    Error growth_refusal() const override { return storage_->growth_refusal(); }
    void set_reserve_bytes(std::uint64_t bytes) override { storage_->set_reserve_bytes(bytes); }
    bool congested() const override { return storage_->congested(); }
    bool suspect() const override { return storage_->suspect(); }
    bool restored() const override { return storage_->restored(); }
    Result<void> mark_sound() override { return storage_->mark_sound(); }
    Result<void> close() override { return storage_->close(); }

protected:
    Storage& storage() const { return *storage_; }

private:
    const std::unique_ptr<Storage> storage_;
};

// A snapshot that forwards every call to another snapshot.
class ForwardingSnapshot : public Snapshot {
public:
    explicit ForwardingSnapshot(std::unique_ptr<Snapshot> snapshot)
        : snapshot_(std::move(snapshot)) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return snapshot_->get(family, key);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return snapshot_->scan(family, first, last);
    }
    std::unique_ptr<Cursor> scan_once(Family family, std::string_view first,
                                      std::string_view last) const override {
        return snapshot_->scan_once(family, first, last);
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return snapshot_->scan_back(family, first, last);
    }

private:
    const std::unique_ptr<Snapshot> snapshot_;
};

}  // namespace rocklock::testing
