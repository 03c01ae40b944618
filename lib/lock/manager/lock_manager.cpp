#include "lock/manager/lock_manager.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "base/random.hpp"
#include "lock/manager/core.hpp"
#include "lock/model/lock_search.hpp"
#include "lock/model/names.hpp"
#include "lock/records/history.hpp"
#include "lock/records/records.hpp"

namespace rocklock {

using manager::CommitDependency;

namespace {

constexpr std::size_t graph_limit = 10'000;

// Returns the first token of a new or restored store. It must be greater than every token of any
// earlier store, so it is derived from the time: fewer than 2^21 tokens are used per second.
std::uint64_t token_floor(WallTime wall) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1)) << 21;
}

}  // namespace

// ---- Opening ----

namespace {

Result<std::optional<std::string>> read_meta(const Storage& storage, std::string_view key) {
    return storage.get(Family::meta, key);
}

// Reads the store's secret, or makes it if the store is new. The value begins with its version.
Result<SessionKey> read_key(Storage& storage) {
    SessionKey key;
    const auto value = read_meta(storage, records::secret_key);
    if (!value) return value.error();
    if (*value) {
        if ((*value)->size() != 8 + key.bytes.size()) {
            return Error(ErrorCode::corrupt, "the store's secret can't be read: restore a backup");
        }
        std::copy((*value)->begin() + 8, (*value)->end(), key.bytes.begin());
        return key;
    }
    fill_random(key.bytes);
    Batch batch;
    std::string bytes(8, '\0');
    bytes.append(reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size());
    batch.preconditions.push_back({Family::meta, std::string(records::secret_key), std::nullopt});
    batch.writes.push_back({Family::meta, std::string(records::secret_key), std::move(bytes)});
    if (auto done = storage.commit(std::move(batch)); !done) return std::move(done).error();
    return key;
}

}  // namespace

Result<std::unique_ptr<LockManager>> LockManager::open(Storage& storage, Clock& clock,
                                                       LockManagerOptions options) {
    auto key = read_key(storage);
    if (!key) return std::move(key).error();
    auto core = std::make_unique<Core>(storage, clock, std::move(options), *key);
    if (auto done = core->recover(); !done) return std::move(done).error();
    auto manager = std::unique_ptr<LockManager>(new LockManager(std::move(core)));
    if (manager->core_->options.background) {
        manager->core_->thread.start([state = manager->core_.get()] { return state->work(); });
    }
    return manager;
}

LockManager::LockManager(std::unique_ptr<Core> core) : core_(std::move(core)) {}

LockManager::~LockManager() {
    // The child of a fork has no manager thread to join, and must not write.
    if (core_->fork_check.in_child()) {
        std::ignore = core_.release();
        return;
    }
    // An error of close() cannot be returned. Responses that are not durable are not delivered as
    // successes.
    [[maybe_unused]] auto closed = close();
}

Result<void> LockManager::Core::recover() {
    MutexLock lock(mutex);
    const auto stored = read_meta(storage, records::boot_key);
    if (!stored) return stored.error();
    records::BootRecord boot;
    if (*stored) {
        const auto decoded = records::decode_boot(**stored);
        if (!decoded)
            return Error(ErrorCode::corrupt, "the record of the last start can't be read");
        boot = *decoded;
    }
    const auto marks = read_meta(storage, records::marks_key);
    if (!marks) return marks.error();
    const auto copy = read_meta(storage, records::copy_key);
    if (!copy) return copy.error();
    const std::string boot_id = clock.boot_id();
    RecoveryFacts facts;
    facts.now = clock.now();
    facts.restored = options.restored || copy->has_value() || storage.restored();
    // Deadlines are exact if the machine has not been rebooted, unless renewals may have been lost
    // because of a failed sync.
    const bool same_boot = boot_id == boot.boot_id || mutated(Mutant::deadlines_of_another_boot);
    facts.exact = !boot_id.empty() && same_boot && !storage.suspect() &&
                  !mutated(Mutant::lease_restarts_on_same_boot);
    facts.boot_epoch = facts.exact ? boot.epoch : boot.epoch + 1;
    if (!*marks || facts.restored) facts.token_floor = token_floor(facts.now.wall);
    decision.clear();
    const auto snapshot = storage.snapshot();
    if (auto done = table.recover(*snapshot, facts, decision); !done) return done;
    marked.store(table.exclusive_holds().state());
    boot.version = facts.boot_epoch;
    boot.epoch = facts.boot_epoch;
    boot.boot_id = boot_id;
    decision.batch.writes.push_back(
        {Family::meta, std::string(records::boot_key), records::encode(boot)});
    // Erases the mark of a copy in the same batch that ends the sessions of the copy. A crash
    // cannot separate the two.
    if (*copy) {
        decision.batch.writes.push_back(
            {Family::meta, std::string(records::copy_key), std::nullopt});
    }
    if (auto done = storage.commit(std::move(decision.batch)); !done) return done;
    events.start(table.first_sequence(), decision.events);
    last_decided = facts.now.boot;
    schedule.next_search = last_decided + manager::search_every;
    schedule.next_trim = last_decided + manager::trim_every;
    return storage.mark_sound();
}

