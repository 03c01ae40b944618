// Arithmetic for coefficients: unsigned integers of 128 bits, and powers of ten.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rocklock {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): not ISO C++

constexpr Uint128 join(std::uint64_t high, std::uint64_t low) { return Uint128{high} << 64 | low; }
constexpr std::uint64_t high_half(Uint128 value) { return static_cast<std::uint64_t>(value >> 64); }
constexpr std::uint64_t low_half(Uint128 value) { return static_cast<std::uint64_t>(value); }

// 10^0 to 10^38, the largest power of ten that fits in a Uint128.
constexpr auto powers_of_ten = [] {
    std::array<Uint128, 39> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
}();

constexpr int bit_width(Uint128 value) {
    const auto high = high_half(value);
    return static_cast<int>(high != 0 ? 64 + std::bit_width(high)
                                      : std::bit_width(low_half(value)));
}

// Return the number of decimal digits. Return 0 for the value 0.
constexpr int digit_count(Uint128 value) {
    // 1233 / 4096 approximates log10(2), with sufficient precision for 128 bits.
    const auto estimate = static_cast<std::size_t>(bit_width(value) * 1233 >> 12);
    return static_cast<int>(estimate) + (value >= powers_of_ten[estimate] ? 1 : 0);
}

constexpr int digit_count(std::uint64_t value) {
    const auto estimate = static_cast<std::size_t>(std::bit_width(value) * 1233 >> 12);
    return static_cast<int>(estimate) + (value >= low_half(powers_of_ten[estimate]) ? 1 : 0);
}

// Removes the trailing zeros and returns their number. The value must not be 0.
constexpr int strip_zeros(Uint128& value) {
    int stripped = 0;
    if ((value & 1) != 0) return stripped;
    for (const int zeros : {32, 16, 8, 4, 2, 1}) {
        const Uint128 power = powers_of_ten[static_cast<std::size_t>(zeros)];
        if (value < power || value % power != 0) continue;
        value /= power;
        stripped += zeros;
    }
    return stripped;
}

// Divides by two and rounds down, also if the value is negative.
constexpr int half_down(int value) { return value >> 1; }

// The decimal digits of an integer of up to 128 bits.
struct DigitText {
    char text[40];
    std::size_t size = 0;

    explicit DigitText(Uint128 coefficient) {
        constexpr std::uint64_t half = 10'000'000'000'000'000'000U;
        if (high_half(coefficient) == 0) {
            append(low_half(coefficient));
            return;
        }
        append(low_half(coefficient / half));
        const auto first = size;
        append(low_half(coefficient % half));
        // Inserts the leading zeros of the lower half.
        const std::size_t missing = 19 - (size - first);
        std::char_traits<char>::move(text + first + missing, text + first, size - first);
        std::char_traits<char>::assign(text + first, missing, '0');
        size += missing;
    }

private:
    void append(std::uint64_t value) {
        size = static_cast<std::size_t>(std::to_chars(text + size, text + sizeof text, value).ptr -
                                        text);
    }
};

}  // namespace rocklock
