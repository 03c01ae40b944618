// Expected encodings, which can contain zeros.
#pragma once

#include <cstddef>
#include <string>

namespace rocklock::testing {

template <std::size_t size>
std::string literal(const char (&text)[size]) {
    return {text, size - 1};
}

}  // namespace rocklock::testing
