// Times as people read them: RFC 3339 in UTC with milliseconds, "2026-11-21T09:30:00.125Z".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>

namespace rocklock {

// Years before 0 and after 9999 are shown as the nearest one that can be written.
std::string format_time(WallTime time);

// Reads that form, with any number of digits of a second or none. An offset other than Z is
// nothing.
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace rocklock
