#include "lock/manager/commit_scheduler.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"

namespace rocklock::manager {
namespace {

using std::chrono::milliseconds;

// If at most this number of responses wait for a sync, the flushing thread makes the sync itself.
constexpr std::size_t max_own_answers = 2;
// If the average duration of about the last eight syncs is longer than this, the manager's thread
// makes all syncs during the next `slow_for`, so that no flushing thread waits for the device.
constexpr milliseconds slow_sync{2};
constexpr milliseconds slow_for{200};

}  // namespace

CommitDependency CommitScheduler::enqueue(Decision& decision) {
    if (decision.batch.empty()) {
        const bool answers = !decision.replies.empty() || !decision.history.empty();
        return answers ? current() : earlier();
    }
    Durability durability = decision.durability;
    if (!decision.synced) durability = std::min(durability, max_durability_);
    const CommitNumber before = last_;
    last_ = storage_.enqueue(std::move(decision.batch), durability);
    ROCKLOCK_ASSERT(last_ > before);
    if (durability == Durability::durable) last_durable_ = last_;
    if (durability != Durability::deferred) last_kept_ = last_;
    if (decision.reserved && !mutated(Mutant::token_block_not_synced)) {
        reservation_ = {last_, *decision.reserved};
    }
    ROCKLOCK_ASSERT(last_durable_ <= last_ && last_kept_ <= last_);
    return {last_, durability};
}

CommitDependency CommitScheduler::enqueue_deferred(Batch batch) {
    ROCKLOCK_ASSERT(!batch.empty());
    last_ = storage_.enqueue(std::move(batch), Durability::deferred);
    return all_deferred();
}

CommitDependency CommitScheduler::current() {
    if (!must_confirm_ || mutated(Mutant::confirmed_too_early)) return earlier();
    last_ = storage_.enqueue(Batch{}, Durability::durable);
    last_durable_ = last_;
    last_kept_ = last_;
    return all_durable();
}

CommitDependency CommitScheduler::earlier() const {
    if (max_durability_ == Durability::durable) return all_durable();
    return {last_kept_, Durability::written};
}

std::optional<ReservedNumbers> CommitScheduler::take_confirmed() {
    if (!reservation_ || !storage_.done(reservation_->commit, Durability::durable)) {
        return std::nullopt;
    }
    const ReservedNumbers numbers = reservation_->numbers;
    reservation_.reset();
    return numbers;
}

CommitNumber CommitScheduler::unsynced_reservation() const {
    if (!reservation_ || storage_.done(reservation_->commit, Durability::durable)) return 0;
    return reservation_->commit;
}

bool CommitScheduler::flusher_syncs(std::size_t answers, BootTime now) const {
    return answers <= max_own_answers && now >= slow_until_;
}

void CommitScheduler::note_sync(std::chrono::nanoseconds duration, BootTime end) {
    sync_takes_ += (duration - sync_takes_) / 8;
    if (sync_takes_ <= slow_sync) return;
    // Resets the average: after `slow_for`, it is computed from new syncs only.
    sync_takes_ = {};
    slow_until_ = end + slow_for;
}

std::optional<milliseconds> CommitScheduler::may_defer_for(BootTime now) {
    if (!deferred_since_) return std::nullopt;
    const bool written = storage_.done(last_, Durability::written);
    if (!written && now - *deferred_since_ < max_defer) return max_defer;
    deferred_since_.reset();
    if (written) return std::nullopt;
    return milliseconds{0};
}

}  // namespace rocklock::manager
