// A heap of times, with its entries embedded in their owners.
//
// A timer knows its index in the heap, so it can be moved or removed without a search. A timer must
// not move in memory while it is in a heap.
//
// Each node of the heap stores the time beside the pointer, and has four children. Updates among a
// million timers therefore touch few cache lines, and do not read the timers themselves, which are
// scattered in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rocklock/clock.hpp>

#include "base/assert.hpp"

namespace rocklock {

struct Timer {
    static constexpr std::uint32_t idle = UINT32_MAX;

    BootTime at{};
    // The object to which the timer belongs. The user of the heap knows its type.
    void* owner = nullptr;
    std::uint32_t place = idle;

    bool armed() const { return place != idle; }
};

class TimerHeap {
public:
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // Returns the earliest timer. Undefined if the heap is empty.
    Timer& top() const {
        Timer& first = *heap_.front().timer;
        ROCKLOCK_ASSERT(first.place == 0 && first.at == heap_.front().at);
        return first;
    }

    // Arms the timer, or moves it if it is already armed.
    void set(Timer& timer, BootTime at) {
        ROCKLOCK_ASSERT(timer.owner != nullptr);
        timer.at = at;
        if (!timer.armed()) {
            heap_.emplace_back();
            return rise(size() - 1, {at, &timer});
        }
        sift(timer.place, {at, &timer});
    }

    void remove(Timer& timer) {
        if (!timer.armed()) return;
        const std::size_t place = timer.place;
        ROCKLOCK_ASSERT(place < heap_.size() && heap_[place].timer == &timer);
        timer.place = Timer::idle;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (place < heap_.size()) sift(place, last);
    }

private:
    struct Entry {
        BootTime at{};
        Timer* timer = nullptr;
    };
    static constexpr std::size_t branches = 4;

    void put(std::size_t place, const Entry& entry) {
        heap_[place] = entry;
        entry.timer->place = static_cast<std::uint32_t>(place);
    }

    // Puts the entry at `place`, which is free, or moves it up or down to its position.
    void sift(std::size_t place, const Entry& entry) {
        const bool above = place > 0 && entry.at < heap_[(place - 1) / branches].at;
        above ? rise(place, entry) : sink(place, entry);
    }

    void rise(std::size_t place, const Entry& entry) {
        while (place > 0) {
            const std::size_t parent = (place - 1) / branches;
            if (heap_[parent].at <= entry.at) break;
            put(place, heap_[parent]);
            place = parent;
        }
        put(place, entry);
    }

    void sink(std::size_t place, const Entry& entry) {
        for (;;) {
            const std::size_t first = branches * place + 1;
            const std::size_t end = std::min(first + branches, heap_.size());
            std::size_t earliest_place = place;
            BootTime earliest = entry.at;
            for (std::size_t child = first; child < end; ++child) {
                if (heap_[child].at >= earliest) continue;
                earliest_place = child;
                earliest = heap_[child].at;
            }
            if (earliest_place == place) break;
            put(place, heap_[earliest_place]);
            place = earliest_place;
        }
        put(place, entry);
    }

    std::vector<Entry> heap_;
};

}  // namespace rocklock
