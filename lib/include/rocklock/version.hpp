// The version of the library.
#pragma once

#include <string_view>

#include <rocklock/export.hpp>

namespace rocklock {

// Returns the version of the library at run time, such as "0.1.0". With a shared library, it can
// differ from the version at compile time.
//
// Threads: thread-safe.
ROCKLOCK_API std::string_view version() noexcept;

}  // namespace rocklock
