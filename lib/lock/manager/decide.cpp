#include <algorithm>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "base/random.hpp"
#include "lock/manager/core.hpp"

namespace rocklock {

using manager::CommitDependency;

namespace {

using std::chrono::milliseconds;

SessionId random_session() {
    SessionId id;
    fill_random(id.bytes);
    return id;
}

// Return the durability that the response to the caller needs. Other responses of the same decision
// may need more.
Durability durability_of(const Request& request, Durability decided) {
    const bool lazy = std::holds_alternative<Release>(request) ||
                      std::holds_alternative<AnswerWanted>(request) ||
                      std::holds_alternative<CloseSession>(request);
    return lazy ? Durability::deferred : decided;
}
Durability durability_of(const Event& event, Durability decided) {
    if (std::holds_alternative<Disconnect>(event)) return Durability::deferred;
    const auto* request = std::get_if<Request>(&event);
    return request == nullptr ? decided : durability_of(*request, decided);
}

// Returns the dependency of a refusal if responses must be confirmed: a refusal then waits even for
// a commit that is deferred otherwise.
CommitDependency confirmed_refusal(CommitDependency dependency) {
    dependency.durability = std::max(dependency.durability, Durability::written);
    return dependency;
}

bool is_acquire(const Request& request) { return std::holds_alternative<Acquire>(request); }
bool is_acquire(const Event& event) {
    const auto* request = std::get_if<Request>(&event);
    return request != nullptr && is_acquire(*request);
}

bool opens_session(const Request& request) {
    const auto* acquire = std::get_if<Acquire>(&request);
    return std::holds_alternative<OpenSession>(request) || (acquire != nullptr && acquire->opens);
}
bool opens_session(const Event& event) {
    const auto* request = std::get_if<Request>(&event);
    return request != nullptr && opens_session(*request);
}

}  // namespace

// ---- Deciding ----

std::optional<Error> LockManager::Core::refusal() const {
    if (failed) return failed;
    if (closing) {
        return Error(ErrorCode::closing,
                     "the lock manager is shutting down: retry after it has been started again");
    }
    return std::nullopt;
}

void LockManager::Core::decide(const Event& event, Ticket ticket, Instant now,
                               DeferredActions& after) {
    decide_on(event, ticket, now, after);
}

template <typename What>
void LockManager::Core::decide_on(const What& what, Ticket ticket, Instant now,
                                  DeferredActions& after) {
    decision.clear();
    now.boot = std::max(now.boot, last_decided);
    ROCKLOCK_ASSERT(now.boot >= last_decided);
    last_decided = now.boot;
    SessionId fresh;
    if (opens_session(what)) fresh = options.session_ids ? options.session_ids() : random_session();
    const bool accepts_growth = storage.accepts_growth();
    if (!accepts_growth || table.refuses_growth()) {
        table.refuse_growth(accepts_growth ? std::nullopt
                                           : std::optional(storage.growth_refusal()));
    }
    if (const auto reserved = commits.take_confirmed()) table.confirm(*reserved);
    table.apply(what, ticket, fresh, now, decision);
    if (manager::TableAudit::is_on()) schedule.audit.decided(table, now);
    marked.store(table.exclusive_holds().state());
    if (options.timings && is_acquire(what)) after.acquired_at = now.boot;
    const bool changed = !decision.batch.empty();
    const CommitDependency dependency = commits.enqueue(decision);
    if (decision.reserved) after.call_thread = true;
    if (!decision.events.empty() && events.add(decision.events, dependency)) {
        after.call_thread = true;
    }
    after.dependency = dependency;
    after.dependency.durability = durability_of(what, dependency.durability);
    // A deferred response depends on no commit.
    if (after.dependency.durability == Durability::deferred) after.dependency.kept = 0;
    distribute(ticket, dependency, after);
    const Result<Answer>* const own = after.answer();
    if (commits.confirms() && own != nullptr && !*own) {
        after.dependency = confirmed_refusal(dependency);
    }
    // A repeated OpenSession is answered after the opening of the session is written; it need not
    // be synced.
    const bool answered = !commits.confirms() && own != nullptr && *own;
    if (!changed && answered && std::holds_alternative<SessionInfo>(**own)) {
        after.dependency = {commits.last_kept(), Durability::written};
    }
    // Notices that a session already has may come from commits that are not written yet.
    if (answered && std::holds_alternative<Notices>(**own)) {
        after.dependency = commits.all_written();
    }
    stalls.decided(now.boot, table.has_sessions());
    const auto next = next_wake();
    if (next && *next < schedule.wakes_at) {
        schedule.wakes_at = *next;
        after.call_thread = true;
    }
}

// Syncs a new reservation of numbers in the background, long before the numbers are needed, so no
// response waits for it.
void LockManager::Core::sync_reservation() {
    CommitNumber reserved = 0;
    {
        MutexLock lock(mutex);
        if (!failed) reserved = commits.unsynced_reservation();
    }
    if (reserved == 0) return;
    if (const auto synced = storage.sync_through(reserved); !synced) fail(synced.error());
}

void LockManager::Core::distribute(Ticket own, const CommitDependency& dependency,
                                   DeferredActions& after) {
    for (TicketAnswer& reply : decision.replies) {
        if (reply.ticket == own) {
            ROCKLOCK_ASSERT(after.answer() == nullptr);
            if (after.leave_in_decision) {
                after.in_decision = &reply.answer;
            } else {
                after.own = std::move(reply.answer);
            }
            continue;
        }
        const std::unique_ptr<Pending> to = pending.take(reply.ticket);
        if (to) complete(std::move(*to), std::move(reply.answer), dependency, after);
    }
    for (const HistoryLookup& asked : decision.history) {
        ROCKLOCK_ASSERT(asked.ticket == own && after.answer() == nullptr);
        after.history = asked;
        // The history is read from the storage, and the end of the grant may still be a deferred
        // commit. A confirmation is the last commit; even a release waits for it.
        after.dependency =
            commits.confirms() ? confirmed_refusal(dependency) : commits.all_written();
    }
    const bool slow = !decision.slow.empty() && options.on_slow_wait;
    if (decision.lost.empty() && decision.wanted.empty() && decision.answered.empty() && !slow) {
        return;
    }
    if (!callbacks.notify_lost && !callbacks.notify_wanted && !callbacks.notify_answered && !slow) {
        return;
    }
    Delivery& delivery = deliveries.add_committing();
    if (!mutated(Mutant::notified_before_durable)) delivery.dependency = dependency;
    delivery.notifications = std::make_unique<manager::Notifications>(
        manager::Notifications{std::move(decision.lost), std::move(decision.wanted),
                               std::move(decision.answered), std::move(decision.slow)});
    after.deliver = true;
}

void LockManager::Core::complete(Pending to, Result<Answer> answer,
                                 const CommitDependency& dependency, DeferredActions& after) {
    if (to.caller != nullptr) {
        ROCKLOCK_ASSERT(!to.caller->answer && !to.done);
        to.caller->answer = std::move(answer);
        const bool confirmed = !*to.caller->answer && commits.confirms();
        to.caller->dependency = confirmed ? confirmed_refusal(dependency) : dependency;
        after.wake.push_back(&to.caller->parker);
        return;
    }
    if (after.delivers_refusals && !answer) {
        after.refused.emplace_back(std::move(to.done), std::move(answer));
        return;
    }
    ROCKLOCK_ASSERT(to.done != nullptr);
    const bool confirmed = !answer && commits.confirms();
    const bool at_once = !answer && !confirmed;
    Delivery& delivery = at_once ? deliveries.add_ready() : deliveries.add_committing();
    delivery.dependency = confirmed ? confirmed_refusal(dependency) : dependency;
    delivery.done = std::move(to.done);
    delivery.refused = !answer;
    delivery.answer = std::move(answer);
    after.deliver = true;
}

// A caller may continue, and destroy its Parker, as soon as it is woken. This must therefore be the
// last access to the callers.
void LockManager::Core::finish(DeferredActions& after) {
    for (Parker* parker : after.wake) parker->unpark(1);
    if ((after.call_thread || after.deliver) && options.background) thread.call();
    if (after.notify_stall) after.notify_stall();
}

// ---- Blocking calls ----

Result<void> LockManager::Core::durable(const CommitDependency& dependency) {
    Result<void> done;
    if (dependency.kept > dependency.number)
        done = storage.wait(dependency.kept, Durability::written);
    if (done && dependency.number != 0)
        done = storage.wait(dependency.number, dependency.durability);
    if (!done) fail(done.error());
    return done;
}

// If the commit is deferred, does not wait: the commit is written together with the next one or, if
// none follows soon, by the manager's thread. Otherwise waits for the commit.
Result<void> LockManager::Core::write_later(const CommitDependency& dependency) {
    if (!options.background || dependency.durability != Durability::deferred) {
        return durable(dependency);
    }
    if (auto failure = storage.failure()) {
        fail(*failure);
        return *std::move(failure);
    }
    if (dependency.number == 0 || storage.done(dependency.number, Durability::written)) return {};
    if (!deferring.load() && !deferring.exchange(true)) thread.call();
    return {};
}

Result<Answer> LockManager::Core::call(const Request& request, const std::stop_token& stop) {
    DeferredActions after;
    auto waited = call_on(request, stop, after);
    while (!waited && after.history) {
        if (auto done = await_dependency(after.dependency); !done) return std::move(done).error();
        auto found = answer_from_history(storage, session_key, *after.history);
        if (auto* answer = std::get_if<Result<Answer>>(&found)) return std::move(*answer);
        // The event continues a Reacquire.
        after = {};
        waited = call_on(Event(std::get<ReacquireLocks>(std::move(found))), stop, after);
    }
    if (waited) return *std::move(waited);
    return finish_own(after);
}

// Decides, and fills `after`. If there is no response yet, waits for it, and returns it.
template <typename What>
std::optional<Result<Answer>> LockManager::Core::call_on(const What& what,
                                                         const std::stop_token& stop,
                                                         DeferredActions& after) {
    Caller caller;
    Ticket ticket{};
    {
        MutexLock lock(mutex);
        if (auto error = refusal()) return *std::move(error);
        ticket = take_ticket();
        decide_on(what, ticket, clock.now(), after);
        if (!after.own && !after.history) {
            auto to = std::make_unique<Pending>();
            to->caller = &caller;
            pending.insert(ticket, std::move(to));
        }
    }
    finish(after);
    if (after.own || after.history) return std::nullopt;
    return await(caller, ticket, stop);
}

// Returns the response to the caller after the commits on which it depends are as durable as
// required.
Result<Answer> LockManager::Core::finish_own(DeferredActions& after) {
    ROCKLOCK_ASSERT(after.own.has_value());
    Result<Answer>& own = *after.own;
    // A refusal depends only on decided state, so its response waits for no commit, except for a
    // confirmation. If the decision has a batch, this batch is written together with the next one.
    if (!own && !storage.must_confirm()) {
        after.dependency = {after.dependency.number, Durability::deferred};
    }
    auto done = write_later(after.dependency);
    if (!done && (own || storage.must_confirm())) return std::move(done).error();
    note_answered(after, own);
    return std::move(own);
}

Result<Answer> LockManager::Core::await(Caller& caller, Ticket ticket,
                                        const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [this, ticket] { cancel(ticket); });
    if (!options.background) {
        // Without a background thread, this thread has to do the work that is due.
        for (bool waits = true; waits;) {
            decide_due();
            deliver_done();
            MutexLock lock(mutex);
            waits = pending.find(ticket) != nullptr;
            lock.unlock();
            if (waits) std::this_thread::sleep_for(milliseconds{1});
        }
    }
    caller.parker.park();
    ROCKLOCK_ASSERT(caller.answer.has_value());
    if (!*caller.answer && !storage.must_confirm()) return *std::move(caller.answer);
    if (auto done = durable(caller.dependency); !done) return std::move(done).error();
    return *std::move(caller.answer);
}

Result<void> LockManager::Core::await_dependency(const CommitDependency& dependency) {
    auto done = durable(dependency);
    if (done && storage.failure()) return *storage.failure();
    return done;
}

// Called after a commit has failed. The decisions after it are void, so all waiting and all later
// requests fail with the error.
void LockManager::Core::fail(const Error& error) {
    DeferredActions after;
    {
        MutexLock lock(mutex);
        if (failed || closing) return;
        failed = error;
        failed->message += "; no more locks are granted until the store is opened again";
        // The manager's thread completes the watches.
        after.call_thread = true;
        answer_all(*failed, after);
    }
    finish(after);
}

void LockManager::Core::answer_all(const Error& error, DeferredActions& after) {
    for (const auto& to : pending.take_all()) complete(std::move(*to), error, {}, after);
}

}  // namespace rocklock
