#include "lock/manager/delivery_queue.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace rocklock::manager {

bool DeliveryQueue::begin() {
    if (delivering_) return false;
    delivering_ = true;
    size_at_begin_ = committing_.size();
    return true;
}

void DeliveryQueue::end() {
    ROCKLOCK_ASSERT(delivering_);
    delivering_ = false;
    if (committing_.size() < size_at_begin_) last_group_ = size_at_begin_ - committing_.size();
}

std::uint64_t DeliveryQueue::completed(const Storage& storage) const {
    std::uint64_t waiting = 0;
    while (waiting < committing_.size() &&
           !committing_[committing_.size() - 1 - waiting].dependency.done(storage)) {
        ++waiting;
    }
    return added_ - waiting;
}

std::optional<Delivery> DeliveryQueue::take(const Storage& storage, std::size_t* max_ready) {
    ROCKLOCK_ASSERT(delivering_);
    std::optional<Delivery> delivery;
    if (!ready_.empty() && (max_ready == nullptr || *max_ready > 0)) {
        if (max_ready != nullptr) --*max_ready;
        delivery.emplace(std::move(ready_.front()));
        ROCKLOCK_ASSERT(delivery->done != nullptr && delivery->answer.has_value());
        ready_.pop_front();
    } else if (!committing_.empty() && committing_.front().dependency.done(storage)) {
        delivery.emplace(std::move(committing_.front()));
        committing_.pop_front();
    }
    return delivery;
}

}  // namespace rocklock::manager
