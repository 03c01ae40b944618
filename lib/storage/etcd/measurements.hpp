// Measurements of a store on etcd in this process, for its metrics.
//
// They continue while the process has other roles, and while the store is closed and opened again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <rocklock/histogram.hpp>

#include "base/timings.hpp"

namespace rocklock::etcd {

// Threads: thread-safe, without a mutex.
class Measurements {
public:
    // The counters at one moment.
    struct Counts {
        // The durations of all transactions, also of those whose outcome is unknown.
        Histogram durations{histogram_bounds::calls};
        std::uint64_t writes = 0;
        std::uint64_t retries = 0;
        std::uint64_t unknown_outcomes = 0;
        std::uint64_t terms = 0;
        std::int64_t epoch = 0;
    };

    // A transaction has ended. `duration` includes all attempts.
    void add_transaction(std::chrono::nanoseconds duration) { durations_.add(duration); }
    // A transaction with this number of writes and deletions, without the commit record, was
    // executed.
    void add_writes(std::uint64_t count) { add(writes_, count); }
    // A transaction was sent again, because etcd did not answer.
    void add_retry() { add(retries_, 1); }
    // etcd has not answered within the timeout, so it is unknown whether a transaction was
    // executed.
    void add_unknown_outcome() { add(unknown_outcomes_, 1); }
    // This process has become the manager with the epoch, and serves requests.
    void add_term(std::int64_t epoch) {
        epoch_.store(epoch, std::memory_order_relaxed);
        add(terms_, 1);
    }

    // Returns the durations of the transactions.
    Histogram durations() const { return durations_.snapshot(); }
    Counts counts() const {
        Counts counts;
        counts.durations = durations_.snapshot();
        counts.writes = writes_.load(std::memory_order_relaxed);
        counts.retries = retries_.load(std::memory_order_relaxed);
        counts.unknown_outcomes = unknown_outcomes_.load(std::memory_order_relaxed);
        counts.terms = terms_.load(std::memory_order_relaxed);
        counts.epoch = epoch_.load(std::memory_order_relaxed);
        return counts;
    }

private:
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
        counter.fetch_add(count, std::memory_order_relaxed);
    }

    Timings durations_;
    std::atomic<std::uint64_t> writes_{0};
    std::atomic<std::uint64_t> retries_{0};
    std::atomic<std::uint64_t> unknown_outcomes_{0};
    std::atomic<std::uint64_t> terms_{0};
    // The epoch of the last term of this process; 0 before the first one.
    std::atomic<std::int64_t> epoch_{0};
};

}  // namespace rocklock::etcd
