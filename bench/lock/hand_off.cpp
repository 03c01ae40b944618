#include "hand_off.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rocklock::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Threads that all want the same resource. Only the holder accesses the results.
class Relay {
public:
    Relay(Embedded& embedded, std::size_t threads) : embedded_(embedded), counts_(threads) {
        latencies_.reserve(1 << 20);
    }

    void run(std::size_t thread, const std::atomic<bool>& stop) {
        AcquireOptions options;
        options.patience = no_limit;
        while (!stop) {
            Guard guard = must(embedded_.session(thread).acquire(name_, options), "wait");
            const auto now = Clock::now();
            if (released_ != Clock::time_point{}) {
                latencies_.push_back(
                    std::chrono::duration<double, std::micro>(now - released_).count());
            }
            ++counts_[thread];
            released_ = Clock::now();
            must(guard.release(), "release");
        }
    }

    // Must be called after all threads have stopped.
    HandOff result(double seconds) && {
        HandOff result;
        result.hand_offs_a_second = static_cast<double>(latencies_.size()) / seconds;
        result.latency_us = latencies_.empty() ? 0 : spread_of(std::move(latencies_)).median;
        result.fairness = jains_index(counts_);
        return result;
    }

private:
    Embedded& embedded_;
    const std::string name_ = name_of(0, false);
    Clock::time_point released_{};
    std::vector<double> latencies_;
    std::vector<std::uint64_t> counts_;
};

}  // namespace

HandOff measure_hand_off(Kind kind, const std::string& folder, std::size_t threads,
                         std::chrono::milliseconds duration) {
    Embedded embedded(kind, folder, threads);
    Relay relay(embedded, threads);
    std::atomic<bool> stop{false};
    std::barrier begin(static_cast<std::ptrdiff_t>(threads) + 1);
    std::vector<std::jthread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            begin.arrive_and_wait();
            relay.run(thread, stop);
        });
    }
    begin.arrive_and_wait();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    stop = true;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    running.clear();
    return std::move(relay).result(seconds);
}

}  // namespace rocklock::bench
