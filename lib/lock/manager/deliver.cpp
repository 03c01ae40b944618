#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t trim_budget = 4096;
// The trim budget while other work is due.
constexpr std::size_t trim_budget_when_busy = 256;
// With a background thread, a round of trimming is divided into this number of steps, because
// requests and leases that end can wait for a step. 4,096 records of each kind take about 12 ms.
// While requests are decided, the steps are distributed over the time until the next round.
// Otherwise, they follow each other directly.
constexpr unsigned trim_steps = 16;
constexpr BootTime::duration trim_step_every = BootTime::duration(manager::trim_every) / trim_steps;
static_assert(trim_step_every > BootTime::duration::zero());
// After this many refusals the thread processes commits again, since refusals may arrive without
// end.
constexpr std::size_t refusals_at_once = 64;

}  // namespace

// ---- Asynchronous calls ----

Ticket LockManager::Core::submit(Request&& request, LockService::Completion done,
                                 DeliveryBy delivery_by) {
    if (auto error = not_ours()) {
        done(*std::move(error));
        return {};
    }
    Event event(std::move(request));
    DeferredActions after;
    Ticket ticket{};
    {
        MutexLock lock(mutex);
        ticket = take_ticket();
        const Instant now = clock.now();
        check_time(now.boot, after);
        const bool late = !closing && stalls.defer(event, ticket, done);
        if (!late) decide_and_register(event, ticket, now, {delivery_by, std::move(done)}, after);
    }
    run_deferred(after);
    return ticket;
}

void LockManager::Core::submit_now(const Event& event, Ticket ticket, LockService::Completion done,
                                   DeliveryBy delivery_by) {
    DeferredActions after;
    {
        MutexLock lock(mutex);
        decide_and_register(event, ticket, clock.now(), {delivery_by, std::move(done)}, after);
    }
    run_deferred(after);
}

bool LockManager::Core::decide_now(const Event& event, DirectRequest& request) {
    if (!options.background || not_ours()) return false;
    DeferredActions after;
    after.leave_in_decision = true;
    bool decided = false;
    {
        MutexLock lock(mutex);
        const Instant now = clock.now();
        check_time(now.boot, after);
        decided = !closing && !failed && !stalls.stalled();
        if (decided) {
            const Ticket ticket = take_ticket();
            decide_and_register(event, ticket, now, {DeliveryBy::by_flush, {}, &request}, after);
        }
    }
    run_deferred(after);
    return decided;
}

void LockManager::Core::decide_and_register(const Event& event, Ticket ticket, Instant now,
                                            Recipient to, DeferredActions& after) {
    after.alone = closing;
    if (auto error = refusal()) {
        after.own = *std::move(error);
    } else {
        decide(event, ticket, now, after);
    }
    const bool flushes = to.delivery_by == DeliveryBy::by_flush && options.background;
    if (after.history) {
        Delivery& delivery = deliveries.add_committing();
        delivery.done = to.completion(ticket);
        delivery.dependency = after.dependency;
        delivery.history = after.history;
    } else if (const Result<Answer>* const answer = after.answer()) {
        const bool lazily = after.dependency.durability == Durability::deferred;
        const bool at_once = (!*answer && !commits.confirms()) || lazily;
        // Before its delivery exists, so that release() always finds the response.
        if (to.direct != nullptr) to.direct->decided(*answer);
        Delivery& delivery = at_once ? deliveries.add_ready() : deliveries.add_committing();
        delivery.dependency = after.dependency;
        delivery.refused = !*answer;
        delivery.acquired_at = after.acquired_at;
        if (to.direct != nullptr) {
            delivery.receiver = to.direct->receiver();
            delivery.id = to.direct->id();
        } else {
            delivery.done = std::move(to.done);
            delivery.answer = std::exchange(after.own, std::nullopt);
        }
        after.leaves = lazily && !flushes;
        if (lazily && flushes) commits.note_deferred(last_decided);
    } else {
        auto waiting = std::make_unique<Pending>();
        waiting->done = to.completion(ticket);
        pending.insert(ticket, std::move(waiting));
    }
    if (commits.delay().ends_with(deliveries.added())) schedule.delay_over.notify_one();
    after.deliver = !deliveries.empty();
    // Without the background thread, tick() delivers.
    if (to.delivery_by == DeliveryBy::by_flush) after.deliver = false;
}

