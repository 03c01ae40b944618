#include "daemon/node/etcd_monitor.hpp"

#include <string>

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds measure_period{5'000};
constexpr milliseconds measure_timeout{2'000};
// The resolution of State::delay.
constexpr milliseconds observe_period{10};

std::uint64_t number_of(const etcd::KeyValue* commit) {
    const auto record = commit != nullptr ? etcd::decode_commit(commit->value) : std::nullopt;
    return record ? record->number : 0;
}

}  // namespace

void EtcdMonitor::start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void EtcdMonitor::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        const MutexLock lock(mutex_);
        stopped_.notify_all();
    });
    while (!stop.stop_requested()) {
        measure(stop);
        const auto next = steady_clock::now() + measure_period;
        bool complete = false;
        for (auto now = steady_clock::now(); now < next && !stop.stop_requested();
             now = steady_clock::now()) {
            if (!complete) complete = observe_copy(now);
            const auto left = std::chrono::ceil<milliseconds>(next - now);
            MutexLock lock(mutex_);
            if (!stop.stop_requested()) {
                stopped_.wait_for(mutex_, complete ? left : observe_period);
            }
        }
    }
}

void EtcdMonitor::measure(const std::stop_token& stop) {
    const auto commit = client_.range({.key = layout_.commit()}, measure_timeout);
    const bool skips = !commit || stop.stop_requested();
    const auto status = skips ? Result<etcd::Status>(Error()) : client_.status(measure_timeout);
    const auto now = steady_clock::now();
    const MutexLock lock(mutex_);
    measured_.answers = commit && status;
    if (!measured_.answers) return;
    measured_at_ = now;
    measured_.age = std::chrono::nanoseconds{0};
    measured_.bytes = static_cast<std::uint64_t>(status->db_bytes);
    measured_.used_bytes = static_cast<std::uint64_t>(status->db_bytes_in_use);
    measured_.commit = number_of(commit->first());
    // The delay is that of the oldest commit that is missing. A store that was replaced can have
    // fewer commits.
    if (expected_ && expected_->commit <= measured_.commit) return;
    expected_.reset();
    measured_.delay = std::chrono::nanoseconds{0};
    if (copy_.commit_number() < measured_.commit) expected_ = Expected{measured_.commit, now};
}

bool EtcdMonitor::observe_copy(Time now) {
    const auto contained = copy_.commit_number();
    const MutexLock lock(mutex_);
    if (!expected_) return true;
    if (contained < expected_->commit) return false;
    measured_.delay = now - expected_->since;
    expected_.reset();
    return true;
}

EtcdMonitor::State EtcdMonitor::state(Time now) const {
    const auto contained = copy_.commit_number();
    const MutexLock lock(mutex_);
    State state = measured_;
    if (state.age) state.age = now - measured_at_;
    state.missing_commits = contained < state.commit ? state.commit - contained : 0;
    if (expected_) state.delay = now - expected_->since;
    return state;
}

}  // namespace rocklock
