// Observes etcd for the metrics of a node: whether it answers, the size of its database, and how
// far the copy of this node is behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"

namespace rocklock {

// Periodically reads the number of the last commit from etcd, and observes when the copy contains
// this commit.
//
// Threads:  thread-safe, except for measure() and observe_copy(). Has a thread of its own after
//           start().
// Lifetime: borrows the client and the copy.
class EtcdMonitor {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct State {
        // Whether etcd has answered the last request. The other members are from the last answer.
        bool answers = false;
        // The age of that answer; nullopt if there was none.
        std::optional<std::chrono::nanoseconds> age;
        // The size of the database of the member that answered, and the part of it that is used.
        std::uint64_t bytes = 0;
        std::uint64_t used_bytes = 0;
        // The number of the last commit of the store; 0 if there is no store.
        std::uint64_t commit = 0;
        // The number of commits up to `commit` that the copy does not contain now.
        std::uint64_t missing_commits = 0;
        // The time that passed after a measurement until the copy contained its last commit. If the
        // copy does not contain it yet, the time since then.
        std::chrono::nanoseconds delay{0};
    };

    EtcdMonitor(etcd::Client& client, etcd::Layout layout, const etcd::Copy& copy)
        : client_(client), layout_(std::move(layout)), copy_(copy) {}
    EtcdMonitor(const EtcdMonitor&) = delete;
    EtcdMonitor& operator=(const EtcdMonitor&) = delete;

    // Begins to measure every 5 s on a thread.
    void start();

    State state(Time now) const;

    // Asks etcd, and waits up to 4 s for its answers; 2 s if a stop is requested meanwhile.
    void measure(const std::stop_token& stop);
    // Checks whether the copy contains the commit that it is expected to contain. Returns true if
    // it does.
    bool observe_copy(Time now);

private:
    // A commit that etcd had, and that the copy did not contain.
    struct Expected {
        std::uint64_t commit = 0;
        Time since{};
    };

    void run(const std::stop_token& stop);

    etcd::Client& client_;
    const etcd::Layout layout_;
    const etcd::Copy& copy_;
    mutable Mutex mutex_;
    State measured_ ROCKLOCK_GUARDED_BY(mutex_);
    Time measured_at_ ROCKLOCK_GUARDED_BY(mutex_);
    std::optional<Expected> expected_ ROCKLOCK_GUARDED_BY(mutex_);
    CondVar stopped_;
    std::jthread thread_;
};

}  // namespace rocklock
