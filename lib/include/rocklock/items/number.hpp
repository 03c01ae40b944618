// Number: DynamoDB's decimal numbers, exact.
//
// A number is 0, or has up to 38 significant digits and a magnitude from 1E-130 to
// 9.9999999999999999999999999999999999999E+125. Nothing is ever rounded: what does not fit is an
// error. It is kept as a coefficient of 127 bits without trailing zeros, times a power of ten, so
// 1, 1.0 and 10e-1 are the same bytes: equality and hashing are numeric.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/export.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

class ROCKLOCK_API Number {
public:
    static constexpr int max_digits = 38;
    // The power of ten of the first digit of the smallest and of the largest number.
    static constexpr int min_magnitude = -130;
    static constexpr int max_magnitude = 125;

    // The sign, the coefficient's halves and the power of ten it is multiplied with.
    struct Parts {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        std::int16_t exponent = 0;
        bool negative = false;

        friend bool operator==(const Parts&, const Parts&) = default;
    };

    // 0.
    constexpr Number() noexcept = default;

    template <std::integral Integer>
    requires(!std::same_as<Integer, bool> &&
             sizeof(Integer) <= sizeof(std::uint64_t)) explicit Number(Integer value) noexcept
        : Number(value < 0, value < 0 ? ~static_cast<std::uint64_t>(value) + 1
                                      : static_cast<std::uint64_t>(value)) {}

    // Reads an optional sign, digits with an optional point (`5.`, `.5`), and an optional exponent.
    // Leading zeros are allowed, blanks and all else are not.
    //
    // Errors, with the service's texts: invalid_argument  no number; more than 38 significant
    //                                   digits; a magnitude beyond the range, at either end
    static Result<Number> parse(std::string_view text);

    // Plain decimal without exponent, as the service answers: no plus, no needless zero, no bare
    // point.
    std::string to_string() const;
    // The same at the end of `out`.
    void append_to(std::string& out) const;
    // How long that text can be at most: a sign, "0." and 167 digits.
    static constexpr std::size_t max_text_size = 170;

    bool is_zero() const noexcept { return (parts_.high | parts_.low) == 0; }
    bool is_negative() const noexcept { return parts_.negative; }
    Number operator-() const noexcept;

    // The number as an integer; nothing when it has a fraction or does not fit.
    std::optional<std::int64_t> to_int64() const noexcept;

    // What it counts in the size of an item: 1, for each pair of digits 1, for the sign 1.
    std::size_t size_bytes() const noexcept;

    std::size_t hash() const noexcept;

    const Parts& parts() const noexcept { return parts_; }
    // Nothing unless `parts` are the parts() of some number.
    static std::optional<Number> from_parts(const Parts& parts) noexcept;

    friend bool operator==(const Number&, const Number&) noexcept = default;
    // The numeric order.
    ROCKLOCK_API friend std::strong_ordering operator<=>(const Number& left,
                                                         const Number& right) noexcept;

private:
    ROCKLOCK_API friend Result<Number> add(const Number& left, const Number& right);

    explicit Number(const Parts& parts) noexcept : parts_(parts) {}
    Number(bool negative, std::uint64_t magnitude) noexcept;

    // Zero is all zeros. Else the coefficient is not divisible by ten.
    Parts parts_;
};

// Exact, as `SET a = b + c`, `SET a = b - c` and `ADD` do.
//
// Errors, with the service's texts: invalid_argument  the result has more than 38 digits, or its
//                                   magnitude is beyond the range, at either end
ROCKLOCK_API Result<Number> add(const Number& left, const Number& right);
ROCKLOCK_API Result<Number> subtract(const Number& left, const Number& right);

}  // namespace rocklock

template <>
struct std::hash<rocklock::Number> {
    std::size_t operator()(const rocklock::Number& number) const noexcept { return number.hash(); }
};
