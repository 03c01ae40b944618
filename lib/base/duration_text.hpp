// Formats durations for people, and parses them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

// Parses "250ms", "10s", "1m30s", "2h", "7d" and "0". Returns nullopt for any other text. A number
// other than 0 must have a unit, because it would be ambiguous without a unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Returns the duration in at most two units: "0.3s", "12s", "3m05s", "2h10m", "4d3h". A negative
// duration is formatted as zero.
std::string format_duration(std::chrono::milliseconds duration);

// Returns a text for which parse_duration() returns exactly `duration`.
std::string exact_duration(std::chrono::milliseconds duration);

}  // namespace rocklock
