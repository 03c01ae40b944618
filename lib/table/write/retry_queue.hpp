// A queue for writes under contention, which ensures that every write is completed eventually.
//
// A write is decided again if its item has changed before the commit. Without further measures,
// other writes could cause this any number of times. Therefore, a write whose commit was refused
// repeatedly (see TableStore::commit_decision()) takes a slot: it waits, in the order of arrival,
// until it owns the buckets of its keys. While a write owns a bucket or waits for it, no new write
// of the keys of this bucket begins without a slot.
//
// A write that began earlier, without a slot, can still commit before the owner. It can do so only
// once, because it is then complete. When all such writes are complete, only the owner writes the
// keys.
//
// Keys are mapped to buckets by their hash, so different keys may share a bucket. Correctness does
// not depend on slots, and slots protect no data.
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
    // Owns buckets of the queue. The destructor gives them to the next writes.
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

    // Returns whether a write owns one of the buckets or waits for it.
    bool is_contended(const std::vector<std::size_t>& buckets) const;

    // Waits until the caller owns all buckets. `buckets` may be in any order and contain
    // duplicates.
    void take(std::vector<std::size_t> buckets, std::optional<Slot>& slot);

private:
    static constexpr std::size_t bucket_count = 256;

    struct Bucket {
        // The number of writes that own the bucket or wait for it.
        std::atomic<std::uint32_t> present{0};
        Mutex mutex;
        bool taken ROCKLOCK_GUARDED_BY(mutex) = false;
        // Only the first waiter is woken, because waking many threads takes longer than their
        // writes.
        std::deque<Parker*> waiting ROCKLOCK_GUARDED_BY(mutex);
    };

    static void wait_at(Bucket& bucket);
    static void leave(Bucket& bucket);

    std::array<Bucket, bucket_count> buckets_;
};

}  // namespace rocklock::table
