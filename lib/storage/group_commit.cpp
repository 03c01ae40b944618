#include "storage/group_commit.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "storage/preconditions.hpp"

namespace rocklock {
namespace {

std::size_t size_of(const Batch& batch) {
    std::size_t bytes = 0;
    for (const Write& write : batch.writes) {
        bytes += write.key.size() + (write.value ? write.value->size() : 0);
    }
    return bytes;
}

// The words that a parked waiter receives.
constexpr std::uint32_t word_done = 1;
constexpr std::uint32_t word_lead = 2;
constexpr std::uint32_t word_failed = 3;

// The number of rounds after which a leader hands over. Until then, it also leads rounds that are
// only for others and need no sync, since waking another thread costs more than a small write.
constexpr int rounds_for_others = 8;

// The number of times that a waiter yields before it is parked. Other threads add to the queue
// meanwhile, and a small write takes less time than parking and waking a thread. With 64 threads
// that wait for `written`, this raises the throughput by a factor of 1.7.
constexpr int yields_before_parking = 4;

// The longest delay before a sync, divided by the mean duration of a sync. Decision 0064 compares
// it with smaller values.
constexpr double delay_share = 1;
// Two threads that alternate complete one request in each sync.
constexpr std::uint64_t min_delayed_group = 1;

constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

}  // namespace

void GroupCommit::WaiterList::push(Waiter* waiter) {
    ROCKLOCK_ASSERT((first == nullptr) == (last == nullptr));
    waiter->next = nullptr;
    (last == nullptr ? first : last->next) = waiter;
    last = waiter;
}

void GroupCommit::WaiterList::push_front(Waiter* waiter) {
    waiter->next = first;
    first = waiter;
    if (last == nullptr) last = waiter;
}

GroupCommit::Waiter* GroupCommit::WaiterList::pop() {
    Waiter* const waiter = first;
    if (waiter != nullptr) {
        first = waiter->next;
        if (first == nullptr) last = nullptr;
    }
    return waiter;
}

// Removes and returns the first waiter with a deferred commit. Such a waiter is parked only if
// `relief_wanted_` was true. It can become the leader even if its commit is done.
GroupCommit::Waiter* GroupCommit::WaiterList::pop_deferred() {
    WaiterList others;
    Waiter* found = nullptr;
    while (Waiter* waiter = pop()) {
        if (found == nullptr && waiter->durability == Durability::deferred) {
            found = waiter;
        } else {
            others.push(waiter);
        }
    }
    *this = others;
    return found;
}

std::size_t GroupCommit::KeyHash::operator()(const Key& key) const noexcept {
    return std::hash<std::string_view>()(key.bytes) * family_count +
           static_cast<std::size_t>(key.family);
}

GroupCommit::GroupCommit(Engine& engine, Clock& clock, bool durable_when_written)
    : engine_(engine),
      clock_(clock),
      durable_when_written_(durable_when_written),
      delay_(delay_share, min_delayed_group) {}

CommitNumber GroupCommit::enqueue(Batch batch, Durability durability, Verdict* verdict) {
    const bool deferred = durability == Durability::deferred;
    // wait() for a deferred commit may return before the commit is checked.
    ROCKLOCK_ASSERT(!deferred || verdict == nullptr);
    MutexLock lock(mutex_);
    ++last_;
    ROCKLOCK_ASSERT(last_ > written_.load(std::memory_order_relaxed));
    ROCKLOCK_ASSERT(deferred_queued_ <= queue_.size());
    if (!failure_) {
        queue_.push_back({std::move(batch), verdict, deferred});
        if (deferred) ++deferred_queued_;
        if (durability == Durability::durable) sync_wanted_ = last_;
    }
    return last_;
}

bool GroupCommit::passed(CommitNumber number, Durability durability) const {
    const auto& mark = durability == Durability::durable ? synced_ : written_;
    return mark.load(std::memory_order_acquire) >= number;
}

Result<void> GroupCommit::wait(CommitNumber number, Durability durability) {
    if (passed(number, durability)) return {};
    const bool deferred = durability == Durability::deferred;
    if (durability == Durability::durable &&
        number > taken_for_sync_.load(std::memory_order_relaxed)) {
        arrived_.fetch_add(1, std::memory_order_relaxed);
    }
    // The current leader checks the queue again before it stops, and finds this commit.
    if (deferred && leading_.load(std::memory_order_acquire) &&
        !relief_wanted_.load(std::memory_order_relaxed)) {
        return {};
    }

    for (int i = 0; i < yields_before_parking && leading_.load(std::memory_order_acquire); ++i) {
        std::this_thread::yield();
        if (passed(number, durability)) return {};
    }

    Waiter self{number, durability};
    Group group;
    bool leader = false;
    {
        MutexLock lock(mutex_);
        ROCKLOCK_ASSERT(number <= last_);
        if (passed(number, durability)) return {};
        if (failure_) return *failure_;
        if (durability == Durability::durable) sync_wanted_ = std::max(sync_wanted_, number);
        if (leading_.load(std::memory_order_relaxed)) {
            if (deferred && !relief_wanted_) return {};
            relief_wanted_ = false;
            parked_.push(&self);
        } else {
            // The queue also contains commits that are not deferred. Their callers will call wait()
            // too, and one of these callers will lead and write this commit as well.
            if (deferred && queue_.size() > deferred_queued_) return {};
            leading_.store(true, std::memory_order_release);
            leader = true;
            group = delay_and_take(durability);
        }
    }
    if (leader) return lead(std::move(group), number, durability);
    switch (self.parker.park()) {
        case word_done:
            return {};
        case word_lead: {
            MutexLock lock(mutex_);
            group = delay_and_take(durability);
            lock.unlock();
            return lead(std::move(group), number, durability);
        }
        default:
            return failure_error();
    }
}

// This thread syncs, not the leader: a leader that syncs blocks all other writers meanwhile.
Result<void> GroupCommit::sync_through(CommitNumber number) {
    if (!engine_.syncs_concurrently()) return wait(number, Durability::durable);
    if (passed(number, Durability::durable)) return {};
    if (auto written = wait(number, Durability::written); !written) return written;
    // Read before the sync: commits that are written during the sync may not be part of it.
    const CommitNumber through = written_through();
    ROCKLOCK_ASSERT(through >= number);
    Result<void> synced = engine_.sync();
    if (mutated(Mutant::sync_error_ignored)) synced = {};
    if (!synced) {
        fail(synced.error());
        return synced;
    }
    MutexLock lock(mutex_);
    if (failure_) return *failure_;
    ROCKLOCK_ASSERT(through <= written_.load(std::memory_order_relaxed));
    if (synced_.load(std::memory_order_relaxed) < through) {
        synced_.store(through, std::memory_order_release);
    }
    return {};
}

bool GroupCommit::done(CommitNumber number, Durability durability) const {
    return durability == Durability::deferred || passed(number, durability) ||
           failed_.load(std::memory_order_acquire);
}

// Leads rounds until the leader's own commit is done and either another thread leads or no leader
// is needed. The own commit is usually in `group`. It is in a later group if the engine has no room
// for all commits that were queued before it.
Result<void> GroupCommit::lead(Group group, CommitNumber own, Durability durability) {
    const bool may_sync = durability != Durability::deferred;
    // Whether the own commit is not done.
    bool owed = true;
    int rounds_led = 0;
    for (;;) {
        const bool awaited = owed;
        Result<void> written = write_group(group);
        Outcome outcome;
        {
            MutexLock lock(mutex_);
            owed = group.through < own;
            if (!owed) ++rounds_led;
            if (group.sync && !durable_when_written_) {
                delay_.end(arrived_.load(std::memory_order_relaxed), group.arrived,
                           clock_.now().boot);
            }
            outcome = finish_round(group, written, owed, rounds_led >= rounds_for_others);
        }
        // Wake the next leader first, because the remaining waiters depend on its work.
        if (outcome.successor != nullptr) outcome.successor->parker.unpark(word_lead);
        while (Waiter* waiter = outcome.done.pop()) waiter->parker.unpark(word_done);
        while (Waiter* waiter = outcome.failed.pop()) waiter->parker.unpark(word_failed);
        if (outcome.leaves_deferred) engine_.deferred_left();

        group.commits.clear();
        MutexLock lock(mutex_);
        if (spare_.capacity() < group.commits.capacity()) spare_.swap(group.commits);
        // The error of a later round does not concern the leader's own commit.
        if (!written && awaited) return written;
        if (owed && failure_) return *failure_;
        if (!outcome.leader_continues) return {};
        // A round for others writes without a sync. If a waiter needs a sync, it is parked and
        // becomes the next leader.
        group = take(everything, owed && may_sync);
    }
}

GroupCommit::Group GroupCommit::take(std::size_t limit, bool may_sync) {
    ROCKLOCK_ASSERT(leading_.load(std::memory_order_relaxed) && !failure_);
    ROCKLOCK_ASSERT(spare_.empty());
    Group group;
    group.commits.swap(spare_);
    limit = fitting(limit);
    if (limit >= queue_.size()) {
        group.commits.swap(queue_);
    } else {
        const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(limit);
        std::move(queue_.begin(), end, std::back_inserter(group.commits));
        queue_.erase(queue_.begin(), end);
    }
    for (const Pending& pending : group.commits) deferred_queued_ -= pending.deferred ? 1 : 0;
    group.through = last_ - queue_.size();
    ROCKLOCK_ASSERT(deferred_queued_ <= queue_.size());
    // No commit is lost between two rounds, and none is written twice.
    ROCKLOCK_ASSERT(group.through - group.commits.size() ==
                    written_.load(std::memory_order_relaxed));
    group.sync = will_sync(may_sync);
    if (group.sync) taken_for_sync_.store(group.through, std::memory_order_relaxed);
    group.arrived = arrived_.load(std::memory_order_relaxed);
    return group;
}

// If written commits count as durable, no later sync would confirm a commit without writes.
bool GroupCommit::will_sync(bool may_sync) const {
    return (may_sync || durable_when_written_) &&
           sync_wanted_ > synced_.load(std::memory_order_relaxed);
}

// If it delays, releases the mutex during the delay. The caller leads, so no other thread takes the
// queue meanwhile.
GroupCommit::Group GroupCommit::delay_and_take(Durability durability) {
    const bool may_sync = durability != Durability::deferred;
    // If written commits are durable, the lock manager delays the commits of its clients.
    if (!durable_when_written_ && will_sync(may_sync)) {
        // A leader that has not counted as arrived may be the thread for which it would wait.
        if (durability == Durability::durable) delay_sync();
        delay_.begin(clock_.now().boot);
    }
    return take(everything, may_sync);
}

void GroupCommit::delay_sync() {
    using std::chrono::steady_clock;
    const BootTime now = clock_.now().boot;
    const BootTime until = delay_.delay_until(arrived_.load(std::memory_order_relaxed), now);
    if (now < until) {
        delay_.start_delay();
        const std::uint64_t wanted = delay_.wanted();
        // The clock of a test may stand still.
        const auto end = steady_clock::now() + (until - now);
        mutex_.unlock();
        while (arrived_.load(std::memory_order_relaxed) < wanted && steady_clock::now() < end) {
            std::this_thread::yield();
        }
        mutex_.lock();
        delay_.stop_delay(arrived_.load(std::memory_order_relaxed));
    }
}

// Returns how many of the first `limit` commits in the queue the engine can write at once; at least
// one.
std::size_t GroupCommit::fitting(std::size_t limit) const {
    const Engine::Room room = engine_.room();
    limit = std::min(limit, queue_.size());
    if (room.writes == everything && room.bytes == everything) return limit;
    std::size_t writes = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < limit; ++i) {
        writes += queue_[i].batch.writes.size();
        bytes += size_of(queue_[i].batch);
        if (i > 0 && (writes > room.writes || bytes > room.bytes)) return i;
    }
    return limit;
}

