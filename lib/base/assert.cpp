#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace rocklock {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "rocklock: %s:%d: assertion failed: %s\n", file, line, condition);
    std::abort();
}

}  // namespace rocklock
