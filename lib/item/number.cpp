#include <rocklock/items/number.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include "item/decimal.hpp"

namespace rocklock {
namespace {

using Parts = Number::Parts;

Error not_a_number(std::string_view text) {
    std::string message = "The parameter cannot be converted to a numeric value";
    if (!text.empty()) message.append(": ").append(text);
    return {ErrorCode::invalid_argument, std::move(message)};
}

Error overflow() {
    return {ErrorCode::invalid_argument,
            "Number overflow. Attempting to store a number with magnitude larger than supported "
            "range"};
}

Error underflow() {
    return {ErrorCode::invalid_argument,
            "Number underflow. Attempting to store a number with magnitude smaller than supported "
            "range"};
}

Error too_precise() {
    return {ErrorCode::invalid_argument,
            "Attempting to store more than 38 significant digits in a Number"};
}

Uint128 coefficient_of(const Parts& parts) { return join(parts.high, parts.low); }

Parts make_parts(bool negative, Uint128 coefficient, std::int64_t exponent) {
    return {high_half(coefficient), low_half(coefficient), static_cast<std::int16_t>(exponent),
            negative};
}

// Returns the decimal exponent of the first digit.
int magnitude_of(const Parts& parts) {
    const int digits =
        parts.high == 0 ? digit_count(parts.low) : digit_count(coefficient_of(parts));
    return parts.exponent + digits - 1;
}

// Parses the text of a number.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // Returns whether the whole text is a number.
    bool scan() {
        negative_ = take('-');
        if (!negative_) take('+');
        const auto first = at_;
        take_digits(false);
        auto digits = at_ - first;
        if (take('.')) {
            const auto point = at_;
            take_digits(true);
            digits += at_ - point;
        }
        if (digits == 0) return false;
        if ((take('e') || take('E')) && !take_exponent()) return false;
        return at_ == text_.size();
    }

    bool negative() const { return negative_; }
    // The coefficient without trailing zeros. Valid only if digits() is at most 38.
    Uint128 coefficient() const { return long_ ? wide_ : Uint128{narrow_}; }
    std::int64_t digits() const { return digits_; }
    // The decimal exponent of the last digit that is not zero. For zero, the exponent in the text.
    std::int64_t exponent() const { return digit_exponent_ + written_; }

private:
    // Larger than any exponent that the digits of a text could compensate.
    static constexpr std::int64_t max_exponent = 1'000'000'000'000'000;
    // The number of digits that always fit in 64 bits.
    static constexpr std::int64_t narrow_digits = 19;

