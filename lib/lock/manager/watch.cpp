// Events: told when what they rest on is as durable as it must be, to whoever waits for them.
//
// The log is brought up to date by whoever looks at it. Only while somebody waits does a decision
// call the thread, which makes durable what nobody else does, as for notices.
#include <algorithm>
#include <thread>
#include <utility>

#include "base/mutant.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

using manager::Watch;

namespace {

// A page that somebody who waits is to be given.
bool says_something(const Result<EventPage>& page) {
    return !page || !page->events.empty() || page->gap;
}

// Somebody waits in the caller's thread.
struct Watcher {
    Parker parker;
    std::optional<Result<EventPage>> page;
};

}  // namespace

bool LockManager::Core::log_events(const CommitDependency& dependency) {
    MutexLock lock(watching);
    const bool early = mutated(Mutant::event_before_durable);
    log.add(decision.events, early ? CommitDependency{} : dependency);
    return !watches.empty();
}

std::optional<Error> LockManager::Core::end_of_events() {
    MutexLock lock(mutex);
    if (failed) return failed;
    return refusal();
}

void LockManager::Core::submit_watch(Ticket ticket, WatchRequest request,
                                     LockService::WatchCompletion done) {
    if (auto error = end_of_events()) return done(*std::move(error));
    const BootTime now = clock.now().boot;
    Result<EventPage> page = EventPage{};
    bool waits = false;
    {
        MutexLock lock(watching);
        log.publish(storage);
        page = log.page(request);
        waits = !unwatched && !says_something(page) && request.patience.count() > 0;
        if (waits) {
            Watch watch;
            watch.patience_ends = lock_model::patience_end(now, request.patience);
            // What it has seen in vain it need not look at again.
            request.after = page->after;
            watch.request = std::move(request);
            watch.done.swap(done);
            watches.emplace(ticket, std::move(watch));
        }
    }
    if (!waits) return done(std::move(page));
    // It may be that nobody else makes the next event durable, or looks at the time.
    if (options.background) thread.call();
}

Result<EventPage> LockManager::Core::watch(const WatchRequest& request,
                                           const std::stop_token& stop) {
    Watcher watcher;
    Ticket ticket{};
    {
        MutexLock lock(mutex);
        ticket = take_ticket();
    }
    submit_watch(ticket, request, [&watcher](Result<EventPage> page) {
        watcher.page = std::move(page);
        watcher.parker.unpark(1);
    });
    const std::stop_callback on_stop(stop, [this, ticket] { cancel_watch(ticket); });
    if (!options.background) {
        // Nobody else minds the time: look at it in between.
        for (;;) {
            {
                MutexLock lock(watching);
                if (!watches.contains(ticket)) break;
            }
            decide_due();
            deliver_done();
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    watcher.parker.park();
    return *std::move(watcher.page);
}

bool LockManager::Core::cancel_watches(std::span<const Ticket> tickets) {
    bool any = false;
    {
        MutexLock lock(watching);
        if (watches.empty()) return false;
        for (const Ticket ticket : tickets) {
            const auto found = watches.find(ticket);
            if (found == watches.end()) continue;
            found->second.cancelled = true;
            any = true;
        }
    }
    if (!any) return false;
    if (options.background) {
        thread.call();
    } else {
        deliver_events();
    }
    return true;
}

void LockManager::Core::deliver_events() {
    const auto end = end_of_events();
    const BootTime now = clock.now().boot;
    std::vector<std::pair<LockService::WatchCompletion, Result<EventPage>>> answers;
    {
        MutexLock lock(watching);
        log.publish(storage);
        for (auto watch = watches.begin(); watch != watches.end();) {
            Watch& waiting = watch->second;
            Result<EventPage> page = log.page(waiting.request);
            if (end) page = *end;
            if (waiting.cancelled) {
                page = Error(ErrorCode::cancelled, "the wait for events was cancelled");
            }
            if (says_something(page) || waiting.patience_ends <= now) {
                answers.emplace_back(std::move(waiting.done), std::move(page));
                watch = watches.erase(watch);
            } else {
                waiting.request.after = page->after;
                ++watch;
            }
        }
    }
    for (auto& [done, page] : answers) done(std::move(page));
}

bool LockManager::Core::events_awaited() {
    if (!log_is_on()) return false;
    MutexLock lock(watching);
    log.publish(storage);
    return !watches.empty() && log.unpublished();
}

std::optional<BootTime> LockManager::Core::first_impatience() {
    if (!log_is_on()) return std::nullopt;
    MutexLock lock(watching);
    BootTime first = BootTime::max();
    for (const auto& [ticket, watch] : watches) first = std::min(first, watch.patience_ends);
    if (first == BootTime::max()) return std::nullopt;
    return first;
}

void LockManager::Core::note_answered(const DeferredActions& after, const Result<Answer>& answer) {
    if (after.acquired_at && answer) acquires.add(clock.now().boot - *after.acquired_at);
}

}  // namespace rocklock