// ---- The service ----

// A child of the process that opened the store has a copy of the manager's memory, but must not use
// the store.
std::optional<Error> LockManager::Core::not_ours() const {
    if (!fork_check.in_child()) return std::nullopt;
    return Error(
        ErrorCode::store_in_use,
        "the store was opened before a fork, and only the process that opened it may use it");
}

Ticket LockManager::submit(Request request, Completion done) {
    return core_->submit(std::move(request), std::move(done), Core::DeliveryBy::by_thread);
}

Ticket LockManager::enqueue(Request&& request, Completion done) {
    return core_->submit(std::move(request), std::move(done), Core::DeliveryBy::by_flush);
}

bool LockManager::decide_now(const Event& event, DirectRequest& request) {
    return core_->decide_now(event, request);
}

std::optional<std::chrono::milliseconds> LockManager::flush() { return core_->flush(); }

void LockManager::cancel(Ticket ticket) {
    if (core_->fork_check.in_child()) return;
    if (!core_->cancel_watch(ticket)) core_->cancel(ticket);
}

void LockManager::disconnect(Disconnect disconnected) {
    if (core_->fork_check.in_child()) return;
    core_->disconnect(std::move(disconnected));
}

Result<Answer> LockManager::call(Request request, std::stop_token stop) {
    if (auto error = core_->not_ours()) return *std::move(error);
    return core_->call(request, stop);
}

Result<LockView> LockManager::show(std::string_view resource) {
    if (auto error = core_->not_ours()) return *std::move(error);
    if (auto error = check_name("the resource", resource)) return *std::move(error);
    LockView view;
    GrantId last{};
    CommitDependency dependency;
    CommitDependency all;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        view = core_->table.show(resource, core_->view_time());
        last = core_->table.last_grant(resource);
        dependency = core_->commits.current();
        all = core_->commits.all_written();
    }
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    if (auto done = core_->await_dependency(all); !done) return std::move(done).error();
    auto past = read_past_holder(core_->storage, resource, last);
    if (!past) return std::move(past).error();
    view.last_holder = *std::move(past);
    return view;
}

// Repeats steps of a search until it is complete. Each step sees the table at a later time.
template <typename Found, typename Search>
Result<Found> LockManager::Core::complete(Search search) {
    if (auto error = not_ours()) return *std::move(error);
    for (;;) {
        {
            MutexLock lock(mutex);
            if (failed) return *failed;
            if (auto found = table.search(search, view_time())) {
                const CommitDependency dependency = commits.current();
                lock.unlock();
                if (auto done = await_dependency(dependency); !done) return std::move(done).error();
                return *std::move(found);
            }
        }
        std::this_thread::sleep_for(manager::step_pause);
    }
}

Result<LockPage> LockManager::list(const ListLocks& request) {
    auto search = LockSearch::begin(request);
    if (!search) return std::move(search).error();
    return core_->complete<LockPage>(*std::move(search));
}

Result<InRange<Holder>> LockManager::held(HeldSearch search) {
    return core_->complete<InRange<Holder>>(std::move(search));
}

Result<std::vector<SessionView>> LockManager::sessions(std::string_view principal) {
    return core_->complete<std::vector<SessionView>>(SessionSearch(principal));
}

Result<std::vector<Grant>> LockManager::grants(const SessionId& session) {
    if (auto error = core_->not_ours()) return *std::move(error);
    std::vector<Grant> grants;
    CommitDependency dependency;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        grants = core_->table.grants(session, core_->view_time());
        dependency = core_->commits.current();
    }
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    return grants;
}

