#include "daemon/cli/run/call_worker.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace rocklock {

CallWorker::CallWorker(LockConnection& connection)
    : connection_(connection), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CallWorker::~CallWorker() {
    rest();
    ::close(event_);
}

void CallWorker::rest() {
    if (!thread_.joinable()) return;
    cancel();
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    ending_ = false;
    take();
    busy_ = false;
}

void CallWorker::start(Call call, std::optional<std::chrono::steady_clock::time_point> deadline) {
    busy_ = true;
    stop_ = std::stop_source();
    const std::lock_guard lock(mutex_);
    call_ = std::move(call);
    limits_ = {deadline, stop_.get_token()};
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    wake_.notify_all();
}

std::optional<Result<Reply>> CallWorker::take() {
    const std::lock_guard lock(mutex_);
    if (!reply_) return std::nullopt;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto size = ::read(event_, &count, sizeof count);
    busy_ = false;
    return std::exchange(reply_, std::nullopt);
}

void CallWorker::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return ending_ || call_; });
        if (ending_) {
            call_.reset();
            return;
        }
        Call call = *std::exchange(call_, std::nullopt);
        const CallLimits limits = limits_;
        lock.unlock();
        auto reply = connection_.call(std::move(call), limits);
        lock.lock();
        reply_ = std::move(reply);
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto size = ::write(event_, &one, sizeof one);
    }
}

}  // namespace rocklock
