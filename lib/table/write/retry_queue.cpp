#include "table/write/retry_queue.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.hpp"

namespace rocklock::table {

RetryQueue::Slot::~Slot() {
    for (const std::size_t bucket : buckets_) leave(retry_queue_.buckets_[bucket]);
}

std::size_t RetryQueue::index_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) % bucket_count;
}

bool RetryQueue::is_contended(const std::vector<std::size_t>& buckets) const {
    return std::any_of(buckets.begin(), buckets.end(), [this](std::size_t bucket) {
        return buckets_[bucket].present.load(std::memory_order_relaxed) > 0;
    });
}

void RetryQueue::take(std::vector<std::size_t> buckets, std::optional<Slot>& slot) {
    // All callers acquire buckets in ascending order, which prevents deadlocks.
    ROCKLOCK_ASSERT(!slot && !buckets.empty());
    std::sort(buckets.begin(), buckets.end());
    buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
    for (const std::size_t bucket : buckets) wait_at(buckets_[bucket]);
    slot.emplace(*this, std::move(buckets));
}

void RetryQueue::wait_at(Bucket& bucket) {
    bucket.present.fetch_add(1, std::memory_order_relaxed);
    Parker parker;
    {
        const MutexLock lock(bucket.mutex);
        if (!std::exchange(bucket.taken, true)) {
            ROCKLOCK_ASSERT(bucket.waiting.empty());
            return;
        }
        bucket.waiting.push_back(&parker);
    }
    parker.park();
}

// Hands the bucket over to the first waiter without releasing it, so that no other caller gets in
// between.
void RetryQueue::leave(Bucket& bucket) {
    Parker* next = nullptr;
    {
        const MutexLock lock(bucket.mutex);
        ROCKLOCK_ASSERT(bucket.taken);
        const auto before = bucket.present.fetch_sub(1, std::memory_order_relaxed);
        ROCKLOCK_ASSERT(before > bucket.waiting.size());
        if (bucket.waiting.empty()) {
            bucket.taken = false;
            return;
        }
        next = bucket.waiting.front();
        bucket.waiting.pop_front();
    }
    next->unpark(1);
}

}  // namespace rocklock::table