void LockManager::Core::run_deferred(DeferredActions& after) {
    finish(after);
    if (after.alone) deliver_done();
    if (after.leaves) [[maybe_unused]]
        const auto done = write_later(after.dependency);
}

// Commits and delivers the requests that were enqueued. If many responses wait for a sync, the
// manager's thread makes the sync and the caller continues to read, so that requests that arrive
// meanwhile share the next sync. For one or two responses a switch of threads would cost more than
// it gains, so the caller makes the sync.
std::optional<milliseconds> LockManager::Core::flush() {
    if (!options.background) return std::nullopt;
    CommitDependency last;
    CommitDependency synced;
    bool here = false;
    bool ready_first = false;
    {
        MutexLock lock(mutex);
        here = deliveries.has_committing();
        if (here) {
            last = commits.all_written();
            synced = commits.all_durable();
        }
        // Even with Durability::written, a sync is pending if decisions have used numbers that are
        // not within a durable reservation.
        if (here && storage.syncs() && commits.sync_is_pending()) {
            here = commits.flusher_syncs(deliveries.group_size(), last_decided);
            // Responses that need no commit are delivered before waiting for the device.
            ready_first = here && deliveries.has_ready() && !schedule.delivered_first;
        }
        schedule.delivered_first = ready_first;
    }
    if (here && !ready_first) commit_here(last, synced);
    deliver_done();
    if (ready_first) return milliseconds{0};
    bool more = false;
    {
        MutexLock lock(mutex);
        more = !deliveries.empty();
    }
    if (more) thread.call();
    return write_deferred();
}

void LockManager::Core::commit_here(const CommitDependency& last, const CommitDependency& synced) {
    const bool syncs = !storage.done(synced.number, Durability::durable);
    const BootTime start = clock.now().boot;
    [[maybe_unused]] const auto written = durable(last);
    [[maybe_unused]] const auto durably = durable(synced);
    if (!syncs) return;
    const BootTime end = clock.now().boot;
    MutexLock lock(mutex);
    commits.note_sync(end - start, end);
}

// Writes the deferred commits that were not written together with another batch in time. Returns
// the time after which it must be called again, or nullopt.
std::optional<milliseconds> LockManager::Core::write_deferred() {
    CommitDependency left;
    {
        MutexLock lock(mutex);
        const auto later = commits.may_defer_for(clock.now().boot);
        if (later != milliseconds{0}) return later;
        left = commits.all_deferred();
    }
    [[maybe_unused]] const auto written = durable(left);
    return std::nullopt;
}

void LockManager::Core::cancel(Ticket ticket) {
    {
        MutexLock lock(mutex);
        if (stalls.stalled()) return stalls.defer(CancelWait{ticket});
    }
    end_now(CancelWait{ticket});
}

void LockManager::Core::disconnect(Disconnect disconnected) {
    cancel_watches(disconnected.waits);
    DeferredActions after;
    std::optional<Event> at_once;
    {
        MutexLock lock(mutex);
        // During a stall the waits and sessions must not end yet: their locks might be granted
        // although the renewal of an earlier waiter has not been read.
        check_time(clock.now().boot, after);
        if (stalls.stalled() && !closing) {
            stalls.defer(std::move(disconnected));
        } else {
            at_once.emplace(std::move(disconnected));
        }
    }
    finish(after);
    if (at_once) end_now(*at_once);
}

void LockManager::Core::end_now(const Event& event) {
    DeferredActions after;
    if (const auto* disconnected = std::get_if<Disconnect>(&event)) {
        after.delivers_refusals = true;
        after.refused.reserve(disconnected->waits.size());
    }
    {
        MutexLock lock(mutex);
        if (failed || closing) return;
        const auto* cancel = std::get_if<CancelWait>(&event);
        if (cancel != nullptr && pending.find(cancel->ticket) == nullptr) return;
        decide(event, Ticket{}, after);
    }
    finish(after);
    for (auto& [done, answer] : after.refused) done(std::move(answer));
    if (after.dependency.durability != Durability::deferred) return;
    [[maybe_unused]] const auto done = write_later(after.dependency);
}

