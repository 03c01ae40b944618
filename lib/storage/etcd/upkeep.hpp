// Keeps the database of etcd small, observes its size, and finds etcd's leader.
//
// etcd keeps earlier values of all keys until its history is compacted. Each commit adds to the
// history, so that the database would reach its quota within minutes under load. The manager
// therefore compacts the history periodically: it writes its key `lead` again, and one period later
// it compacts at the revision of that write. Standbys have one period to apply the changes before
// that revision. Because that revision changes only `lead`, no deletion of a value is removed with
// it (apply_changes.cpp).
//
// If the database nevertheless exceeds its quota, etcd refuses all commits, including releases. The
// store therefore accepts no growth above 85 percent of the quota.
//
// The manager sends its transactions to etcd's leader, to which any other member would forward
// them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/leadership.hpp"

namespace rocklock::etcd {

// Returns the error of a store whose database has exceeded its quota.
Error quota_exceeded();

// Threads:  thread-safe, except for start() and step().
// Lifetime: the references must outlive the object.
class Upkeep {
public:
    struct Settings {
        // The period of the compaction; 0 means that there is none.
        std::chrono::milliseconds compaction_period{30'000};
        // The compaction is early if this number of bytes was written since the last one.
        std::uint64_t compaction_bytes = std::uint64_t{256} << 20;
        std::chrono::milliseconds measure_period{5'000};
        std::chrono::milliseconds request_timeout{2'000};
        // The time to ask each member whether it is etcd's leader.
        std::chrono::milliseconds leader_timeout{500};
        std::uint64_t quota_bytes = 0;
        std::function<void(const EtcdSpace&)> on_space_changed;
    };

    Upkeep(Client& client, Leadership& leadership, Settings settings);
    Upkeep(const Upkeep&) = delete;
    Upkeep& operator=(const Upkeep&) = delete;
    ~Upkeep() { stop(); }

    // Starts a thread that calls step() every second. This node must be the manager.
    void start();
    // Ends the thread, and waits for it.
    void stop();

    // Counts the bytes of a commit.
    void wrote(std::uint64_t bytes) { written_ += bytes; }

    // Finds etcd's leader, measures the database and compacts its history, if it is time. Errors of
    // etcd are ignored: the actions are repeated later.
    void step(std::chrono::steady_clock::time_point now);

    // Returns the last measurement.
    EtcdSpace space() const;
    bool accepts_growth() const { return !full_.load(std::memory_order_relaxed); }
    // Returns the error for a request that is refused because accepts_growth() is false.
    Error growth_refusal() const;

private:
    void run();
    void measure();
    void compact();

    Client& client_;
    Leadership& leadership_;
    const Settings settings_;
    std::atomic<std::uint64_t> written_{0};
    std::atomic<bool> full_{false};
    // The revision of the last write of `lead`, at which the next compaction compacts.
    std::optional<Revision> compact_at_;
    std::uint64_t written_at_compaction_ = 0;
    std::chrono::steady_clock::time_point compacted_;
    std::optional<std::chrono::steady_clock::time_point> measured_;
    mutable Mutex mutex_;
    CondVar stopping_;
    bool stopped_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    EtcdSpace space_ ROCKLOCK_GUARDED_BY(mutex_);
    std::thread thread_;
};

}  // namespace rocklock::etcd
