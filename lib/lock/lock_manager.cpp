#include "lock/lock_manager.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/assert.hpp"
#include "base/mutex.hpp"
#include "base/parker.hpp"
#include "base/random.hpp"
#include "lock/history.hpp"
#include "lock/records.hpp"
#include "lock/table_core.hpp"
#include "lock/wake_thread.hpp"

namespace rocklock {

namespace {

using std::chrono::milliseconds;

// Between two searches for waiters that were forgotten, and between two rounds of trimming.
constexpr std::chrono::seconds search_every{5};
constexpr std::chrono::seconds trim_every{1};
constexpr std::size_t trim_budget = 4096;
constexpr std::size_t graph_limit = 10'000;

// A new store's tokens start where no store before it can have come to: 2^21 a second is more than
// are handed out. The same after a restore.
std::uint64_t token_floor(WallTime wall) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1)) << 21;
}

SessionId random_session() {
    SessionId id;
    fill_random(id.bytes);
    return id;
}

// How durable the caller's own answer must be; others' in the same decision may need more.
Durability durability_of(const Event& event, Durability decided) {
    const auto* request = std::get_if<Request>(&event);
    if (request == nullptr) return decided;
    const bool lazy =
        std::holds_alternative<Release>(*request) || std::holds_alternative<CloseSession>(*request);
    return lazy ? Durability::deferred : decided;
}

// The commits that something rests on.
struct Standing {
    CommitNumber number = 0;
    Durability durability = Durability::deferred;
};

// A thread that waits for its answer.
struct Caller {
    Parker parker;
    std::optional<Result<Answer>> answer;
    Standing standing;
};

// Who gets the answer of a request that waits.
struct Pending {
    Caller* caller = nullptr;
    LockService::Completion done;
};

// Something to be told once its commit is as durable as it must be.
struct Delivery {
    Standing standing;
    LockService::Completion done;
    std::optional<Result<Answer>> answer;
    // The answer is to be looked up in the history, under this ticket.
    std::optional<AskHistory> history;
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
};

}  // namespace

struct LockManager::Core {
    Core(Storage& used_storage, Clock& used_clock, LockManagerOptions chosen, const SessionKey& key)
        : storage(used_storage),
          clock(used_clock),
          options(std::move(chosen)),
          table(options.table, key),
          trimmer({options.history_age, options.history_records}) {}

    Storage& storage;
    Clock& clock;
    LockManagerOptions options;
    mutable Mutex mutex;
    std::function<void(const LostNotice&)> tell_lost ROCKLOCK_GUARDED_BY(mutex);
    std::function<void(const WantedNotice&)> tell_wanted ROCKLOCK_GUARDED_BY(mutex);
    LockTable table ROCKLOCK_GUARDED_BY(mutex);
    HistoryTrimmer trimmer ROCKLOCK_GUARDED_BY(mutex);
    // Kept for its memory.
    Decision decision ROCKLOCK_GUARDED_BY(mutex);
    boost::unordered_flat_map<Ticket, Pending, table::TicketHash> pending
        ROCKLOCK_GUARDED_BY(mutex);
    std::uint64_t next_ticket ROCKLOCK_GUARDED_BY(mutex) = 1;
    // The last commit of all, and the last that is to be durable: what looking waits for.
    CommitNumber last_commit ROCKLOCK_GUARDED_BY(mutex) = 0;
    CommitNumber last_durable ROCKLOCK_GUARDED_BY(mutex) = 0;
    // The last that is to be written or more.
    CommitNumber last_kept ROCKLOCK_GUARDED_BY(mutex) = 0;
    // Refusals, told at once; the rest in order of their commits.
    std::deque<Delivery> ready ROCKLOCK_GUARDED_BY(mutex);
    std::deque<Delivery> committing ROCKLOCK_GUARDED_BY(mutex);
    bool delivering ROCKLOCK_GUARDED_BY(mutex) = false;
    bool closing ROCKLOCK_GUARDED_BY(mutex) = false;
    std::optional<Error> failed ROCKLOCK_GUARDED_BY(mutex);
    BootTime last_decided ROCKLOCK_GUARDED_BY(mutex){};
    // When the thread has set itself to wake; it is called when something is due before.
    BootTime wakes_at ROCKLOCK_GUARDED_BY(mutex){BootTime::max()};
    BootTime next_search ROCKLOCK_GUARDED_BY(mutex){};
    BootTime next_trim ROCKLOCK_GUARDED_BY(mutex){};
    WakeThread thread;

