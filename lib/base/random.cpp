#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.hpp"

namespace rocklock {

void fill_random(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
        // There is no fallback: a secret that can be guessed is worse than none.
        ROCKLOCK_ASSERT(got > 0 || (got < 0 && errno == EINTR));
        if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace rocklock