void LockManager::Core::deliver_done() {
    {
        MutexLock lock(mutex);
        // Only one thread delivers at a time, so that deliveries stay in order.
        if (!deliveries.begin()) return;
        std::size_t refusals = refusals_at_once;
        while (true) {
            // Without the background thread, and while closing, deliver everything that is
            // possible.
            const bool limited = options.background && !closing;
            auto batch = deliveries.take(storage, limited ? &refusals : nullptr);
            if (batch.empty()) break;
            lock.unlock();
            // If a commit has failed, decisions that depend on it are void. The clocks are read
            // after the decisions of the batch.
            const DeliveryFacts facts{storage.failure(), clock.now().boot,
                                      std::chrono::steady_clock::now()};
            for (Delivery& delivery : batch) {
                deliver(delivery, facts);
                delivery.clear();
            }
            lock.lock();
            deliveries.give_back(batch);
        }
        deliveries.end();
    }
    if (events.is_on()) deliver_events();
}

void LockManager::Core::deliver(Delivery& delivery, const DeliveryFacts& facts) {
    const auto& failure = facts.failure;
    const bool rests = delivery.dependency.number != 0 || delivery.dependency.kept != 0;
    if (failure && rests) {
        fail(*failure);
        const bool refused = delivery.refused && !storage.must_confirm();
        if (delivery.receiver) {
            delivery.receiver->release(delivery.id, refused ? nullptr : &*failure, facts.now);
        } else if (delivery.done) {
            delivery.done(refused ? *std::move(delivery.answer) : Result<Answer>(*failure));
        }
        return;
    }
    // Before a grant is answered, its commit must be as durable as promised.
    ROCKLOCK_ASSERT(delivery.dependency.durability == Durability::deferred || delivery.refused ||
                    delivery.dependency.done(storage));
    if (delivery.acquired_at && !delivery.refused) {
        acquires.add(facts.boot - *delivery.acquired_at);
    }
    if (delivery.receiver) return delivery.receiver->release(delivery.id, nullptr, facts.now);
    if (delivery.history) {
        Ticket ticket = delivery.history->ticket;
        auto answer = answer_from_history(storage, session_key, *delivery.history);
        if (auto* reacquire = std::get_if<ReacquireLocks>(&answer)) {
            return submit_now(std::move(*reacquire), ticket, std::move(delivery.done));
        }
        return delivery.done(std::get<Result<Answer>>(std::move(answer)));
    }
    if (delivery.done) {
        ROCKLOCK_ASSERT(delivery.answer.has_value());
        return delivery.done(*std::move(delivery.answer));
    }
    if (delivery.notifications) notify(*delivery.notifications);
}

void LockManager::Core::notify(const manager::Notifications& notifications) {
    std::function<void(const LostNotice&)> lost;
    std::function<void(const WantedNotice&)> wanted;
    std::function<void(const AnsweredNotice&)> answered;
    {
        MutexLock lock(mutex);
        lost = callbacks.notify_lost;
        wanted = callbacks.notify_wanted;
        answered = callbacks.notify_answered;
    }
    for (const LostNotice& notice : notifications.lost) {
        if (lost) lost(notice);
    }
    for (const WantedNotice& notice : notifications.wanted) {
        if (wanted) wanted(notice);
    }
    for (const AnsweredNotice& notice : notifications.answered) {
        if (answered) answered(notice);
    }
    for (const SlowWait& slow : notifications.slow) options.on_slow_wait(slow);
}

// ---- Time ----

std::optional<BootTime> LockManager::Core::decide_due() {
    DeferredActions after;
    std::optional<BootTime> next;
    {
        MutexLock lock(mutex);
        if (failed || closing) return std::nullopt;
        check_time(clock.now().boot, after);
        const BootTime now = std::max(clock.now().boot, last_decided);
        const auto due = table.next_wake();
        const bool search = now >= schedule.next_search;
        if (!stalls.stalled() && ((due && *due <= now) || search)) {
            decide(next_tick(now, search), Ticket{}, after);
            if (search) {
                schedule.next_search =
                    now + (table.searching() ? manager::search_step_every : manager::search_every);
            }
            schedule.decided_by_time = true;
        }
        next = next_wake();
        // While requests wait, wake up for the next search.
        if (options.background || !next) {
            if (table.waiting() > 0)
                next = std::min(next.value_or(BootTime::max()), schedule.next_search);
        }
        schedule.wakes_at = next.value_or(BootTime::max());
    }
    finish(after);
    return next;
}

