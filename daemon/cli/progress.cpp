#include "daemon/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

namespace rocklock {
namespace {

constexpr int bar_width = 40;
constexpr std::chrono::milliseconds refresh_period{100};

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), shown_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
    if (shown_ && percent_ >= 0) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::set(std::uint64_t done, std::uint64_t whole) {
    if (!shown_ || whole == 0) return;
    const int percent = static_cast<int>(std::min(done, whole) * 100 / whole);
    // `whole` may grow between calls. The bar never moves backwards.
    int before = percent_;
    do {
        if (percent <= before) return;
    } while (!percent_.compare_exchange_weak(before, percent));
    const auto full = static_cast<std::size_t>(percent * bar_width / 100);
    const std::string bar = std::string(full, '#') + std::string(bar_width - full, '.');
    std::fprintf(stderr, "\r%s [%s] %3d%%", what_.c_str(), bar.c_str(), percent);
}

Ticker::Ticker(std::function<void()> tick)
    : thread_([tick = std::move(tick)](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any ended;
          std::unique_lock lock(mutex);
          while (!stop.stop_requested()) {
              tick();
              ended.wait_for(lock, stop, refresh_period, [] { return false; });
          }
      }) {}

}  // namespace rocklock
