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
    std::uint32_t value = value_.load(std::memory_order_acquire);
    while (value == 0) {
        syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        value = value_.load(std::memory_order_acquire);
    }
    return value;
}

void Parker::unpark(std::uint32_t value) noexcept {
    // Not std::atomic::notify_one(): as soon as the value is stored, the other thread may return
    // from park() and destroy this object. The kernel uses the address only as a key, so the worst
    // result of a late wake is a spurious wakeup of another thread that waits at the same address.
    auto* const address = &value_;
    value_.store(value, std::memory_order_release);
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace rocklock
