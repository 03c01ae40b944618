// A binary heap of moments, with its entries embedded in what they belong to.
//
// An entry knows its place, so it can be moved or taken out without a search. Entries do not move
// in memory while they are in a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <rocklock/clock.hpp>

#include "base/assert.hpp"

namespace rocklock {

struct Timer {
    static constexpr std::uint32_t idle = UINT32_MAX;

    BootTime at{};
    // What it belongs to; the heap's user knows the type.
    void* owner = nullptr;
    std::uint32_t place = idle;

    bool armed() const { return place != idle; }
};

class TimerHeap {
public:
    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // The earliest. Undefined when empty.
    Timer& top() const { return *heap_.front(); }

    // Arms the timer, or moves it when it is armed already.
    void set(Timer& timer, BootTime at) {
        if (!timer.armed()) {
            timer.at = at;
            timer.place = static_cast<std::uint32_t>(heap_.size());
            heap_.push_back(&timer);
            rise(timer.place);
            return;
        }
        const bool earlier = at < timer.at;
        timer.at = at;
        earlier ? rise(timer.place) : sink(timer.place);
    }

    void remove(Timer& timer) {
        if (!timer.armed()) return;
        const std::uint32_t place = timer.place;
        ROCKLOCK_ASSERT(place < heap_.size() && heap_[place] == &timer);
        exchange(place, static_cast<std::uint32_t>(heap_.size() - 1));
        heap_.pop_back();
        timer.place = Timer::idle;
        if (place < heap_.size()) {
            rise(place);
            sink(place);
        }
    }

private:
    void exchange(std::uint32_t a, std::uint32_t b) {
        std::swap(heap_[a], heap_[b]);
        heap_[a]->place = a;
        heap_[b]->place = b;
    }

    void rise(std::uint32_t place) {
        while (place > 0) {
            const std::uint32_t parent = (place - 1) / 2;
            if (heap_[parent]->at <= heap_[place]->at) return;
            exchange(parent, place);
            place = parent;
        }
    }

    void sink(std::uint32_t place) {
        const auto size = static_cast<std::uint32_t>(heap_.size());
        for (;;) {
            std::uint32_t least = place;
            for (std::uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < size;
                 ++child) {
                if (heap_[child]->at < heap_[least]->at) least = child;
            }
            if (least == place) return;
            exchange(least, place);
            place = least;
        }
    }

    std::vector<Timer*> heap_;
};

}  // namespace rocklock
