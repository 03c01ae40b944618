// The only source of random numbers in a simulation. Equal seeds return equal numbers on every
// machine.
#pragma once

#include <cstdint>
#include <vector>

namespace rocklock::simulation {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // The SplitMix64 generator.
    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    // Returns a number from 0 to n - 1.
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    std::int64_t between(std::int64_t from, std::int64_t to) {
        return from + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(to - from + 1)));
    }
    bool percent(std::uint64_t p) { return below(100) < p; }
    template <typename T>
    T& pick(std::vector<T>& from) {
        return from[below(from.size())];
    }
    template <typename T>
    const T& pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }

private:
    std::uint64_t state_;
};

}  // namespace rocklock::simulation
