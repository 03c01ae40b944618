// The version of the library.
#pragma once

#include <string_view>

#include <rocklock/export.hpp>

namespace rocklock {

// Returns the version of the loaded library, such as "0.1.0". If the library is shared, its version
// can differ from that of the headers with which the program was compiled.
//
// Threads: thread-safe.
ROCKLOCK_API std::string_view version() noexcept;

}  // namespace rocklock