// Returns the next tick. If waits are due, the tick serves only a few of them and does no cleanup,
// so that their responses do not wait for a large commit. After a limited number of such ticks, the
// next tick does cleanup. While the storage is congested, the cleanup of what has expired pauses.
Tick LockManager::Core::next_tick(BootTime now, bool search) {
    Tick tick;
    tick.search = search;
    // Without the background thread, one call does all of the work.
    if (!options.background) return tick;
    if (!table.waits_due(now) || schedule.served_in_a_row == manager::serves_before_a_sweep) {
        schedule.served_in_a_row = 0;
        if (storage.congested()) tick.expiry_pause = manager::expiry_pause;
        return tick;
    }
    ++schedule.served_in_a_row;
    tick.budget = manager::served_at_once;
    tick.sweeps = false;
    return tick;
}

void LockManager::Core::plan_trim(BootTime at) {
    const bool any =
        table.ended_records() > 0 || table.ended_sessions() > 0 || table.audit_rows() > 0;
    schedule.trim_wake = any ? at : BootTime::max();
}

void LockManager::Core::trim() {
    MutexLock alone(trimming);
    HistoryTrimmer::Facts facts;
    std::unique_ptr<Snapshot> snapshot;
    std::size_t budget = trim_budget;
    BootTime::duration interval = manager::trim_every;
    {
        MutexLock lock(mutex);
        const Instant now = clock.now();
        facts.now = std::max(now.boot, last_decided);
        facts.wall = now.wall;
        if (failed || closing) return;
        if (facts.now < schedule.next_trim) {
            if (schedule.trim_wake == BootTime::max()) plan_trim(schedule.next_trim);
            return;
        }
        if (options.background) {
            budget = trim_budget / trim_steps;
            const bool decides = commits.all_written().number != schedule.trimmed_at;
            schedule.trims_in_a_row = decides ? 0 : (schedule.trims_in_a_row + 1) % trim_steps;
            if (decides) interval = trim_step_every;
            if (schedule.trims_in_a_row > 0) interval = BootTime::duration::zero();
        }
        facts.boot_epoch = table.boot_epoch();
        facts.ended_records = table.ended_records();
        facts.ended_sessions = table.ended_sessions();
        facts.audit_rows = table.audit_rows();
        facts.cleaning = table.cleaning();
        const auto due = table.next_wake();
        if (due && *due <= facts.now) {
            budget = trim_budget_when_busy;
            interval = manager::trim_every;
        }
        schedule.next_trim = facts.now + interval;
        schedule.trimmed_at = commits.all_written().number;
        snapshot = storage.snapshot();
    }
    HistoryTrimmer::Round round = trimmer.collect(*snapshot, facts, budget);
    const bool idle = round.complete && round.batch.empty();
    CommitDependency dependency;
    {
        MutexLock lock(mutex);
        if (failed || closing) return;
        // Nothing is left to trim, so no further step follows directly.
        if (idle) schedule.next_trim = facts.now + manager::trim_every;
        plan_trim(facts.now + (idle ? manager::trim_pause : interval));
        if (round.batch.empty()) return;
        for (const ForgottenGrant& grant : round.grants) table.forget(grant);
        table.forget_sessions(round.sessions);
        table.forget_audit_rows(round.audit_rows);
        const bool unchanged = commits.all_written().number == schedule.trimmed_at;
        dependency = commits.enqueue_deferred(std::move(round.batch));
        if (unchanged) schedule.trimmed_at = dependency.number;
    }
    [[maybe_unused]] const auto written = durable(dependency);
}

// Holds `trimming` for one batch only, because the manager's thread needs it in each round.
Result<std::uint64_t> LockManager::Core::trim_audit(std::uint64_t through) {
    std::uint64_t deleted = 0;
    std::string from;
    for (;;) {
        MutexLock alone(trimming);
        Batch batch;
        for (auto& key : audit_keys(*storage.snapshot(), from, through, trim_budget)) {
            batch.writes.push_back({Family::history, std::move(key), std::nullopt});
        }
        if (batch.empty()) return deleted;
        const std::size_t rows = batch.writes.size();
        from = batch.writes.back().key;
        CommitDependency dependency;
        {
            MutexLock lock(mutex);
            if (failed) return *failed;
            if (closing) return Error(ErrorCode::closing, "the lock manager is shutting down");
            table.forget_audit_rows(rows);
            dependency = commits.enqueue_deferred(std::move(batch));
        }
        if (auto done = durable(dependency); !done) return std::move(done).error();
        deleted += rows;
    }
}

