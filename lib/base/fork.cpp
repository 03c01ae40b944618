#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>

#include "base/assert.hpp"

namespace rocklock {
namespace {

std::atomic<std::uint32_t> generation{0};

bool count_forks() {
    const int failed = pthread_atfork(nullptr, nullptr,
                                      [] { generation.fetch_add(1, std::memory_order_relaxed); });
    ROCKLOCK_ASSERT(failed == 0);
    return true;
}

}  // namespace

std::uint32_t fork_generation() noexcept {
    [[maybe_unused]] static const bool counting = count_forks();
    return generation.load(std::memory_order_relaxed);
}

}  // namespace rocklock
