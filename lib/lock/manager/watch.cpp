// Watches: clients that wait for events. An event is delivered after its commit is as durable as
// required.
//
// Any thread that reads the log publishes events first. A decision calls the manager's thread only
// if a client is watching. That thread then makes a commit durable if no other thread does so.
#include <algorithm>
#include <thread>
#include <utility>

#include "base/mutant.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

namespace {

// A watch() call that waits in its own thread.
struct Watcher {
    Parker parker;
    std::optional<Result<EventPage>> page;
};

}  // namespace

std::optional<Error> LockManager::Core::end_of_events() {
    MutexLock lock(mutex);
    if (failed) return failed;
    return refusal();
}

void LockManager::Core::submit_watch(Ticket ticket, WatchRequest request,
                                     LockService::WatchCompletion done) {
    if (auto error = end_of_events()) return done(*std::move(error));
    auto page = events.watch(ticket, std::move(request), done, clock.now().boot);
    if (page) return done(*std::move(page));
    // Otherwise no thread might make the next event durable or check the timeout.
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
        // Without a background thread, this thread has to do the work that is due.
        for (;;) {
            if (!events.is_watching(ticket)) break;
            decide_due();
            deliver_done();
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    watcher.parker.park();
    return *std::move(watcher.page);
}

bool LockManager::Core::cancel_watches(std::span<const Ticket> tickets) {
    if (!events.cancel(tickets)) return false;
    if (options.background) {
        thread.call();
    } else {
        deliver_events();
    }
    return true;
}

void LockManager::Core::deliver_events() {
    const auto end = end_of_events();
    auto answers = events.take_answers(end, clock.now().boot);
    for (auto& [done, page] : answers) done(std::move(page));
}

void LockManager::Core::note_answered(const DeferredActions& after, const Result<Answer>& answer) {
    if (after.acquired_at && answer) acquires.add(clock.now().boot - *after.acquired_at);
}

}  // namespace rocklock