    // What a decision leaves to do when the mutex is released.
    struct Aftermath {
        std::optional<Result<Answer>> own;
        std::optional<AskHistory> history;
        Standing standing;
        std::vector<Parker*> wake;
        bool call_thread = false;
    };

    Result<void> recover();
    std::optional<Error> refusal() const ROCKLOCK_REQUIRES(mutex);
    Ticket take_ticket() ROCKLOCK_REQUIRES(mutex) { return Ticket{next_ticket++}; }
    void decide(const Event& event, Ticket ticket, Aftermath& after) ROCKLOCK_REQUIRES(mutex);
    Standing commit(bool synced) ROCKLOCK_REQUIRES(mutex);
    void distribute(Ticket own, const Standing& standing, Aftermath& after)
        ROCKLOCK_REQUIRES(mutex);
    void tell(Pending to, Result<Answer> answer, const Standing& standing, Aftermath& after)
        ROCKLOCK_REQUIRES(mutex);
    void finish(Aftermath& after) ROCKLOCK_EXCLUDES(mutex);
    // What is answered without a commit of its own rests on these.
    Standing standing_now() const ROCKLOCK_REQUIRES(mutex) {
        if (options.durability == Durability::durable) return {last_durable, Durability::durable};
        return {last_kept, Durability::written};
    }

    Result<Answer> call(Event event, const std::stop_token& stop) ROCKLOCK_EXCLUDES(mutex);
    std::variant<Result<Answer>, Retake> settle_own(Aftermath& after) ROCKLOCK_EXCLUDES(mutex);
    Result<Answer> await(Caller& caller, Ticket ticket, const std::stop_token& stop)
        ROCKLOCK_EXCLUDES(mutex);
    Result<void> durable(const Standing& standing) ROCKLOCK_EXCLUDES(mutex);
    void fail(const Error& error) ROCKLOCK_EXCLUDES(mutex);
    void answer_all(const Error& error, Aftermath& after) ROCKLOCK_REQUIRES(mutex);
    void submit(const Event& event, Ticket ticket, LockService::Completion done)
        ROCKLOCK_EXCLUDES(mutex);
    void cancel(Ticket ticket) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> decide_due() ROCKLOCK_EXCLUDES(mutex);
    void trim() ROCKLOCK_EXCLUDES(mutex);
    void deliver_done() ROCKLOCK_EXCLUDES(mutex);
    bool take_delivery(Delivery& delivery) ROCKLOCK_REQUIRES(mutex);
    void deliver(Delivery& delivery) ROCKLOCK_EXCLUDES(mutex);
    std::optional<BootTime> work() ROCKLOCK_EXCLUDES(mutex);
    Result<void> await_looking(const Standing& standing) ROCKLOCK_EXCLUDES(mutex);
};

// ---- Opening
// ------------------------------------------------------------------------------------------------

