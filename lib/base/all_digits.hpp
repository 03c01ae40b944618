#pragma once

#include <algorithm>
#include <string_view>

namespace rocklock {

// Returns whether the text consists of ASCII digits only. Returns true for an empty text.
inline bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace rocklock
