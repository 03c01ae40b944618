#include "lock/manager/delivery_queue.hpp"

#include "base/assert.hpp"

namespace rocklock::manager {

void Delivery::clear() {
    dependency = {};
    refused = false;
    acquired_at.reset();
    // A delivery with a receiver has no completion, answer, history lookup or notifications.
    if (receiver) return receiver.reset();
    done = nullptr;
    answer.reset();
    history.reset();
    notifications.reset();
}

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
    for (auto each = committing_.rbegin(); each != committing_.rend(); ++each, ++waiting) {
        if (each->dependency.done(storage)) break;
    }
    return added_ - waiting;
}

Delivery& DeliveryQueue::add_to(Batch& queue) {
    if (unused_.empty()) return queue.emplace_back();
    queue.splice(queue.end(), unused_, unused_.begin());
    return queue.back();
}

DeliveryQueue::Batch DeliveryQueue::take(const Storage& storage, std::size_t* max_ready) {
    ROCKLOCK_ASSERT(delivering_);
    Batch batch;
    const auto has_room = [&] { return batch.size() < max_batch; };
    while (has_room() && !ready_.empty() && (max_ready == nullptr || *max_ready > 0)) {
        if (max_ready != nullptr) --*max_ready;
        ROCKLOCK_ASSERT(ready_.front().receiver != nullptr ||
                        (ready_.front().done != nullptr && ready_.front().answer.has_value()));
        batch.splice(batch.end(), ready_, ready_.begin());
    }
    while (has_room() && !committing_.empty() && committing_.front().dependency.done(storage)) {
        batch.splice(batch.end(), committing_, committing_.begin());
    }
    return batch;
}

void DeliveryQueue::give_back(Batch& batch) {
    while (!batch.empty() && unused_.size() < max_unused) {
        ROCKLOCK_ASSERT(batch.front().done == nullptr && batch.front().receiver == nullptr);
        unused_.splice(unused_.end(), batch, batch.begin());
    }
}

}  // namespace rocklock::manager