namespace {

Result<std::optional<std::string>> read_meta(const Storage& storage, std::string_view key) {
    return storage.get(Family::meta, key);
}

// The store's secret, made with the store. A value begins with its version.
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
    // What is not durable is not answered as if it were; nobody is left to be told.
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
    const std::string boot_id = clock.boot_id();
    RecoveryFacts facts;
    facts.now = clock.now();
    facts.restored = options.restored;
    // Deadlines are exact on the same boot, unless renewals may have been lost with a failed sync.
    facts.exact = !boot_id.empty() && boot_id == boot.boot_id && !storage.suspect();
    facts.boot_epoch = facts.exact ? boot.epoch : boot.epoch + 1;
    if (!*marks || options.restored) facts.token_floor = token_floor(facts.now.wall);
    decision.clear();
    const auto snapshot = storage.snapshot();
    if (auto done = table.recover(*snapshot, facts, decision); !done) return done;
    boot.version = facts.boot_epoch;
    boot.epoch = facts.boot_epoch;
    boot.boot_id = boot_id;
    decision.batch.writes.push_back(
        {Family::meta, std::string(records::boot_key), records::encode(boot)});
    if (auto done = storage.commit(std::move(decision.batch)); !done) return done;
    last_decided = facts.now.boot;
    next_search = last_decided + search_every;
    next_trim = last_decided + trim_every;
    return storage.mark_sound();
}

// ---- Deciding
// -------------------------------------------------------------------------------------------------

std::optional<Error> LockManager::Core::refusal() const {
    if (failed) return failed;
    if (closing) {
        return Error(ErrorCode::closing,
                     "the lock manager is shutting down: ask again when it is back");
    }
    return std::nullopt;
}

void LockManager::Core::decide(const Event& event, Ticket ticket, Aftermath& after) {
    decision.clear();
    Instant now = clock.now();
    now.boot = std::max(now.boot, last_decided);
    last_decided = now.boot;
    SessionId fresh;
    if (const auto* request = std::get_if<Request>(&event)) {
        const auto* acquire = std::get_if<Acquire>(request);
        if (std::holds_alternative<OpenSession>(*request) ||
            (acquire != nullptr && acquire->opens)) {
            fresh = options.session_ids ? options.session_ids() : random_session();
        }
    }
    table.apply(event, ticket, fresh, now, decision);
    const bool changed = !decision.batch.empty();
    const Standing standing = commit(decision.synced);
    after.standing = {standing.number, durability_of(event, standing.durability)};
    distribute(ticket, standing, after);
    // A session that is told of again: its opening is written, not synced.
    if (!changed && after.own && *after.own && std::holds_alternative<SessionInfo>(**after.own)) {
        after.standing = {last_kept, Durability::written};
    }
    const auto next = table.next_wake();
    if (next && *next < wakes_at) {
        wakes_at = *next;
        after.call_thread = true;
    }
}

// Puts the batch into the storage's queue; what has none rests on what was decided before.
Standing LockManager::Core::commit(bool synced) {
    if (decision.batch.empty()) return standing_now();
    Durability durability = decision.durability;
    if (!synced) durability = std::min(durability, options.durability);
    last_commit = storage.enqueue(std::move(decision.batch), durability);
    if (durability == Durability::durable) last_durable = last_commit;
    if (durability != Durability::deferred) last_kept = last_commit;
    return {last_commit, durability};
}

void LockManager::Core::distribute(Ticket own, const Standing& standing, Aftermath& after) {
    for (Reply& reply : decision.replies) {
        if (reply.ticket == own) {
            after.own = std::move(reply.answer);
            continue;
        }
        const auto found = pending.find(reply.ticket);
        if (found == pending.end()) continue;
        Pending to = std::move(found->second);
        pending.erase(found);
        tell(std::move(to), std::move(reply.answer), standing, after);
    }
    for (AskHistory& asked : decision.history) {
        ROCKLOCK_ASSERT(asked.ticket == own);
        after.history = std::move(asked);
    }
    if (decision.lost.empty() && decision.wanted.empty()) return;
    if (!tell_lost && !tell_wanted) return;
    Delivery news;
    news.standing = standing;
    news.lost = std::move(decision.lost);
    news.wanted = std::move(decision.wanted);
    committing.push_back(std::move(news));
    after.call_thread = true;
}

