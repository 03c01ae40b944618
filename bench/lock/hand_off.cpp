#include "hand_off.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace rocklock::bench {

namespace {

using Clock = std::chrono::steady_clock;

double jain(const std::vector<std::uint64_t>& counts) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t count : counts) {
        sum += static_cast<double>(count);
        squares += static_cast<double>(count) * static_cast<double>(count);
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(counts.size()) * squares);
}

}  // namespace

HandOff measure_hand_off(Kind kind, const std::string& folder, std::size_t threads,
                         std::chrono::milliseconds duration) {
    Embedded embedded(kind, folder, threads);
    const std::string name = name_of(0, false);
    AcquireOptions options;
    options.patience = no_limit;
    std::atomic<bool> stop{false};
    // Only the holder touches these.
    Clock::time_point released{};
    std::vector<double> latencies;
    latencies.reserve(1 << 20);
    std::vector<std::uint64_t> counts(threads);
    std::barrier begin(static_cast<std::ptrdiff_t>(threads) + 1);
    std::vector<std::jthread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            begin.arrive_and_wait();
            while (!stop) {
                Guard guard = must(embedded.session(thread).acquire(name, options), "wait");
                const auto now = Clock::now();
                if (released != Clock::time_point{}) {
                    latencies.push_back(
                        std::chrono::duration<double, std::micro>(now - released).count());
                }
                ++counts[thread];
                released = Clock::now();
                must(guard.release(), "release");
            }
        });
    }
    begin.arrive_and_wait();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    stop = true;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    running.clear();
    HandOff result;
    result.hand_offs_a_second = static_cast<double>(latencies.size()) / seconds;
    result.latency_us = latencies.empty() ? 0 : spread_of(std::move(latencies)).median;
    result.fairness = jain(counts);
    return result;
}

}  // namespace rocklock::bench
