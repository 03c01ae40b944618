#include "base/parker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rocklock {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

std::uint32_t Parker::park() noexcept {
    std::uint32_t word = word_.load(std::memory_order_acquire);
    while (word == 0) {
        syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        word = word_.load(std::memory_order_acquire);
    }
    return word;
}

void Parker::unpark(std::uint32_t word) noexcept {
    // Not std::atomic::notify_one(): the sleeper may see the word and be gone before it is called.
    // The kernel only takes the address for a name, and whoever sleeps there next bears a false
    // alarm.
    auto* const address = &word_;
    word_.store(word, std::memory_order_release);
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace rocklock
