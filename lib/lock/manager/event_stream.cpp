#include "lock/manager/event_stream.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock::manager {
namespace {

// If more decisions than this have unpublished events, add() also publishes events. Otherwise, the
// list of these decisions could become as long as the log while no client reads events.
constexpr std::size_t max_unpublished = 64;

// Returns whether a page completes a watch.
bool says_something(const Result<EventPage>& page) {
    return !page || !page->events.empty() || page->gap;
}

}  // namespace

void EventStream::start(std::uint64_t first, const lock_model::EncodedEvents& events) {
    const MutexLock lock(mutex_);
    log_.start(first);
    log_.add(events, {});
}

bool EventStream::add(const lock_model::EncodedEvents& events, const CommitDependency& dependency) {
    const MutexLock lock(mutex_);
    const bool early = mutated(Mutant::event_before_durable);
    log_.add(events, early ? CommitDependency{} : dependency);
    if (log_.unpublished() > max_unpublished) log_.publish(storage_);
    return !watches_.empty();
}

std::optional<Result<EventPage>> EventStream::watch(Ticket ticket, WatchRequest request,
                                                    LockService::WatchCompletion& done,
                                                    BootTime now) {
    const MutexLock lock(mutex_);
    log_.publish(storage_);
    Result<EventPage> page = log_.page(request);
    if (closed_ || says_something(page) || request.patience.count() <= 0) return page;
    Watch watch;
    watch.timeout_ends = lock_model::patience_end(now, request.patience);
    // The next search begins after the events that did not match.
    request.after = page->after;
    watch.request = std::move(request);
    watch.done.swap(done);
    ROCKLOCK_ASSERT(watch.done != nullptr);
    const bool added = watches_.emplace(ticket, std::move(watch)).second;
    ROCKLOCK_ASSERT(added);
    return std::nullopt;
}

bool EventStream::is_watching(Ticket ticket) const {
    const MutexLock lock(mutex_);
    return watches_.contains(ticket);
}

bool EventStream::cancel(std::span<const Ticket> tickets) {
    const MutexLock lock(mutex_);
    if (watches_.empty()) return false;
    bool any = false;
    for (const Ticket ticket : tickets) {
        const auto found = watches_.find(ticket);
        if (found == watches_.end()) continue;
        found->second.cancelled = true;
        any = true;
    }
    return any;
}

EventStream::Answers EventStream::take_answers(const std::optional<Error>& end, BootTime now) {
    Answers answers;
    const MutexLock lock(mutex_);
    log_.publish(storage_);
    for (auto at = watches_.begin(); at != watches_.end();) {
        Watch& watch = at->second;
        Result<EventPage> page = log_.page(watch.request);
        if (end) page = *end;
        if (watch.cancelled) {
            page = Error(ErrorCode::cancelled, "the wait for events was cancelled");
        }
        if (says_something(page) || watch.timeout_ends <= now) {
            answers.emplace_back(std::move(watch.done), std::move(page));
            at = watches_.erase(at);
        } else {
            watch.request.after = page->after;
            ++at;
        }
    }
    return answers;
}

bool EventStream::is_awaited() {
    if (!is_on_) return false;
    const MutexLock lock(mutex_);
    log_.publish(storage_);
    return !watches_.empty() && log_.unpublished() > 0;
}

std::optional<BootTime> EventStream::first_timeout() const {
    if (!is_on_) return std::nullopt;
    const MutexLock lock(mutex_);
    BootTime first = BootTime::max();
    for (const auto& [ticket, watch] : watches_) first = std::min(first, watch.timeout_ends);
    if (first == BootTime::max()) return std::nullopt;
    return first;
}

void EventStream::close() {
    const MutexLock lock(mutex_);
    closed_ = true;
}

Result<std::vector<std::optional<LockEvent>>> EventStream::find(
    const std::vector<std::uint64_t>& sequences) {
    std::vector<std::optional<LockEvent>> events;
    const MutexLock lock(mutex_);
    log_.publish(storage_);
    if (auto none = log_.check_on()) return *std::move(none);
    for (const std::uint64_t sequence : sequences) events.push_back(log_.find(sequence));
    return events;
}

std::optional<Result<InRange<LockEvent>>> EventStream::search(EventSearch& search) {
    const MutexLock lock(mutex_);
    log_.publish(storage_);
    if (auto none = log_.check_on()) return Result<InRange<LockEvent>>(*std::move(none));
    auto found = log_.search(search);
    if (!found) return std::nullopt;
    return Result<InRange<LockEvent>>(*std::move(found));
}

std::pair<std::uint64_t, std::uint64_t> EventStream::counts() const {
    const MutexLock lock(mutex_);
    return {log_.kept(), log_.dropped()};
}

}  // namespace rocklock::manager
