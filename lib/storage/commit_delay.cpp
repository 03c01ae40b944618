#include "storage/commit_delay.hpp"

#include <algorithm>

namespace rocklock {
namespace {

constexpr std::chrono::milliseconds max_delay{5};
constexpr std::uint32_t max_pause = 64;

}  // namespace

void CommitDelay::begin(BootTime now) {
    began_ = now;
    if (pause_left_ > 0) --pause_left_;
}

void CommitDelay::end(std::uint64_t arrived, std::uint64_t completed, BootTime now) {
    group_ = completed - completed_;
    completed_ = completed;
    commit_takes_ += (now - began_ - commit_takes_) / 8;
    ended_ = now;
    wanted_ = arrived + group_;
}

BootTime CommitDelay::delay_until(std::uint64_t arrived, BootTime now) const {
    if (group_ < min_group_ || pause_left_ > 0 || arrived >= wanted_) return now;
    const auto part = std::chrono::duration_cast<std::chrono::nanoseconds>(commit_takes_ * share_);
    return ended_ + std::min<std::chrono::nanoseconds>(part, max_delay);
}

void CommitDelay::stop_delay(std::uint64_t arrived) {
    delaying_ = false;
    // A few clients may be late.
    if (arrived + group_ / 8 >= wanted_) {
        pause_ = 0;
        return;
    }
    pause_ = std::min(2 * pause_ + 1, max_pause);
    // The commit that follows has already been delayed.
    pause_left_ = pause_ + 1;
}

}  // namespace rocklock
