// The store in memory: the reference for other stores, and sufficient if the store need not outlive
// its process.
#include <memory>

#include <rocklock/storage/storage.hpp>

#include "storage/group_commit.hpp"
#include "storage/memory_image.hpp"

namespace rocklock {
namespace {

class MemoryEngine final : public Engine {
public:
    explicit MemoryEngine(MemoryImage& image) : image_(image) {}

    Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) override {
        return image_.version(family, key);
    }
    Result<void> write(std::span<Batch* const> batches, bool) override {
        image_.apply(batches);
        return {};
    }
    Result<void> sync() override { return {}; }
    void failed(const Error&) override {}

private:
    MemoryImage& image_;
};

class MemoryStorage final : public Storage {
public:
    explicit MemoryStorage(Clock& clock) : group_(engine_, clock, true) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        return group_.enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        return group_.wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return group_.done(number, durability);
    }
    bool syncs() const override { return false; }
    std::unique_ptr<Snapshot> snapshot() const override { return image_.snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return image_.get(family, key);
    }
    CachedValue get_cached(Family family, std::string_view key,
                           std::size_t max_bytes) const override {
        auto value = image_.get(family, key);
        if (value && value->size() > max_bytes) return {};
        return {true, std::move(value)};
    }
    std::optional<Error> failure() const override { return group_.failure(); }
    bool suspect() const override { return false; }
    Result<void> mark_sound() override { return {}; }
    Result<void> close() override { return group_.close(); }

private:
    mutable MemoryImage image_;
    MemoryEngine engine_{image_};
    GroupCommit group_;
};

}  // namespace

std::unique_ptr<Storage> make_memory_storage(Clock& clock) {
    return std::make_unique<MemoryStorage>(clock);
}

}  // namespace rocklock