Result<void> GroupCommit::write_group(Group& group) {
    accepted_.clear();
    overlay_.clear();
    overlaid_ = 0;
    std::optional<BootTime> now;
    for (std::size_t i = 0; i < group.commits.size(); ++i) {
        Pending& pending = group.commits[i];
        if (!pending.batch.preconditions.empty() || pending.batch.not_after) {
            if (!now) now = clock_.now().boot;
            Result<std::optional<Error>> refused = judge_commit(group, i, *now);
            if (!refused) return std::move(refused).error();
            if (*refused) {
                if (pending.verdict != nullptr) pending.verdict->refused = **std::move(refused);
                continue;
            }
        }
        if (!pending.batch.writes.empty()) accepted_.push_back(&pending.batch);
    }
    Result<void> written;
    if (!accepted_.empty()) {
        written = engine_.write(accepted_, group.sync);
    } else if (group.sync) {
        written = engine_.sync();
    }
    if (mutated(Mutant::sync_error_ignored) && group.sync) written = {};
    return written;
}

Result<std::optional<Error>> GroupCommit::judge_commit(const Group& group, std::size_t index,
                                                       BootTime now) {
    // Most groups contain no preconditions and skip this.
    ROCKLOCK_ASSERT(index < group.commits.size() && overlaid_ <= accepted_.size());
    for (; overlaid_ < accepted_.size(); ++overlaid_) remember_writes(*accepted_[overlaid_]);
    return judge(group.commits[index].batch, now, [this](Family family, std::string_view key) {
        const auto pending = overlay_.find(Key{family, key});
        if (pending == overlay_.end()) return engine_.version(family, key);
        return Result<std::optional<std::uint64_t>>(pending->second);
    });
}

