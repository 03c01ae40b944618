#include "database/table_sweeper.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// The pause after a failed step, and the minimum pause between steps, which lets other threads run.
constexpr milliseconds after_failure{10'000};
constexpr milliseconds min_pause{1};

}  // namespace

void TableSweeper::start() {
    const MutexLock lock(mutex_);
    if (std::exchange(started_, true) || ending_) return;
    ROCKLOCK_ASSERT(!thread_.joinable());
    thread_ = std::thread([this] { run(); });
}

void TableSweeper::stop() {
    std::thread thread;
    {
        const MutexLock lock(mutex_);
        ending_ = true;
        thread.swap(thread_);
    }
    wake_.notify_all();
    if (thread.joinable()) thread.join();
}

void TableSweeper::run() {
    while (true) {
        const auto report = tables_.sweep_expired({});
        const auto pause = report ? std::max(report->next, min_pause) : after_failure;
        const MutexLock lock(mutex_);
        // A spurious wake-up is harmless, because a step can be executed at any time.
        if (!ending_) wake_.wait_for(mutex_, pause);
        if (ending_) return;
    }
}

}  // namespace rocklock
