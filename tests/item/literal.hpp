// The bytes of expected encodings.
#pragma once

#include <cstddef>
#include <string>

namespace rocklock::testing {

// Returns the characters of a string literal. They can include zeros.
template <std::size_t size>
std::string literal(const char (&text)[size]) {
    return {text, size - 1};
}

}  // namespace rocklock::testing
