// Compares names, such as those of headers, without regard to the case of ASCII letters.
#pragma once

#include <algorithm>
#include <string_view>

namespace rocklock {

// Returns true if the texts differ at most in the case of ASCII letters.
inline bool equal_ignoring_case(std::string_view left, std::string_view right) {
    const auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    };
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace rocklock
