#include "base/duration_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// Largest first, except that "ms" must be tried before "m".
constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units = {{
    {"ms", 1},
    {"d", 86'400'000},
    {"h", 3'600'000},
    {"m", 60'000},
    {"s", 1000},
}};
// Ten thousand years.
constexpr std::int64_t longest = std::int64_t{86'400'000} * 3'652'500;

std::string print(const char* format, std::int64_t first, std::int64_t second) {
    std::array<char, 48> text{};
    const int size = std::snprintf(text.data(), text.size(), format, static_cast<long long>(first),
                                   static_cast<long long>(second));
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
    if (text == "0") return milliseconds{0};
    if (text.empty()) return std::nullopt;
    std::int64_t total = 0;
    while (!text.empty()) {
        std::int64_t number = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || number < 0 || text.front() == '-') return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        bool known = false;
        for (const auto& [unit, size] : units) {
            if (!text.starts_with(unit)) continue;
            if (number > longest / size) return std::nullopt;
            total += number * size;
            if (total > longest) return std::nullopt;
            text.remove_prefix(unit.size());
            known = true;
            break;
        }
        if (!known) return std::nullopt;
    }
    return milliseconds{total};
}

std::string format_duration(milliseconds duration) {
    const std::int64_t total = std::max<std::int64_t>(duration.count(), 0);
    const auto seconds = total / 1000;
    if (seconds < 10) return print("%lld.%llds", seconds, total % 1000 / 100);
    if (seconds < 60) return print("%llds", seconds, 0);
    if (seconds < 3600) return print("%lldm%02llds", seconds / 60, seconds % 60);
    if (seconds < 86'400) return print("%lldh%02lldm", seconds / 3600, seconds % 3600 / 60);
    return print("%lldd%lldh", seconds / 86'400, seconds % 86'400 / 3600);
}

std::string exact_duration(milliseconds duration) {
    if (duration.count() == 0) return "0";
    std::string text;
    auto rest = duration.count();
    for (const auto unit : {1U, 2U, 3U, 4U, 0U}) {
        const auto& [name, size] = units[unit];
        if (rest / size == 0) continue;
        text += std::to_string(rest / size);
        text += name;
        rest %= size;
    }
    return text;
}

}  // namespace rocklock
