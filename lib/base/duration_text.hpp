// Durations as people write and read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

// Reads "250ms", "10s", "1m30s", "2h", "7d", and "0". A number without a unit is nothing: nobody
// remembers which one was meant.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// In at most two units: "0.3s", "12s", "3m05s", "2h10m", "4d3h". Never negative.
std::string format_duration(std::chrono::milliseconds duration);

// As parse_duration() reads it, exactly.
std::string exact_duration(std::chrono::milliseconds duration);

}  // namespace rocklock