bool LockManager::Core::defer_is_over() {
    if (!deferring) return false;
    const BootTime now = clock.now().boot;
    if (!schedule.defer_until) schedule.defer_until = now + manager::max_defer;
    if (now < *schedule.defer_until) return false;
    schedule.defer_until.reset();
    // Reset before the last commit is determined: a commit that is deferred later calls the thread
    // again.
    deferring = false;
    return true;
}

// Returns false if no server flushes; the thread must deliver then. Otherwise notifies the server
// if there are deliveries.
bool LockManager::Core::notify_flusher_if_any() {
    std::function<void()> flusher;
    {
        MutexLock lock(mutex);
        if (!callbacks.notify_flusher || closing) return false;
        if (deliveries.empty()) return true;
        flusher = callbacks.notify_flusher;
    }
    flusher();
    return true;
}

bool LockManager::Core::delay_commit() {
    if (!options.background) return false;
    MutexLock lock(mutex);
    if (!deliveries.has_committing() || !commits.sync_is_pending()) return false;
    auto now = clock.now().boot;
    const auto until = commits.delay().delay_until(deliveries.added(), now);
    if (now < until) {
        commits.delay().start_delay();
        while (now < until && !closing && !failed &&
               !commits.delay().ends_with(deliveries.added())) {
            // The time of the thread, not of the clock, limits the wait.
            const bool notified = schedule.delay_over.wait_for(mutex, until - now);
            now = clock.now().boot;
            if (!notified) break;
        }
        commits.delay().stop_delay(deliveries.added());
    }
    commits.delay().begin(now);
    return true;
}

// One round of the manager's thread: decides what is due, makes commits durable, and delivers.
std::optional<BootTime> LockManager::Core::work() {
    std::optional<BootTime> next = decide_due();
    const bool watched = events.is_awaited();
    const bool grouped = delay_commit();
    CommitDependency last;
    CommitDependency durable_last;
    {
        MutexLock lock(mutex);
        const bool own = std::exchange(schedule.decided_by_time, false) || !options.background;
        const bool awaited = deliveries.has_committing() || watched;
        const bool complete = defer_is_over() || own;
        if (complete) last = commits.all_deferred();
        if (awaited) last = commits.all_written();
        // This is necessary even with Durability::written, because decisions that use numbers
        // beyond the durable reservation are synced.
        if (awaited || own) durable_last = commits.all_durable();
        // The responses of one write are delivered before the next write.
        const CommitNumber most = storage.one_write_through();
        const bool exceeds = std::max(last.number, durable_last.number) > most;
        last.number = std::min(last.number, most);
        durable_last.number = std::min(durable_last.number, most);
        durable_last.kept = std::min(durable_last.kept, most);
        // The next round of this thread then writes the rest.
        schedule.decided_by_time = complete && exceeds;
    }
    [[maybe_unused]] const auto written = durable(last);
    [[maybe_unused]] const auto synced = durable(durable_last);
    if (grouped) {
        MutexLock lock(mutex);
        commits.delay().end(deliveries.added(), deliveries.completed(storage), clock.now().boot);
    }
    const bool notified = notify_flusher_if_any();
    if (!notified) deliver_done();
    if (notified && events.is_on()) deliver_events();
    if (options.background) sync_reservation();
    trim();
    const bool more = events.is_awaited();
    const auto timeout = events.first_timeout();
    MutexLock lock(mutex);
    // After a failure, nothing is trimmed, and `trim_wake` is not changed any more.
    const bool trims = options.background && !failed && !closing;
    if (trims && schedule.trim_wake != BootTime::max()) {
        next = std::min(next.value_or(BootTime::max()), schedule.trim_wake);
    }
    // If the server flushes, it calls the thread again for deliveries that are not durable yet.
    if ((!notified && !deliveries.empty()) || more || schedule.decided_by_time) {
        return last_decided;
    }
    if (timeout) next = std::min(next.value_or(BootTime::max()), *timeout);
    if (schedule.defer_until) {
        next = std::min(next.value_or(BootTime::max()), *schedule.defer_until);
    }
    return next;
}

}  // namespace rocklock