void LockManager::Core::tell(Pending to, Result<Answer> answer, const Standing& standing,
                             Aftermath& after) {
    if (to.caller != nullptr) {
        to.caller->answer = std::move(answer);
        to.caller->standing = standing;
        after.wake.push_back(&to.caller->parker);
        return;
    }
    Delivery delivery;
    delivery.standing = standing;
    delivery.done = std::move(to.done);
    const bool at_once = !answer;
    delivery.answer = std::move(answer);
    (at_once ? ready : committing).push_back(std::move(delivery));
    after.call_thread = true;
}

// A caller may go on, and its Parker end, as soon as it is woken: so this comes last.
void LockManager::Core::finish(Aftermath& after) {
    for (Parker* parker : after.wake) parker->unpark(1);
    if (after.call_thread && options.background) thread.call();
}

// ---- Blocking calls
// -------------------------------------------------------------------------------------------

Result<void> LockManager::Core::durable(const Standing& standing) {
    if (standing.number == 0) return {};
    auto done = storage.wait(standing.number, standing.durability);
    if (!done) fail(done.error());
    return done;
}

Result<Answer> LockManager::Core::call(Event event, const std::stop_token& stop) {
    for (;;) {
        Caller caller;
        Aftermath after;
        Ticket ticket{};
        {
            MutexLock lock(mutex);
            if (auto error = refusal()) return *std::move(error);
            ticket = take_ticket();
            decide(event, ticket, after);
            if (!after.own && !after.history) {
                Pending to;
                to.caller = &caller;
                pending.emplace(ticket, std::move(to));
            }
        }
        finish(after);
        if (!after.own && !after.history) return await(caller, ticket, stop);
        auto next = settle_own(after);
        if (auto* answer = std::get_if<Result<Answer>>(&next)) return std::move(*answer);
        event = std::get<Retake>(std::move(next));
    }
}

// The caller's own answer, when all it rests on is as durable as it must be.
std::variant<Result<Answer>, Retake> LockManager::Core::settle_own(Aftermath& after) {
    if (after.history) {
        // What has ended is read from the storage, so it must be there.
        if (auto done = await_looking({after.standing.number, Durability::written}); !done) {
            return Result<Answer>(std::move(done).error());
        }
        MutexLock lock(mutex);
        return answer_from_history(storage, table, *after.history);
    }
    Result<Answer>& own = *after.own;
    // A refusal rests on what is decided. Whatever its decision wrote is written with the next
    // batch.
    if (!own) after.standing.durability = Durability::deferred;
    auto done = durable(after.standing);
    if (!done && own) return Result<Answer>(std::move(done).error());
    return std::move(own);
}

Result<Answer> LockManager::Core::await(Caller& caller, Ticket ticket,
                                        const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [this, ticket] { cancel(ticket); });
    if (!options.background) {
        // Nobody else minds the time: look at it in between.
        for (bool waits = true; waits;) {
            decide_due();
            deliver_done();
            MutexLock lock(mutex);
            waits = pending.contains(ticket);
            lock.unlock();
            if (waits) std::this_thread::sleep_for(milliseconds{1});
        }
    }
    caller.parker.park();
    if (!*caller.answer) return *std::move(caller.answer);
    if (auto done = durable(caller.standing); !done) return std::move(done).error();
    return *std::move(caller.answer);
}

Result<void> LockManager::Core::await_looking(const Standing& standing) {
    auto done = durable(standing);
    if (done && storage.failure()) return *storage.failure();
    return done;
}

// Once a commit has failed, what was decided after it is void, and nothing more is answered but the
// error.
void LockManager::Core::fail(const Error& error) {
    Aftermath after;
    {
        MutexLock lock(mutex);
        if (failed || closing) return;
        failed = error;
        failed->message += "; nothing more is granted until the store is opened again";
        answer_all(*failed, after);
    }
    finish(after);
}

