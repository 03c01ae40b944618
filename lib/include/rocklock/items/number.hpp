// Number: DynamoDB's exact decimal numbers.
//
// A number is 0, or it has up to 38 significant digits and a magnitude from 1E-130 to
// 9.9999999999999999999999999999999999999E+125. No operation rounds: if a result would have more
// digits or a magnitude outside this range, the operation fails. A number is stored as a
// coefficient of 127 bits without trailing zeros, and a power of ten. 1, 1.0 and 10e-1 therefore
// have the same representation, are equal, and have the same hash.
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
    // The decimal exponent of the first digit of the smallest and of the largest positive number.
    static constexpr int min_magnitude = -130;
    static constexpr int max_magnitude = 125;

    // The sign, the two halves of the coefficient, and the exponent of the power of ten by which
    // the coefficient is multiplied.
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

    // Parses an optional sign, digits with an optional point (`5.`, `.5`), and an optional
    // exponent. Leading zeros are permitted; spaces and other characters are not.
    //
    // Errors, with DynamoDB's messages: invalid_argument  `text` is not a number, has more than 38
    //                                   significant digits, or has a magnitude outside the range
    static Result<Number> parse(std::string_view text);

    // Returns the text of the number in the form of DynamoDB's responses: plain decimal, without an
    // exponent, a plus sign, superfluous zeros or a trailing point.
    std::string to_string() const;
    // Appends to_string() to `out`.
    void append_to(std::string& out) const;
    // The maximum size of the result of to_string(): a sign, "0." and 167 digits.
    static constexpr std::size_t max_text_size = 170;
    // Writes to_string() to `out`, which must have space for max_text_size bytes. Returns the end
    // of the text.
    char* write_to(char* out) const;

    bool is_zero() const noexcept { return (parts_.high | parts_.low) == 0; }
    bool is_negative() const noexcept { return parts_.negative; }
    Number operator-() const noexcept;

    // Returns the number as an integer, or none if it has a fraction or is outside the range of the
    // type.
    std::optional<std::int64_t> to_int64() const noexcept;

    // Returns the size that counts towards the size of an item: 1, plus 1 for each pair of digits
    // (counted from the decimal point), plus 1 for a negative sign.
    std::size_t size_bytes() const noexcept;

    std::size_t hash() const noexcept;

    const Parts& parts() const noexcept { return parts_; }
    // Returns the number with these parts(), or none if there is no such number.
    static std::optional<Number> from_parts(const Parts& parts) noexcept;

    friend bool operator==(const Number&, const Number&) noexcept = default;
    // Compares by value.
    ROCKLOCK_API friend std::strong_ordering operator<=>(const Number& left,
                                                         const Number& right) noexcept;

private:
    ROCKLOCK_API friend Result<Number> add(const Number& left, const Number& right);

    explicit Number(const Parts& parts) noexcept : parts_(parts) {}
    Number(bool negative, std::uint64_t magnitude) noexcept;

    // If the number is 0, all members are 0. Otherwise the coefficient is not divisible by ten.
    Parts parts_;
};

// Return the exact sum and the exact difference, which the update expressions `SET a = b + c`,
// `SET a = b - c` and `ADD` need.
//
// Errors, with DynamoDB's messages: invalid_argument  the result has more than 38 digits, or a
//                                   magnitude outside the range
ROCKLOCK_API Result<Number> add(const Number& left, const Number& right);
ROCKLOCK_API Result<Number> subtract(const Number& left, const Number& right);

}  // namespace rocklock

template <>
struct std::hash<rocklock::Number> {
    std::size_t operator()(const rocklock::Number& number) const noexcept { return number.hash(); }
};
