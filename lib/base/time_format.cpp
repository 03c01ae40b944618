#include "base/time_format.hpp"

#include <algorithm>
#include <chrono>

namespace rocklock {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime earliest{std::chrono::sys_days{std::chrono::year{0} / 1 / 1}};
constexpr WallTime latest{std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} + days{1} -
                          milliseconds{1}};

// Writes the last `count` digits of a number that is not negative.
void put_number(std::string& text, std::size_t at, std::size_t count, int number) {
    for (std::size_t i = at + count; i > at; --i) {
        text[i - 1] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

// Removes `count` digits from the front of the text and returns their value. Returns nullopt if
// there are fewer.
std::optional<int> take_number(std::string_view& text, std::size_t count) {
    if (text.size() < count) return std::nullopt;
    int value = 0;
    for (const char digit : text.substr(0, count)) {
        if (digit < '0' || digit > '9') return std::nullopt;
        value = value * 10 + (digit - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
}

// Returns the milliseconds of ".125"; further digits are ignored. Returns 0 if there is no
// fraction.
std::optional<milliseconds> take_fraction(std::string_view& text) {
    if (!take(text, '.')) return milliseconds{0};
    int value = 0;
    std::size_t digits = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        if (digits++ < 3) value = value * 10 + (text.front() - '0');
        text.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) value *= 10;
    return milliseconds{value};
}

}  // namespace

std::string format_time(WallTime time) {
    time = std::clamp(time, earliest, latest);
    const auto day = std::chrono::floor<days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    std::string text = "yyyy-mm-ddThh:mm:ss.fffZ";
    put_number(text, 0, 4, static_cast<int>(date.year()));
    put_number(text, 5, 2, static_cast<int>(static_cast<unsigned>(date.month())));
    put_number(text, 8, 2, static_cast<int>(static_cast<unsigned>(date.day())));
    put_number(text, 11, 2, static_cast<int>(clock.hours().count()));
    put_number(text, 14, 2, static_cast<int>(clock.minutes().count()));
    put_number(text, 17, 2, static_cast<int>(clock.seconds().count()));
    put_number(text, 20, 3, static_cast<int>(clock.subseconds().count()));
    return text;
}

std::optional<WallTime> parse_time(std::string_view text) {
    const auto year = take_number(text, 4);
    if (!year || !take(text, '-')) return std::nullopt;
    const auto month = take_number(text, 2);
    if (!month || !take(text, '-')) return std::nullopt;
    const auto day = take_number(text, 2);
    if (!day || !take(text, 'T')) return std::nullopt;
    const auto hour = take_number(text, 2);
    if (!hour || !take(text, ':')) return std::nullopt;
    const auto minute = take_number(text, 2);
    if (!minute || !take(text, ':')) return std::nullopt;
    const auto second = take_number(text, 2);
    if (!second) return std::nullopt;
    const auto fraction = take_fraction(text);
    if (!fraction || text != "Z") return std::nullopt;

    const auto date = std::chrono::year{*year} / std::chrono::month{static_cast<unsigned>(*month)} /
                      std::chrono::day{static_cast<unsigned>(*day)};
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    return WallTime{std::chrono::sys_days{date}} + hours{*hour} + minutes{*minute} +
           seconds{*second} + *fraction;
}

}  // namespace rocklock
