// How often a test repeats something.
#pragma once

#include <cstdlib>

namespace rocklock::testing {

// Returns whether the long versions of the tests are run (`scripts/test --all`).
inline bool runs_all() { return std::getenv("ROCKLOCK_TEST_ALL") != nullptr; }

// A build with the address sanitizer takes several times as long. The ordinary build, which runs
// the same tests, has already tried everything, so that this one needs to try only a part.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool with_address_sanitizer = true;
#else
inline constexpr bool with_address_sanitizer = false;
#endif

// Returns the number of repetitions, divided by `divisor` in a build with the address sanitizer.
constexpr int repetitions(int count, int divisor) {
    return with_address_sanitizer ? count / divisor : count;
}

}  // namespace rocklock::testing
