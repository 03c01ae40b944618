// The version of the library.
#pragma once

#include <string_view>

#include <rocklock/export.hpp>

namespace rocklock {

// Returns the version of the loaded library, such as "0.1.0". A shared library can have another
// version than the headers with which the program was compiled.
//
// Threads: thread-safe.
ROCKLOCK_API std::string_view version() noexcept;

}  // namespace rocklock
