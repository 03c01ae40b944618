// Unpredictable random bytes from the kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rocklock {

void fill_random(std::span<std::uint8_t> bytes);

template <std::size_t size>
std::array<std::uint8_t, size> random_bytes() {
    std::array<std::uint8_t, size> bytes;
    fill_random(bytes);
    return bytes;
}

}  // namespace rocklock
