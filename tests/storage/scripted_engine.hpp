// An engine for tests of the group commit.
#pragma once

#include <atomic>
#include <functional>
#include <semaphore>
#include <string>

#include "base/assert.hpp"
#include "base/mutex.hpp"
#include "storage/group_commit.hpp"

namespace rocklock::testing {

// Records the calls: "w3" is a write of three batches, "w3s" a write with a sync, "s" a sync alone.
class ScriptedEngine final : public Engine {
public:
    Result<std::optional<std::uint64_t>> version(Family, std::string_view) override {
        if (fail_reads) return Error(ErrorCode::corrupt, "planned");
        return std::optional<std::uint64_t>();
    }
    Result<void> write(std::span<Batch* const> batches, bool sync_too) override {
        note("w" + std::to_string(batches.size()) + (sync_too ? "s" : ""));
        if (on_write) on_write(++writes_);
        if (gate_next.exchange(false)) {
            entered.release();
            leave.acquire();
        }
        if (fail_writes) return Error(ErrorCode::no_space, "planned");
        if (sync_too && fail_syncs) return Error(ErrorCode::io_error, "planned");
        return {};
    }
    Result<void> sync() override {
        note("s");
        if (fail_syncs) return Error(ErrorCode::io_error, "planned");
        return {};
    }
    bool syncs_concurrently() const override { return concurrent; }
    Room room() const override { return limits; }
    bool leaves_deferred() const override { return leaves; }
    void deferred_left() override { ++times_left; }
    void failed(const Error&) override { ++failures; }

    std::string done() const {
        MutexLock lock(mutex_);
        return done_;
    }

    std::atomic<bool> concurrent{false};
    std::atomic<bool> leaves{false};
    std::atomic<int> times_left{0};
    std::atomic<bool> fail_reads{false};
    std::atomic<bool> fail_writes{false};
    std::atomic<bool> fail_syncs{false};
    std::atomic<int> failures{0};
    // If set, the next write signals `entered` and then waits for `leave`.
    std::atomic<bool> gate_next{false};
    std::binary_semaphore entered{0};
    std::binary_semaphore leave{0};

    Room limits;
    // Called with the number of the write, starting at 1.
    std::function<void(int)> on_write;

private:
    void note(const std::string& word) {
        MutexLock lock(mutex_);
        done_ += (done_.empty() ? "" : " ") + word;
    }

    int writes_ = 0;
    mutable Mutex mutex_;
    std::string done_ ROCKLOCK_GUARDED_BY(mutex_);
};

// For other threads than the test's own: Boost.Test is not thread-safe.
inline void must(const Result<void>& result) { ROCKLOCK_ASSERT(result.has_value()); }

inline Batch some_batch() {
    Batch batch;
    batch.writes.push_back({Family::locks, "key", "12345678"});
    return batch;
}

}  // namespace rocklock::testing