void LockManager::Core::answer_all(const Error& error, Aftermath& after) {
    auto waiting = std::exchange(pending, {});
    for (auto& [ticket, to] : waiting) tell(std::move(to), error, {}, after);
}

// ---- Asynchronous calls
// ---------------------------------------------------------------------------------------

void LockManager::Core::submit(const Event& event, Ticket ticket, LockService::Completion done) {
    Aftermath after;
    bool lazily = false;
    {
        MutexLock lock(mutex);
        if (auto error = refusal()) {
            after.own = *std::move(error);
        } else {
            decide(event, ticket, after);
        }
        Delivery delivery;
        delivery.done = std::move(done);
        delivery.standing = after.standing;
        if (after.history) {
            delivery.history = std::move(after.history);
            delivery.standing = {last_commit, Durability::written};
            committing.push_back(std::move(delivery));
        } else if (after.own) {
            lazily = after.standing.durability == Durability::deferred;
            const bool at_once = !*after.own || lazily;
            delivery.answer = std::move(after.own);
            (at_once ? ready : committing).push_back(std::move(delivery));
        } else {
            Pending to;
            to.done = std::move(delivery.done);
            pending.emplace(ticket, std::move(to));
        }
        after.call_thread = after.call_thread || !ready.empty() || !committing.empty();
    }
    finish(after);
    // Written with the next batch, or now when nobody is writing.
    if (lazily) [[maybe_unused]]
        const auto written = durable(after.standing);
}

void LockManager::Core::cancel(Ticket ticket) {
    Aftermath after;
    {
        MutexLock lock(mutex);
        if (failed || closing || !pending.contains(ticket)) return;
        decide(CancelWait{ticket}, Ticket{}, after);
    }
    finish(after);
}

bool LockManager::Core::take_delivery(Delivery& delivery) {
    if (!ready.empty()) {
        delivery = std::move(ready.front());
        ready.pop_front();
        return true;
    }
    if (committing.empty()) return false;
    const Standing& standing = committing.front().standing;
    if (standing.number != 0 && !storage.done(standing.number, standing.durability)) return false;
    delivery = std::move(committing.front());
    committing.pop_front();
    return true;
}

void LockManager::Core::deliver_done() {
    MutexLock lock(mutex);
    // One at a time and in order, whoever comes.
    if (delivering) return;
    delivering = true;
    for (Delivery delivery; take_delivery(delivery); delivery = {}) {
        lock.unlock();
        deliver(delivery);
        lock.lock();
    }
    delivering = false;
}

void LockManager::Core::deliver(Delivery& delivery) {
    // What rests on a commit that failed did not happen.
    const auto failure = storage.failure();
    const bool rests = delivery.standing.number != 0;
    if (failure && rests) {
        fail(*failure);
        if (delivery.done) {
            const bool refused = delivery.answer && !*delivery.answer;
            delivery.done(refused ? *std::move(delivery.answer) : Result<Answer>(*failure));
        }
        return;
    }
    if (delivery.history) {
        Ticket ticket = delivery.history->ticket;
        auto answer = [&] {
            MutexLock lock(mutex);
            return answer_from_history(storage, table, *delivery.history);
        }();
        if (auto* retake = std::get_if<Retake>(&answer)) {
            return submit(std::move(*retake), ticket, std::move(delivery.done));
        }
        return delivery.done(std::get<Result<Answer>>(std::move(answer)));
    }
    if (delivery.done) return delivery.done(*std::move(delivery.answer));
    std::function<void(const LostNotice&)> lost;
    std::function<void(const WantedNotice&)> wanted;
    {
        MutexLock lock(mutex);
        lost = tell_lost;
        wanted = tell_wanted;
    }
    for (const LostNotice& notice : delivery.lost) {
        if (lost) lost(notice);
    }
    for (const WantedNotice& notice : delivery.wanted) {
        if (wanted) wanted(notice);
    }
}

