// Formats and parses times as text, in UTC with milliseconds as in RFC 3339:
// "2026-11-21T09:30:00.125Z".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>

namespace rocklock {

// Formats a time. A time before the year 0 or after the year 9999 is formatted as the nearest one
// within these years.
std::string format_time(WallTime time);

// Parses this format, with any number of fractional digits. Ignores the digits after the third.
// Returns nullopt if the text is invalid or if its offset is not Z.
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rocklock
