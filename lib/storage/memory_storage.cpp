// The store in memory: the reference for other stores, and sufficient if the store need not outlive
// its process.
//
// A commit is applied when it is enqueued. To queue it for a leader, as stores on a device do
// (GroupCommit), would cost more than the write.
#include <atomic>
#include <memory>
#include <utility>

#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/mutex.hpp"
#include "storage/memory_image.hpp"
#include "storage/preconditions.hpp"

namespace rocklock {
namespace {

class MemoryStorage final : public Storage {
public:
    explicit MemoryStorage(Clock& clock) : clock_(clock) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        ROCKLOCK_ASSERT(durability != Durability::deferred || verdict == nullptr);
        const MutexLock lock(mutex_);
        const CommitNumber number = ++last_;
        if (closed_.load(std::memory_order_relaxed)) return number;
        if (auto refused = refusal(batch)) {
            if (verdict != nullptr) verdict->refused = std::move(refused);
        } else if (!batch.writes.empty()) {
            image_.apply(batch);
        }
        applied_.store(number, std::memory_order_release);
        return number;
    }
    Result<void> wait(CommitNumber number, Durability /*durability*/) override {
        if (is_applied(number)) return {};
        return closed_error();
    }
    bool done(CommitNumber number, Durability durability) const override {
        return durability == Durability::deferred || is_applied(number) ||
               closed_.load(std::memory_order_acquire);
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
    std::optional<Error> failure() const override {
        if (!closed_.load(std::memory_order_acquire)) return std::nullopt;
        return closed_error();
    }
    bool suspect() const override { return false; }
    Result<void> mark_sound() override { return {}; }
    Result<void> close() override {
        const MutexLock lock(mutex_);
        closed_.store(true, std::memory_order_release);
        return {};
    }

private:
    static Error closed_error() { return {ErrorCode::closing, "the store is closed"}; }

    bool is_applied(CommitNumber number) const {
        return applied_.load(std::memory_order_acquire) >= number;
    }
    // Returns the error with which the batch is refused, or nullopt if it may be applied.
    std::optional<Error> refusal(const Batch& batch) const {
        if (batch.preconditions.empty() && !batch.not_after) return std::nullopt;
        const BootTime now = batch.not_after ? clock_.now().boot : BootTime{};
        auto judged = judge(batch, now, [this](Family family, std::string_view key) {
            return Result(image_.version(family, key));
        });
        return *std::move(judged);
    }

    Clock& clock_;
    mutable MemoryImage image_;
    // Held while a commit is checked and applied.
    Mutex mutex_;
    CommitNumber last_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    // The last commit that was checked, and applied unless it was refused.
    std::atomic<CommitNumber> applied_{0};
    std::atomic<bool> closed_{false};
};

}  // namespace

std::unique_ptr<Storage> make_memory_storage(Clock& clock) {
    return std::make_unique<MemoryStorage>(clock);
}

}  // namespace rocklock