// ---- Time
// -----------------------------------------------------------------------------------------------------

std::optional<BootTime> LockManager::Core::decide_due() {
    Aftermath after;
    std::optional<BootTime> next;
    {
        MutexLock lock(mutex);
        if (failed || closing) return std::nullopt;
        const BootTime now = std::max(clock.now().boot, last_decided);
        const auto due = table.next_wake();
        const bool search = now >= next_search;
        if ((due && *due <= now) || search) {
            Tick tick;
            tick.search = search;
            if (search) next_search = now + search_every;
            decide(tick, Ticket{}, after);
        }
        next = table.next_wake();
        if (next && !options.background) return next;
        // The search, and the trimming, go on while there is something to look at.
        const LockStatistics counts = table.statistics();
        if (counts.waiting > 0) next = std::min(next.value_or(BootTime::max()), next_search);
        wakes_at = next.value_or(BootTime::max());
    }
    finish(after);
    return next;
}

void LockManager::Core::trim() {
    Standing standing;
    {
        MutexLock lock(mutex);
        const BootTime now = std::max(clock.now().boot, last_decided);
        if (failed || closing || now < next_trim) return;
        next_trim = now + trim_every;
        Batch batch;
        trimmer.trim(*storage.snapshot(), table, now, table.boot_epoch(), trim_budget, batch);
        if (batch.empty()) return;
        standing = {storage.enqueue(std::move(batch), Durability::deferred), Durability::deferred};
        last_commit = standing.number;
    }
    [[maybe_unused]] const auto written = durable(standing);
}

// One round of the thread: what is due, what is to be made durable, what is to be told.
std::optional<BootTime> LockManager::Core::work() {
    const std::optional<BootTime> next = decide_due();
    trim();
    Standing last;
    Standing durable_last;
    {
        MutexLock lock(mutex);
        last = {last_commit, Durability::written};
        durable_last = standing_now();
        if (committing.empty()) last = {last_commit, Durability::deferred};
    }
    [[maybe_unused]] const auto written = durable(last);
    [[maybe_unused]] const auto synced = durable(durable_last);
    deliver_done();
    MutexLock lock(mutex);
    if (!ready.empty() || !committing.empty()) return last_decided;
    return next;
}

// ---- The service
// ----------------------------------------------------------------------------------------------

Ticket LockManager::submit(Request request, Completion done) {
    Ticket ticket{};
    {
        MutexLock lock(core_->mutex);
        ticket = core_->take_ticket();
    }
    core_->submit(Event(std::move(request)), ticket, std::move(done));
    return ticket;
}

void LockManager::cancel(Ticket ticket) { core_->cancel(ticket); }

Result<Answer> LockManager::call(Request request, std::stop_token stop) {
    return core_->call(Event(std::move(request)), stop);
}

Result<LockView> LockManager::show(std::string_view resource) {
    LockView view;
    GrantId last{};
    Standing standing;
    Standing all;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        view = core_->table.show(resource, core_->clock.now());
        last = core_->table.last_grant(resource);
        standing = core_->standing_now();
        all = {core_->last_commit, Durability::written};
    }
    if (auto done = core_->await_looking(standing); !done) return std::move(done).error();
    if (auto done = core_->await_looking(all); !done) return std::move(done).error();
    auto past = read_past_holder(core_->storage, resource, last);
    if (!past) return std::move(past).error();
    view.last_holder = *std::move(past);
    return view;
}

Result<LockPage> LockManager::list(const ListLocks& request) {
    Result<LockPage> page = LockPage{};
    Standing standing;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        page = core_->table.list(request, core_->clock.now());
        standing = core_->standing_now();
    }
    if (auto done = core_->await_looking(standing); !done) return std::move(done).error();
    return page;
}

