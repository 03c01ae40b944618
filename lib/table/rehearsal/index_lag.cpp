#include "table/rehearsal/index_lag.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace rocklock::table {
namespace {

constexpr int moments_in_lag = 16;

}  // namespace

IndexLag::IndexLag(const Storage& storage, Clock& clock, std::chrono::milliseconds lag)
    : storage_(storage),
      clock_(clock),
      lag_(lag),
      step_(
          std::max<std::chrono::nanoseconds>(lag_ / moments_in_lag, std::chrono::milliseconds(1))) {
    MutexLock lock(mutex_);
    moments_.push_back({BootTime::min(), storage_.snapshot()});
}

void IndexLag::before_write() {
    MutexLock lock(mutex_);
    keep_moment(clock_.now().boot);
}

void IndexLag::after_write() {
    MutexLock lock(mutex_);
    written_ = clock_.now().boot;
}

std::shared_ptr<const Snapshot> IndexLag::moment() {
    MutexLock lock(mutex_);
    keep_moment(clock_.now().boot);
    ROCKLOCK_ASSERT(!moments_.empty() && moments_.front().snapshot != nullptr);
    return moments_.front().snapshot;
}

void IndexLag::keep_moment(BootTime now) {
    if (written_ && (moments_.back().since == BootTime::min() ||
                     now - moments_.back().since >= std::min(step_, lag_))) {
        ROCKLOCK_ASSERT(moments_.back().since <= *written_);
        moments_.push_back({*written_, storage_.snapshot()});
        written_.reset();
    }
    while (moments_.size() > 1 && moments_[1].since + lag_ <= now) moments_.pop_front();
}

}  // namespace rocklock::table
