#include "storage/etcd/deferred_writer.hpp"

#include <chrono>
#include <utility>

namespace rocklock::etcd {
namespace {

// Within this time, another write can include the commits.
constexpr std::chrono::milliseconds pause_before_write{5};

}  // namespace

DeferredWriter::DeferredWriter(std::function<void()> write)
    : write_(std::move(write)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void DeferredWriter::request() {
    const MutexLock lock(mutex_);
    requested_ = true;
    changed_.notify_one();
}

void DeferredWriter::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void DeferredWriter::run(const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [this] {
        const MutexLock lock(mutex_);
        changed_.notify_one();
    });
    while (!stop.stop_requested()) {
        {
            MutexLock lock(mutex_);
            while (!requested_ && !stop.stop_requested()) changed_.wait(mutex_);
            requested_ = false;
        }
        std::this_thread::sleep_for(pause_before_write);
        if (!stop.stop_requested()) write_();
    }
}

}  // namespace rocklock::etcd