Result<SessionInfo> LockManager::authenticate(const SessionId& session, const Secret& secret) {
    if (auto error = core_->not_ours()) return *std::move(error);
    if (!(session_secret(core_->session_key, session) == secret)) {
        return Error(ErrorCode::not_owner, "the secret does not belong to this session");
    }
    CommitDependency dependency;
    Core::DeferredActions after;
    Result<SessionInfo> known = SessionInfo{};
    {
        MutexLock lock(core_->mutex);
        // This is often the first call after a stall, so look for one.
        core_->check_time(core_->clock.now().boot, after);
        known = core_->table.session(session, core_->view_time());
        core_->table.note_proof(session, std::nullopt);
        const bool confirms = !known && core_->commits.confirms();
        dependency = confirms ? core_->commits.current() : core_->commits.all_written();
    }
    core_->finish(after);
    if (known) known->secret = secret;
    // A session that exists is confirmed by the call that follows.
    if (known) return known;
    const bool not_found = known.error().code == ErrorCode::session_not_found;
    if (!not_found && !core_->storage.must_confirm()) return known;
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    if (!not_found) return known;
    return past_session_error(core_->storage, session);
}

void LockManager::note_token(const SessionId& session, Token token) {
    if (core_->fork_check.in_child()) return;
    MutexLock lock(core_->mutex);
    core_->table.note_proof(session, token);
}

bool LockManager::holds(const SessionId& session, std::string_view resource, Mode mode) {
    if (core_->fork_check.in_child()) return false;
    bool held = false;
    {
        MutexLock lock(core_->mutex);
        held = !core_->failed && core_->table.holds(session, resource, mode, core_->view_time());
    }
    return held && core_->storage.confirm().has_value();
}

std::vector<LockClass> LockManager::classes() {
    if (core_->fork_check.in_child()) return {};
    MutexLock lock(core_->mutex);
    return core_->table.classes();
}

std::vector<WaitEdge> LockManager::wait_graph() {
    if (core_->fork_check.in_child()) return {};
    MutexLock lock(core_->mutex);
    return core_->table.wait_graph(core_->clock.now(), graph_limit);
}

std::vector<Deadlock> LockManager::recent_deadlocks() {
    if (core_->fork_check.in_child()) return {};
    MutexLock lock(core_->mutex);
    return core_->table.recent_deadlocks();
}

Result<std::vector<AuditRow>> LockManager::audit(std::uint64_t after, std::uint32_t limit) {
    if (auto error = core_->not_ours()) return *std::move(error);
    CommitDependency dependency;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        dependency = core_->commits.current();
    }
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    return read_audit(*core_->storage.snapshot(), after, limit);
}

Result<std::uint64_t> LockManager::trim_audit(std::uint64_t through) {
    if (auto error = core_->not_ours()) return *std::move(error);
    return core_->trim_audit(through);
}

LockStatistics LockManager::statistics() {
    if (core_->fork_check.in_child()) return {};
    LockStatistics counts;
    {
        MutexLock lock(core_->mutex);
        counts = core_->table.statistics(core_->view_time());
    }
    counts.acquire = core_->acquires.snapshot();
    std::tie(counts.events, counts.events_dropped) = core_->events.counts();
    return counts;
}

Result<Outliers> LockManager::outliers(std::uint32_t limit) {
    if (auto error = core_->not_ours()) return *std::move(error);
    if (limit == 0 || limit > 1000) {
        return Error(ErrorCode::invalid_argument, "limit is out of range: give 1 to 1,000");
    }
    Outliers outliers;
    CommitDependency dependency;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        outliers = core_->table.outliers(limit, core_->view_time());
        dependency = core_->commits.current();
    }
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    return outliers;
}

Result<HistoryPage> LockManager::history(const HistoryRequest& request) {
    if (auto error = core_->not_ours()) return *std::move(error);
    if (auto error = check_name("the resource", request.resource)) return *std::move(error);
    GrantId last{};
    std::vector<HistoryRow> present;
    CommitDependency dependency;
    CommitDependency all;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        last = core_->table.last_grant(request.resource);
        present = core_->table.present(request.resource, core_->view_time());
        dependency = core_->commits.current();
        all = core_->commits.all_written();
    }
    if (auto done = core_->await_dependency(dependency); !done) return std::move(done).error();
    if (auto done = core_->await_dependency(all); !done) return std::move(done).error();
    return read_history(core_->storage, request, last, std::move(present));
}