Result<std::vector<SessionView>> LockManager::sessions(std::string_view principal) {
    std::vector<SessionView> views;
    Standing standing;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        views = core_->table.sessions(principal, core_->clock.now());
        standing = core_->standing_now();
    }
    if (auto done = core_->await_looking(standing); !done) return std::move(done).error();
    return views;
}

Result<std::vector<Grant>> LockManager::grants(const SessionId& session) {
    std::vector<Grant> grants;
    Standing standing;
    {
        MutexLock lock(core_->mutex);
        if (core_->failed) return *core_->failed;
        grants = core_->table.grants(session, core_->clock.now());
        standing = core_->standing_now();
    }
    if (auto done = core_->await_looking(standing); !done) return std::move(done).error();
    return grants;
}

Result<SessionInfo> LockManager::authenticate(const SessionId& session, const Secret& secret) {
    MutexLock lock(core_->mutex);
    if (!(core_->table.secret(session) == secret)) {
        return Error(ErrorCode::not_owner, "the secret does not belong to this session");
    }
    return core_->table.session(session, core_->clock.now());
}

bool LockManager::holds(const SessionId& session, std::string_view resource, Mode mode) {
    MutexLock lock(core_->mutex);
    return !core_->failed && core_->table.holds(session, resource, mode, core_->clock.now());
}

std::vector<LockClass> LockManager::classes() {
    MutexLock lock(core_->mutex);
    return core_->table.classes();
}

std::vector<WaitEdge> LockManager::wait_graph() {
    MutexLock lock(core_->mutex);
    return core_->table.wait_graph(core_->clock.now(), graph_limit);
}

std::vector<Deadlock> LockManager::recent_deadlocks() {
    MutexLock lock(core_->mutex);
    return core_->table.recent_deadlocks();
}

Result<std::vector<AuditRow>> LockManager::audit(std::uint64_t after, std::uint32_t limit) {
    Standing standing;
    {
        MutexLock lock(core_->mutex);
        standing = core_->standing_now();
    }
    if (auto done = core_->await_looking(standing); !done) return std::move(done).error();
    return read_audit(*core_->storage.snapshot(), after, limit);
}

LockStatistics LockManager::statistics() {
    MutexLock lock(core_->mutex);
    return core_->table.statistics();
}

void LockManager::on_lost(std::function<void(const LostNotice&)> notify) {
    MutexLock lock(core_->mutex);
    core_->tell_lost = std::move(notify);
}

void LockManager::on_wanted(std::function<void(const WantedNotice&)> notify) {
    MutexLock lock(core_->mutex);
    core_->tell_wanted = std::move(notify);
}

std::optional<BootTime> LockManager::tick() { return core_->work(); }

std::optional<BootTime> LockManager::decide_due() { return core_->decide_due(); }

void LockManager::deliver_done() { core_->deliver_done(); }

BootTime LockManager::last_decision() const {
    MutexLock lock(core_->mutex);
    return core_->last_decided;
}

std::optional<std::string> LockManager::audit_invariants() {
    MutexLock lock(core_->mutex);
    return core_->table.audit_invariants(core_->clock.now());
}

std::optional<Error> LockManager::failure() const {
    MutexLock lock(core_->mutex);
    return core_->failed;
}

Result<void> LockManager::close() {
    Core::Aftermath after;
    Standing last;
    Standing durable_last;
    std::optional<Error> failed;
    {
        MutexLock lock(core_->mutex);
        if (core_->closing) return {};
        core_->closing = true;
        failed = core_->failed;
        core_->answer_all(
            {ErrorCode::closing, "the lock manager is shutting down: ask again when it is back"},
            after);
        last = {core_->last_commit, Durability::written};
        durable_last = core_->standing_now();
    }
    core_->finish(after);
    core_->thread.stop();
    auto done = core_->durable(last);
    if (done) done = core_->durable(durable_last);
    core_->deliver_done();
    if (failed) return *failed;
    return done;
}

}  // namespace rocklock