    bool take(char wanted) {
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    std::optional<unsigned> take_digit() {
        if (at_ == text_.size()) return std::nullopt;
        const auto digit = static_cast<unsigned>(static_cast<unsigned char>(text_[at_])) - '0';
        if (digit > 9) return std::nullopt;
        ++at_;
        return digit;
    }

    void take_digits(bool fraction) {
        std::int64_t digit_exponent = 0;
        while (const auto digit = take_digit()) {
            if (fraction) --digit_exponent;
            if (*digit != 0) {
                append(*digit);
                digit_exponent_ = digit_exponent;
            } else if (digits_ > 0) {
                ++zeros_;
                if (!fraction) ++digit_exponent_;
            }
        }
    }

    // Appends a digit after the zeros that were read since the last one.
    void append(unsigned digit) {
        const auto shift = zeros_ + 1;
        zeros_ = 0;
        digits_ += digits_ == 0 ? 1 : shift;
        if (digits_ > Number::max_digits) return;
        const Uint128 power = powers_of_ten[static_cast<std::size_t>(shift)];
        if (digits_ <= narrow_digits) {
            narrow_ = narrow_ * low_half(power) + digit;
            return;
        }
        wide_ = (long_ ? wide_ : Uint128{narrow_}) * power + digit;
        long_ = true;
    }

    bool take_exponent() {
        const bool minus = take('-');
        if (!minus) take('+');
        const auto first = at_;
        std::int64_t exponent = 0;
        while (const auto digit = take_digit()) {
            if (exponent < max_exponent) exponent = exponent * 10 + *digit;
        }
        written_ = minus ? -exponent : exponent;
        return at_ > first;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool negative_ = false;
    // The number of digits from the first to the last digit that is not zero.
    std::int64_t digits_ = 0;
    std::int64_t zeros_ = 0;
    std::uint64_t narrow_ = 0;
    Uint128 wide_ = 0;
    bool long_ = false;
    std::int64_t digit_exponent_ = 0;
    std::int64_t written_ = 0;
};

// Compares the absolute values. Both must be different from zero.
std::strong_ordering compare_magnitudes(const Parts& left, const Parts& right) {
    auto left_digits = coefficient_of(left);
    auto right_digits = coefficient_of(right);
    const int ahead = left.exponent - right.exponent;
    if (ahead != 0) {
        const auto order = magnitude_of(left) <=> magnitude_of(right);
        if (order != 0) return order;
        // The first digits have the same exponent, so the number with fewer digits is extended to
        // the length of the other one.
        auto& shorter = ahead > 0 ? left_digits : right_digits;
        shorter *= powers_of_ten[static_cast<std::size_t>(ahead > 0 ? ahead : -ahead)];
    }
    return left_digits <=> right_digits;
}

}  // namespace

Number::Number(bool negative, std::uint64_t magnitude) noexcept {
    if (magnitude == 0) return;
    Uint128 coefficient = magnitude;
    const int exponent = strip_zeros(coefficient);
    parts_ = make_parts(negative, coefficient, exponent);
}

Result<Number> Number::parse(std::string_view text) {
    Scanner scanner(text);
    if (!scanner.scan()) return not_a_number(text);
    const auto digits = scanner.digits();
    const auto exponent = scanner.exponent();
    // DynamoDB checks the exponent of a zero, too.
    const auto magnitude = exponent + (digits == 0 ? 0 : digits - 1);
    if (magnitude > max_magnitude) return overflow();
    if (magnitude < min_magnitude) return underflow();
    if (digits > max_digits) return too_precise();
    if (digits == 0) return Number();
    return Number(make_parts(scanner.negative(), scanner.coefficient(), exponent));
}

std::string Number::to_string() const {
    std::string text;
    append_to(text);
    return text;
}

void Number::append_to(std::string& out) const {
    std::array<char, max_text_size> text;
    const char* const end = write_to(text.data());
    out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

char* Number::write_to(char* out) const {
    const DigitText digits(coefficient_of(parts_));
    const std::string_view all(digits.text, digits.size);
    if (parts_.negative) *out++ = '-';
    if (parts_.exponent >= 0) {
        out = std::copy(all.begin(), all.end(), out);
        return std::fill_n(out, parts_.exponent, '0');
    }
    const auto fraction = static_cast<std::size_t>(-parts_.exponent);
    if (fraction < all.size()) {
        const auto point = all.end() - static_cast<std::ptrdiff_t>(fraction);
        out = std::copy(all.begin(), point, out);
        *out++ = '.';
        return std::copy(point, all.end(), out);
    }
    *out++ = '0';
    *out++ = '.';
    out = std::fill_n(out, fraction - all.size(), '0');
    return std::copy(all.begin(), all.end(), out);
}

Number Number::operator-() const noexcept {
    Number result = *this;
    result.parts_.negative = !is_zero() && !parts_.negative;
    return result;
}

std::optional<std::int64_t> Number::to_int64() const noexcept {
    if (parts_.exponent < 0 || parts_.exponent > 18 || parts_.high != 0) return std::nullopt;
    const auto magnitude =
        Uint128{parts_.low} * powers_of_ten[static_cast<std::size_t>(parts_.exponent)];
    const auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (magnitude > Uint128{largest} + (parts_.negative ? 1 : 0)) return std::nullopt;
    const auto bits = low_half(magnitude);
    return static_cast<std::int64_t>(parts_.negative ? ~bits + 1 : bits);
}

std::size_t Number::size_bytes() const noexcept {
    if (is_zero()) return 1;
    // Pairs are counted from the decimal point, so the first and the last pair can have one digit.
    const int pairs = half_down(magnitude_of(parts_)) - half_down(parts_.exponent) + 1;
    return 1 + static_cast<std::size_t>(pairs) + (parts_.negative ? 1 : 0);
}

std::size_t Number::hash() const noexcept {
    constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15U;
    auto mixed = (parts_.low ^ parts_.high * odd) * odd;
    mixed ^= mixed >> 32;
    mixed += static_cast<std::uint64_t>(parts_.exponent) * 2 + (parts_.negative ? 1 : 0);
    mixed *= odd;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

std::optional<Number> Number::from_parts(const Parts& parts) noexcept {
    const auto coefficient = coefficient_of(parts);
    if (coefficient == 0) {
        if (parts != Parts{}) return std::nullopt;
        return Number();
    }
    const bool divisible = parts.high == 0 ? parts.low % 10 == 0 : coefficient % 10 == 0;
    if (coefficient >= powers_of_ten[max_digits] || divisible) return std::nullopt;
    const int magnitude = magnitude_of(parts);
    if (magnitude < min_magnitude || magnitude > max_magnitude) return std::nullopt;
    return Number(parts);
}

std::strong_ordering operator<=>(const Number& left, const Number& right) noexcept {
    const auto sign = [](const Number& number) {
        return number.is_zero() ? 0 : number.is_negative() ? -1 : 1;
    };
    const int left_sign = sign(left);
    const int right_sign = sign(right);
    if (left_sign != right_sign) return left_sign <=> right_sign;
    if (left_sign == 0) return std::strong_ordering::equal;
    return left_sign > 0 ? compare_magnitudes(left.parts(), right.parts())
                         : compare_magnitudes(right.parts(), left.parts());
}

Result<Number> add(const Number& left, const Number& right) {
    if (left.is_zero()) return right;
    if (right.is_zero()) return left;
    // Expresses both numbers in units of the lower exponent.
    const bool left_is_lower = left.parts_.exponent <= right.parts_.exponent;
    const auto& lower = (left_is_lower ? left : right).parts_;
    const auto& upper = (left_is_lower ? right : left).parts_;
    const int ahead = upper.exponent - lower.exponent;
    auto upper_units = coefficient_of(upper);
    if (ahead > 0) {
        // The last digit of the result is the last digit of `lower`, which is not zero. All digits
        // of the result are therefore significant. If `upper_units` exceeds this bound, the result
        // has more than 38 digits, whatever `lower` is.
        constexpr auto bound = 2 * powers_of_ten[Number::max_digits];
        if (ahead > Number::max_digits) return overflow();
        const auto power = powers_of_ten[static_cast<std::size_t>(ahead)];
        if (upper_units > bound / power) return overflow();
        upper_units *= power;
    }
    const auto lower_units = coefficient_of(lower);
    const bool upper_is_larger = upper_units > lower_units;
    const bool same_sign = upper.negative == lower.negative;
    auto sum = same_sign         ? upper_units + lower_units
               : upper_is_larger ? upper_units - lower_units
                                 : lower_units - upper_units;
    if (sum == 0) return Number();
    const int exponent = lower.exponent + strip_zeros(sum);
    if (sum >= powers_of_ten[Number::max_digits]) return overflow();
    const auto parts = make_parts(upper_is_larger ? upper.negative : lower.negative, sum, exponent);
    const int magnitude = magnitude_of(parts);
    if (magnitude > Number::max_magnitude) return overflow();
    if (magnitude < Number::min_magnitude) return underflow();
    return Number(parts);
}

Result<Number> subtract(const Number& left, const Number& right) { return add(left, -right); }

}  // namespace rocklock
