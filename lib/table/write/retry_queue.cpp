#include "table/write/retry_queue.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.hpp"

namespace rocklock::table {

RetryQueue::Slot::~Slot() {
    for (const std::size_t place : places_) leave(retry_queue_.places_[place]);
}

std::size_t RetryQueue::index_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) % place_count;
}

bool RetryQueue::is_contended(const std::vector<std::size_t>& places) const {
    return std::any_of(places.begin(), places.end(), [this](std::size_t place) {
        return places_[place].present.load(std::memory_order_relaxed) > 0;
    });
}

void RetryQueue::take(std::vector<std::size_t> places, std::optional<Slot>& slot) {
    // All callers acquire places in ascending order, which prevents deadlocks.
    ROCKLOCK_ASSERT(!slot && !places.empty());
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::size_t place : places) wait_at(places_[place]);
    slot.emplace(*this, std::move(places));
}

void RetryQueue::wait_at(Place& place) {
    place.present.fetch_add(1, std::memory_order_relaxed);
    Parker parker;
    {
        const MutexLock lock(place.mutex);
        if (!std::exchange(place.taken, true)) {
            ROCKLOCK_ASSERT(place.waiting.empty());
            return;
        }
        place.waiting.push_back(&parker);
    }
    parker.park();
}

// Hands the place over to the first waiter without releasing it, so that no other caller gets in
// between.
void RetryQueue::leave(Place& place) {
    Parker* next = nullptr;
    {
        const MutexLock lock(place.mutex);
        ROCKLOCK_ASSERT(place.taken);
        const auto before = place.present.fetch_sub(1, std::memory_order_relaxed);
        ROCKLOCK_ASSERT(before > place.waiting.size());
        if (place.waiting.empty()) {
            place.taken = false;
            return;
        }
        next = place.waiting.front();
        place.waiting.pop_front();
    }
    next->unpark(1);
}

}  // namespace rocklock::table
