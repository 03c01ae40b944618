// RetryQueue: fairness under contention.
//
// A write is decided again if its item has changed before the commit. Without further measures, a
// write could lose to others forever. So a write that has lost takes a slot: it waits, in the order
// of arrival, until it owns the buckets of its keys. While a bucket is owned or waited for, no new
// write of its keys begins without a slot. Writes that began earlier can still win against the
// owner, but each of them only a few times; then the owner is alone.
//
// Keys are mapped to buckets by their hash, so different keys may share a bucket. Slots only
// improve fairness: correctness does not depend on them, and they protect no data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/parker.hpp"

namespace rocklock::table {

// Threads: thread-safe.
class RetryQueue {
public:
    // Owns buckets of the queue and leaves them in its destructor.
    class Slot {
    public:
        Slot(RetryQueue& queue, std::vector<std::size_t> buckets)
            : retry_queue_(queue), buckets_(std::move(buckets)) {}
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        ~Slot();

    private:
        RetryQueue& retry_queue_;
        std::vector<std::size_t> buckets_;
    };

    static std::size_t index_of(std::string_view key);

    // Returns whether a write owns or waits for one of the buckets.
    bool is_contended(const std::vector<std::size_t>& buckets) const;

    // Waits until the caller owns all buckets. They may be in any order and contain duplicates.
    void take(std::vector<std::size_t> buckets, std::optional<Slot>& slot);

private:
    static constexpr std::size_t bucket_count = 256;

    struct Bucket {
        // The number of writes that own the bucket or wait for it.
        std::atomic<std::uint32_t> present{0};
        Mutex mutex;
        bool taken ROCKLOCK_GUARDED_BY(mutex) = false;
        // Only the first waiter is woken: waking many threads costs more than their writes.
        std::deque<Parker*> waiting ROCKLOCK_GUARDED_BY(mutex);
    };

    static void wait_at(Bucket& bucket);
    static void leave(Bucket& bucket);

    std::array<Bucket, bucket_count> buckets_;
};

}  // namespace rocklock::table
