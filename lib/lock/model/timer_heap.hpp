// A heap of timers. Each timer is a member of the object that owns it.
//
// A timer knows its index in the heap, so it can be moved or removed without a search. A timer must
// not move in memory while it is in a heap.
//
// Each node of the heap stores the time of its timer next to the pointer to it, and has four
// children. An update therefore touches few cache lines, even with a million timers, and reads only
// few of the timers, which are scattered in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rocklock/clock.hpp>

#include "base/assert.hpp"
#include "lock/model/huge_pages.hpp"

namespace rocklock {

struct Timer {
    static constexpr std::uint32_t idle = UINT32_MAX;

    BootTime at{};
    // The object that owns the timer. The code that uses the heap knows the type of the object.
    void* owner = nullptr;
    std::uint32_t index = idle;

    bool armed() const { return index != idle; }
};

class TimerHeap {
public:
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // Returns the earliest timer. Undefined if the heap is empty.
    Timer& top() const {
        Timer& first = *heap_.front().timer;
        ROCKLOCK_ASSERT(first.index == 0 && first.at == heap_.front().at);
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
        sift(timer.index, {at, &timer});
    }

    void remove(Timer& timer) {
        if (!timer.armed()) return;
        const std::size_t index = timer.index;
        ROCKLOCK_ASSERT(index < heap_.size() && heap_[index].timer == &timer);
        timer.index = Timer::idle;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (index < heap_.size()) sift(index, last);
    }

private:
    struct Entry {
        BootTime at{};
        Timer* timer = nullptr;
    };
    static constexpr std::size_t branches = 4;

    void put(std::size_t index, const Entry& entry) {
        heap_[index] = entry;
        entry.timer->index = static_cast<std::uint32_t>(index);
    }

    // Inserts the entry at the free position `index`, and moves it up or down until the heap is
    // ordered.
    void sift(std::size_t index, const Entry& entry) {
        const bool above = index > 0 && entry.at < heap_[(index - 1) / branches].at;
        above ? rise(index, entry) : sink(index, entry);
    }

    void rise(std::size_t index, const Entry& entry) {
        while (index > 0) {
            const std::size_t parent = (index - 1) / branches;
            if (heap_[parent].at <= entry.at) break;
            put(index, heap_[parent]);
            index = parent;
        }
        put(index, entry);
    }

    void sink(std::size_t index, const Entry& entry) {
        for (;;) {
            const std::size_t first = branches * index + 1;
            const std::size_t end = std::min(first + branches, heap_.size());
            std::size_t earliest_index = index;
            BootTime earliest = entry.at;
            for (std::size_t child = first; child < end; ++child) {
                if (heap_[child].at >= earliest) continue;
                earliest_index = child;
                earliest = heap_[child].at;
            }
            if (earliest_index == index) break;
            put(index, heap_[earliest_index]);
            index = earliest_index;
        }
        put(index, entry);
    }

    std::vector<Entry, HugePageAllocator<Entry>> heap_;
};

}  // namespace rocklock