void GroupCommit::remember_writes(const Batch& batch) {
    for (const Write& write : batch.writes) {
        overlay_[Key{write.family, write.key}] =
            write.value ? std::optional(version_of(*write.value)) : std::nullopt;
    }
}

void GroupCommit::advance(const Group& group) {
    ROCKLOCK_ASSERT(group.through >= written_.load(std::memory_order_relaxed));
    written_.store(group.through, std::memory_order_release);
    ROCKLOCK_ASSERT(group.through >= synced_.load(std::memory_order_relaxed));
    if (group.sync || durable_when_written_) {
        synced_.store(group.through, std::memory_order_release);
    }
    ROCKLOCK_ASSERT(synced_.load(std::memory_order_relaxed) <=
                    written_.load(std::memory_order_relaxed));
}

GroupCommit::WaiterList GroupCommit::take_done() {
    WaiterList done;
    WaiterList rest;
    while (Waiter* waiter = parked_.pop()) {
        if (passed(waiter->number, waiter->durability)) {
            done.push(waiter);
        } else if (waiter->durability == Durability::deferred) {
            // To the front, since it must not wait for the sync of another waiter.
            rest.push_front(waiter);
        } else {
            rest.push(waiter);
        }
    }
    parked_ = rest;
    return done;
}

// If `owed` is true, the leader continues because its own commit is not done.
GroupCommit::Outcome GroupCommit::finish_round(const Group& group, const Result<void>& written,
                                               bool owed, bool hand_over) {
    ROCKLOCK_ASSERT(leading_.load(std::memory_order_relaxed) && !failure_);
    Outcome outcome;
    if (written) advance(group);
    outcome.done = take_done();
    if (!written || found_) {
        outcome.failed = std::exchange(parked_, {});
        leading_.store(false, std::memory_order_release);
        fail_now(written ? *found_ : written.error());
        return outcome;
    }
    if (owed) {
        outcome.leader_continues = true;
        return outcome;
    }
    const bool deferred = deferred_queued_ > 0;
    outcome.leaves_deferred = deferred && parked_.first == nullptr && engine_.leaves_deferred();
    const bool more = parked_.first != nullptr || (deferred && !outcome.leaves_deferred);
    const bool sync_awaited = sync_parked();
    if (more && (hand_over || sync_awaited)) {
        outcome.successor = parked_.first != nullptr ? parked_.pop() : outcome.done.pop_deferred();
    }
    outcome.leader_continues = more && outcome.successor == nullptr;
    relief_wanted_ = outcome.leader_continues && hand_over;
    if (!more) leading_.store(false, std::memory_order_release);
    return outcome;
}

