// Which Rocklock this is.
#pragma once

#include <string_view>

#include <rocklock/export.hpp>

namespace rocklock {

// The version of the library that is running, as "0.1.0": under a shared library not always the one
// that was compiled against.
//
// Threads: thread-safe.
ROCKLOCK_API std::string_view version() noexcept;

}  // namespace rocklock
