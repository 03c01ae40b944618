// What cannot happen is asserted, also in release builds: a lock table known to be wrong must not
// grant.
//
// Never for input, nor for what a disk or another process may do: those are Errors.
#pragma once

namespace rocklock {

// Prints where and what to standard error, and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace rocklock

#define ROCKLOCK_ASSERT(condition)                                        \
    do {                                                                  \
        if (!(condition)) [[unlikely]]                                    \
            ::rocklock::assertion_failed(#condition, __FILE__, __LINE__); \
    } while (false)
