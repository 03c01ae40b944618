// Assertions for conditions that must always hold. They stay enabled in release builds: a lock
// table that is known to be inconsistent must not grant locks.
//
// Assertions must not check input, or data from a disk or from another process. A function that
// finds such data to be invalid returns an Error.
#pragma once

namespace rocklock {

// Prints the source position and the condition to standard error, and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace rocklock

#define ROCKLOCK_ASSERT(condition)                                        \
    do {                                                                  \
        if (!(condition)) [[unlikely]]                                    \
            ::rocklock::assertion_failed(#condition, __FILE__, __LINE__); \
    } while (false)
