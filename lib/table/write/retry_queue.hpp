// RetryQueue: what makes contention fair.
//
// A write that finds the item changed under it is decided anew. Were that all, one could lose to
// the others for ever. So who has lost takes a turn, in order of arrival, and while somebody has or
// waits for one nobody begins without. Those who had begun before can win against the holder of a
// turn, each but a few times; then he is alone.
//
// Keys share turns by their hash. A turn is a courtesy: nothing is wrong without it, and it guards
// no data.
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
    // Gives the turn back as it ends.
    class Slot {
    public:
        Slot(RetryQueue& turns, std::vector<std::size_t> places)
            : retry_queue_(turns), places_(std::move(places)) {}
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        ~Slot();

    private:
        RetryQueue& retry_queue_;
        std::vector<std::size_t> places_;
    };

    static std::size_t place_of(std::string_view key);

    // Whether somebody has or waits for a turn at one of the places.
    bool is_contended(const std::vector<std::size_t>& places) const;

    // Waits until all are ours. Places in any order, and twice too.
    void take(std::vector<std::size_t> places, std::optional<Slot>& slot);

private:
    static constexpr std::size_t place_count = 256;

    struct Place {
        std::atomic<std::uint32_t> present{0};
        Mutex mutex;
        bool taken ROCKLOCK_GUARDED_BY(mutex) = false;
        // Only the first is woken: to wake all of many costs more than what they want to do.
        std::deque<Parker*> waiting ROCKLOCK_GUARDED_BY(mutex);
    };

    static void wait_at(Place& place);
    static void leave(Place& place);

    std::array<Place, place_count> places_;
};

}  // namespace rocklock::table
