#include "lock/manager/wake_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {

WakeThread::WakeThread()
    : called_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    ROCKLOCK_ASSERT(called_ >= 0 && timer_ >= 0);
}

WakeThread::~WakeThread() {
    stop();
    ::close(called_);
    ::close(timer_);
}

void WakeThread::start(std::function<std::optional<BootTime>()> work) {
    thread_ = std::jthread(
        [this, work = std::move(work)](const std::stop_token& stop) { run(stop, work); });
}

void WakeThread::call() {
    const std::uint64_t one = 1;
    // If the counter is full, the write fails, but poll() returns anyway.
    [[maybe_unused]] const ssize_t written = ::write(called_, &one, sizeof one);
}

void WakeThread::stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    call();
    thread_.join();
}

void WakeThread::run(const std::stop_token& stop,
                     const std::function<std::optional<BootTime>()>& work) const {
    while (!stop.stop_requested()) {
        const std::optional<BootTime> next = work();
        itimerspec when{};
        if (next) {
            // A time of zero would disarm the timer.
            const auto at = std::max<std::int64_t>(next->time_since_epoch().count(), 1);
            when.it_value = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
        }
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
        std::array<pollfd, 2> sources{pollfd{called_, POLLIN, 0}, pollfd{timer_, POLLIN, 0}};
        ::poll(sources.data(), sources.size(), -1);
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t calls = ::read(called_, &count, sizeof count);
    }
}

}  // namespace rocklock
