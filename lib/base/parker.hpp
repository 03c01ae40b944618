// Lets one thread sleep until another thread passes it a non-zero 32-bit value.
#pragma once

#include <atomic>
#include <cstdint>

namespace rocklock {

// Threads:  one thread calls park(), and one other thread calls unpark() once.
// Lifetime: the object may be destroyed as soon as park() returns, even while unpark() still runs.
class Parker {
public:
    Parker() = default;
    Parker(const Parker&) = delete;
    Parker& operator=(const Parker&) = delete;

    // Blocks until unpark() is called, and returns the value that was passed to it.
    std::uint32_t park() noexcept;

    // Wakes the thread in park(). `value` must not be 0.
    void unpark(std::uint32_t value) noexcept;

private:
    std::atomic<std::uint32_t> value_{0};
};

}  // namespace rocklock