Result<EventPage> LockManager::watch(const WatchRequest& request, std::stop_token stop) {
    if (auto error = core_->not_ours()) return *std::move(error);
    return core_->watch(request, stop);
}

Ticket LockManager::submit_watch(WatchRequest request, WatchCompletion done) {
    Ticket ticket{};
    if (auto error = core_->not_ours()) {
        done(*std::move(error));
        return ticket;
    }
    {
        MutexLock lock(core_->mutex);
        ticket = core_->take_ticket();
    }
    core_->submit_watch(ticket, std::move(request), std::move(done));
    return ticket;
}

void LockManager::on_lost(std::function<void(const LostNotice&)> notify,
                          std::function<bool(const SessionId&)> concerns) {
    MutexLock lock(core_->mutex);
    if (!notify) concerns = [](const SessionId&) { return false; };
    core_->table.set_reports_losses(std::move(concerns));
    core_->callbacks.notify_lost = std::move(notify);
}

void LockManager::on_answered(std::function<void(const AnsweredNotice&)> notify) {
    MutexLock lock(core_->mutex);
    core_->callbacks.notify_answered = std::move(notify);
}

void LockManager::on_wanted(std::function<void(const WantedNotice&)> notify) {
    MutexLock lock(core_->mutex);
    core_->callbacks.notify_wanted = std::move(notify);
}

void LockManager::on_flush_needed(std::function<void()> notify) {
    MutexLock lock(core_->mutex);
    core_->callbacks.notify_flusher = std::move(notify);
}

void LockManager::on_stall(std::function<void()> notify,
                           std::function<std::chrono::nanoseconds()> unread_for) {
    MutexLock lock(core_->mutex);
    core_->stalls.watch(std::move(notify), std::move(unread_for), core_->clock.now().boot);
}

void LockManager::resume() {
    if (!core_->fork_check.in_child()) core_->resume();
}

std::optional<BootTime> LockManager::tick() {
    if (core_->fork_check.in_child()) return std::nullopt;
    return core_->work();
}

std::optional<BootTime> LockManager::decide_due() { return core_->decide_due(); }

void LockManager::deliver_done() { core_->deliver_done(); }

BootTime LockManager::last_decision() const {
    MutexLock lock(core_->mutex);
    return core_->last_decided;
}

void LockManager::set_user_limits(const UserLimits& limits) {
    MutexLock lock(core_->mutex);
    core_->table.set_user_limits(limits);
}

void LockManager::set_retention(const Retention& retention) {
    {
        MutexLock alone(core_->trimming);
        core_->trimmer.set_retention(retention);
        MutexLock lock(core_->mutex);
        core_->plan_trim(core_->schedule.next_trim);
    }
    core_->thread.call();
}

void LockManager::set_slow_wait(std::chrono::milliseconds slow_wait) {
    MutexLock lock(core_->mutex);
    core_->table.set_slow_wait(slow_wait);
}

std::optional<std::string> LockManager::audit_invariants() {
    MutexLock lock(core_->mutex);
    return core_->table.audit_invariants(core_->clock.now());
}

std::optional<Error> LockManager::failure() const {
    if (auto error = core_->not_ours()) return error;
    MutexLock lock(core_->mutex);
    return core_->failed;
}

Result<void> LockManager::close() {
    if (auto error = core_->not_ours()) return *std::move(error);
    Core::DeferredActions after;
    CommitDependency last;
    CommitDependency durable_last;
    std::optional<Error> failed;
    std::deque<manager::DeferredRequest> deferred;
    {
        MutexLock lock(core_->mutex);
        if (core_->closing) return {};
        deferred = core_->stalls.close();
        core_->closing = true;
        failed = core_->failed;
        core_->answer_all(
            {ErrorCode::closing,
             "the lock manager is shutting down: retry after it has been started again"},
            after);
        last = core_->commits.all_written();
        durable_last = core_->commits.current();
    }
    core_->finish(after);
    core_->thread.stop();
    for (auto& late : deferred) {
        if (late.done) core_->submit_now(late.event, late.ticket, std::move(late.done));
    }
    core_->events.close();
    auto done = core_->durable(last);
    if (done) done = core_->durable(durable_last);
    core_->deliver_done();
    {
        // Requests are refused since `closing` is set, so none waits for a response.
        MutexLock lock(core_->mutex);
        ROCKLOCK_ASSERT(core_->pending.size() == 0 && !core_->stalls.stalled());
    }
    if (failed) return *failed;
    return done;
}

}  // namespace rocklock