bool GroupCommit::sync_parked() const {
    for (const Waiter* waiter = parked_.first; waiter != nullptr; waiter = waiter->next) {
        if (waiter->durability == Durability::durable) return true;
    }
    return false;
}

void GroupCommit::fail_now(const Error& error) {
    if (failure_) return;
    // An orderly close is not a failure of the engine.
    if (error.code != ErrorCode::closing) engine_.failed(error);
    failure_ = error;
    queue_.clear();
    deferred_queued_ = 0;
    failed_.store(true, std::memory_order_release);
}

void GroupCommit::fail(const Error& error) {
    MutexLock lock(mutex_);
    if (leading_.load(std::memory_order_relaxed)) {
        if (!found_) found_ = error;
    } else {
        fail_now(error);
    }
}

Result<void> GroupCommit::step(std::size_t limit, bool sync) {
    Group group;
    {
        MutexLock lock(mutex_);
        if (failure_) return *failure_;
        ROCKLOCK_ASSERT(!leading_.load(std::memory_order_relaxed));
        leading_.store(true, std::memory_order_release);
        group = take(limit, false);
        group.sync = sync;
    }
    Result<void> written = write_group(group);
    MutexLock lock(mutex_);
    const Outcome outcome = finish_round(group, written, false, false);
    leading_.store(false, std::memory_order_release);
    ROCKLOCK_ASSERT(outcome.done.first == nullptr && outcome.failed.first == nullptr &&
                    outcome.successor == nullptr);
    return written;
}

Result<void> GroupCommit::close() {
    const CommitNumber number = enqueue(Batch{}, Durability::durable, nullptr);
    Result<void> waited = wait(number, Durability::durable);
    if (!waited && waited.error().code == ErrorCode::closing) return {};
    if (waited) fail(Error(ErrorCode::closing, "the store is closed"));
    return waited;
}

std::optional<Error> GroupCommit::failure() const {
    if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
    return failure_error();
}

Error GroupCommit::failure_error() const {
    MutexLock lock(mutex_);
    ROCKLOCK_ASSERT(failure_.has_value());
    return *failure_;
}

void GroupCommit::write_deferred() {
    CommitNumber last = 0;
    {
        const MutexLock lock(mutex_);
        if (deferred_queued_ == 0) return;
        last = last_;
    }
    std::ignore = wait(last, Durability::deferred);
}

CommitNumber GroupCommit::one_write_through() const {
    MutexLock lock(mutex_);
    return last_ - queue_.size() + fitting(everything);
}

std::size_t GroupCommit::queued() const {
    MutexLock lock(mutex_);
    return queue_.size();
}

}  // namespace rocklock
