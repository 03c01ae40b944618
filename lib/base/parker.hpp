// Where one thread sleeps until another one tells it something.
#pragma once

#include <atomic>
#include <cstdint>

namespace rocklock {

// Threads: park() by the one thread that waits; unpark() once, by one other.
// Lifetime: may end as soon as park() returns, although unpark() may still be running.
class Parker {
public:
    Parker() = default;
    Parker(const Parker&) = delete;
    Parker& operator=(const Parker&) = delete;

    // Sleeps until there is a word, and returns it.
    std::uint32_t park() noexcept;

    // Wakes the sleeper with a word, which must not be 0.
    void unpark(std::uint32_t word) noexcept;

private:
    std::atomic<std::uint32_t> word_{0};
};

}  // namespace rocklock
