// crash_worker STORE JOURNAL
//
// Opens a store and performs operations as the orders in the journal say. Records each operation in
// the journal before and after it runs. Ends when it kills itself or is killed.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/kill_point.hpp"
#include "crash/journal.hpp"
#include "lock/manager/lock_manager.hpp"
#include "simulation/random.hpp"

namespace rocklock::crash {
namespace {

using simulation::Random;
using std::chrono::hours;
using std::chrono::milliseconds;

// ---- Kill points ----

Journal* journal = nullptr;
// The verb that this thread runs; none in the manager's own thread.
thread_local std::optional<Verb> current_verb = std::nullopt;
thread_local Entry* undecided = nullptr;
thread_local SessionId fresh_session;

[[noreturn]] void die() {
    kill(getpid(), SIGKILL);
    // Waits for the signal to arrive.
    for (;;) pause();
}

void pass_in_flush() {
    JournalHeader& header = journal->header();
    if (header.passed_in_flush.fetch_add(1) + 1 != header.orders.nth_in_flush) return;
    header.killed_in_flush.store(1);
    die();
}

void pass(std::size_t point) {
    JournalHeader& header = journal->header();
    if (point == static_cast<std::size_t>(KillPoint::after_write)) {
        header.written.store(header.decisions.load());
    }
    if (!current_verb) return;
    const auto verb = static_cast<std::size_t>(*current_verb);
    const std::uint32_t times = header.passed[verb][point].fetch_add(1) + 1;
    const Orders& orders = header.orders;
    if (orders.nth != times || orders.verb != *current_verb || orders.point != point) return;
    header.killed_itself.store(1);
    die();
}

// The system clock. Records the time of a decision in the journal: reading the clock is the first
// step of a decision, and the mutex that orders the decisions is held.
class NotingClock final : public Clock {
public:
    explicit NotingClock(std::string boot_id) : boot_id_(std::move(boot_id)) {}
    Instant now() override {
        const Instant now = system_clock().now();
        if (Entry* const entry = std::exchange(undecided, nullptr)) journal->decide(*entry, now);
        return now;
    }
    std::string boot_id() override { return boot_id_; }

private:
    const std::string boot_id_;
};

// ---- Knowledge of the store ----

// The state of the store as the threads know it. It may be outdated; a request that is refused for
// that reason is judged, too.
class Knowledge {
public:
    void begin(LockManager& manager) {
        const std::vector<SessionView> views = manager.sessions("").value();
        for (const SessionView& view : views) {
            leases_[view.id] = view.lease;
            const std::vector<Grant> grants = manager.grants(view.id).value();
            for (const Grant& grant : grants) grants_[grant.id] = grant;
        }
        for (const LockClass& known : manager.classes()) classes_.push_back(known.pattern);
    }

    void learn(const Operation& operation, const Result<Answer>& answer) {
        const std::lock_guard lock(mutex_);
        if (operation.verb == Verb::wait) --waiting_;
        if (!answer) return;
        if (const auto* grant = std::get_if<Grant>(&*answer)) grants_[grant->id] = *grant;
        if (const auto* session = std::get_if<SessionInfo>(&*answer)) {
            leases_[session->id] = session->lease;
        }
        if (const auto* released = std::get_if<Released>(&*answer)) {
            if (released->outcome == Outcome::held) return;
        }
        if (const auto* closed = std::get_if<CloseSession>(&operation.request)) {
            leases_.erase(closed->session);
        }
        forget_grant(operation.request);
        if (const auto* put = std::get_if<PutClass>(&operation.request)) {
            classes_.push_back(put->lock_class.pattern);
        }
    }

    bool knows_class(const std::string& pattern) const {
        const std::lock_guard lock(mutex_);
        return std::find(classes_.begin(), classes_.end(), pattern) != classes_.end();
    }
    std::size_t sessions() const {
        const std::lock_guard lock(mutex_);
        return leases_.size();
    }
    std::optional<SessionId> session(Random& random) const {
        const std::lock_guard lock(mutex_);
        if (leases_.empty()) return std::nullopt;
        return std::next(leases_.begin(), static_cast<std::ptrdiff_t>(random.below(leases_.size())))
            ->first;
    }
    milliseconds lease(const SessionId& session) const {
        const std::lock_guard lock(mutex_);
        const auto found = leases_.find(session);
        return found == leases_.end() ? milliseconds(hours(24)) : found->second;
    }
    template <typename Fits>
    std::optional<Grant> grant(Random& random, const Fits& fits) const {
        const std::lock_guard lock(mutex_);
        std::vector<Grant> fitting;
        for (const auto& [id, grant] : grants_) {
            if (fits(grant)) fitting.push_back(grant);
        }
        if (fitting.empty()) return std::nullopt;
        return random.pick(fitting);
    }
    // Limits the number of waiting requests, so that requests that do not wait are not always
    // refused.
    bool may_wait() {
        const std::lock_guard lock(mutex_);
        if (waiting_ >= 2) return false;
        ++waiting_;
        return true;
    }

private:
    void forget_grant(const Request& request) {
        std::visit(
            [this](const auto& verb) {
                using T = std::decay_t<decltype(verb)>;
                if constexpr (requires { verb.grant; } && !std::is_same_v<T, Convert>) {
                    grants_.erase(verb.grant);
                }
            },
            request);
    }

    mutable std::mutex mutex_;
    std::map<SessionId, milliseconds> leases_;
    std::map<GrantId, Grant> grants_;
    std::vector<std::string> classes_;
    int waiting_ = 0;
};

// ---- Choosing operations ----

LockClass class_of(const std::string& pattern) {
    LockClass made;
    made.pattern = pattern;
    if (pattern == "docs/*") {
        made.policy = Policy::read_write;
        made.steal = StealPolicy::anyone;
    }
    if (pattern == "seats") made.permits = 3;
    return made;
}

LockRequest lock_on(const std::string& resource, Random& random) {
    LockRequest lock;
    lock.resource = resource;
    if (resource == "seats") {
        lock.permits = 1 + static_cast<std::uint32_t>(random.below(2));
        return lock;
    }
    constexpr Mode modes[] = {Mode::read, Mode::read, Mode::write, Mode::exclusive};
    lock.mode = modes[random.below(4)];
    lock.subtree = resource == "tree" && random.percent(70);
    return lock;
}

std::vector<LockRequest> some_locks(std::size_t count, Random& random) {
    std::vector<std::string> names = {"docs/1",  "docs/2", "docs/3", "docs/4",  "plain/a",
                                      "plain/b", "tree",   "tree/x", "extra/1", "seats"};
    std::vector<LockRequest> locks;
    while (locks.size() < count) {
        const std::size_t index = random.below(names.size());
        locks.push_back(lock_on(names[index], random));
        names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return locks;
}

// Longer than any run, so that no lease ends.
milliseconds some_lease(Random& random) {
    return hours(24) + milliseconds(random.below(milliseconds(hours(48)).count()));
}

class Chooser {
public:
    Chooser(Knowledge& known, Random& random) : known_(known), random_(random) {}

    // Returns an operation with this verb, or none if the store has no object for it.
    std::optional<Operation> make(Verb verb) {
        auto request = request_for(verb);
        if (!request) return std::nullopt;
        Operation operation;
        operation.verb = verb;
        operation.request = *std::move(request);
        for (std::uint8_t& byte : operation.fresh.bytes) {
            byte = static_cast<std::uint8_t>(random_.next());
        }
        return operation;
    }

private:
    std::optional<Request> request_for(Verb verb) {
        switch (verb) {
            case Verb::recovery:
                return std::nullopt;
            case Verb::open:
                return known_.sessions() < 6 ? open() : std::nullopt;
            case Verb::put_class:
            case Verb::delete_class:
                return change_class(verb);
            case Verb::release:
            case Verb::convert_up:
            case Verb::convert_down:
            case Verb::transfer:
            case Verb::steal:
            case Verb::break_grant:
                return to_a_grant(verb);
            default:
                return by_a_session(verb);
        }
    }

    std::optional<Request> open() {
        OpenSession open;
        open.principal = "principal " + std::to_string(random_.below(4));
        open.lease = some_lease(random_);
        return open;
    }

    std::optional<Request> change_class(Verb verb) {
        if (verb == Verb::delete_class) return DeleteClass{"extra/*"};
        if (!known_.knows_class("docs/*")) return PutClass{class_of("docs/*")};
        if (!known_.knows_class("seats")) return PutClass{class_of("seats")};
        LockClass extra = class_of("extra/*");
        extra.policy = random_.percent(50) ? Policy::read_write : Policy::exclusive_read;
        extra.steal = random_.percent(50) ? StealPolicy::anyone : StealPolicy::never;
        return PutClass{extra};
    }

    std::optional<Request> by_a_session(Verb verb) {
        const auto session = known_.session(random_);
        if (!session) return std::nullopt;
        if (verb == Verb::close) {
            return known_.sessions() > 3 ? std::optional<Request>(CloseSession{*session})
                                         : std::nullopt;
        }
        if (verb == Verb::renew || verb == Verb::renew_longer) return renew(*session, verb);
        Acquire acquire;
        acquire.session = *session;
        acquire.locks = some_locks(verb == Verb::acquire_set ? 2 + random_.below(3) : 1, random_);
        if (verb == Verb::acquire && random_.percent(20)) acquire.held = Held::join;
        if (verb == Verb::count) {
            const auto grant = known_.grant(random_, [](const Grant&) { return true; });
            if (!grant) return std::nullopt;
            acquire.session = grant->session;
            acquire.held = Held::count;
            const GrantedLock& held = grant->locks.front();
            acquire.locks = {{held.resource, std::nullopt, std::nullopt, held.subtree, 0}};
            if (held.permits > 0) acquire.locks[0].permits = held.permits;
            if (held.permits == 0) acquire.locks[0].mode = held.mode;
        }
        if (verb == Verb::wait) {
            if (!known_.may_wait()) return std::nullopt;
            acquire.patience = no_limit;
        }
        return acquire;
    }

    std::optional<Request> renew(const SessionId& session, Verb verb) {
        RenewSession renew;
        renew.session = session;
        const milliseconds lease = known_.lease(session);
        if (verb == Verb::renew_longer) {
            renew.lease = std::min(lease + milliseconds(1 + random_.below(60'000)),
                                   milliseconds(limits::lease_max));
        } else if (random_.percent(50) && lease > hours(12)) {
            renew.lease = lease - milliseconds(random_.below(60'000));
        }
        return renew;
    }

    std::optional<Request> to_a_grant(Verb verb) {
        const auto grant = known_.grant(random_, [verb](const Grant& g) {
            const GrantedLock& first = g.locks.front();
            if (verb == Verb::convert_up) return first.permits == 0 && first.mode == Mode::read;
            if (verb == Verb::convert_down) return first.permits == 0 && first.mode != Mode::read;
            return true;
        });
        const auto other = known_.session(random_);
        if (!grant || !other) return std::nullopt;
        if (verb == Verb::release) return Release{grant->session, grant->id};
        if (verb == Verb::transfer) return Transfer{grant->session, grant->id, *other};
        if (verb == Verb::steal) {
            return Steal{*other, grant->id, "to test it", random_.percent(50)};
        }
        if (verb == Verb::break_grant) return Break{grant->id, "to test it", "root"};
        Convert convert;
        convert.session = grant->session;
        convert.grant = grant->id;
        convert.mode = verb == Verb::convert_up ? Mode::write : Mode::read;
        return convert;
    }

    Knowledge& known_;
    Random& random_;
};

// ---- Running operations ----

class Worker {
public:
    Worker(LockManager& manager, Knowledge& known, const Orders& orders)
        : manager_(manager), known_(known), orders_(orders) {}

    void work(std::uint64_t seed) {
        Random random(seed);
        Chooser chooser(known_, random);
        while (left_.fetch_sub(1) > 0) {
            std::optional<Operation> next;
            while (!next) next = chooser.make(verb(random));
            perform(*next);
        }
    }

private:
    Verb verb(Random& random) const {
        if (!known_.knows_class("seats")) return Verb::put_class;
        if (known_.sessions() < 3) return Verb::open;
        if (orders_.nth > 0 && orders_.verb != Verb::recovery && random.percent(40)) {
            return orders_.verb;
        }
        const auto verb = static_cast<Verb>(1 + random.below(verb_count - 1));
        // If the manager has no thread of its own, no thread would complete the wait.
        if (verb == Verb::wait && !orders_.background) return Verb::acquire;
        // Otherwise, most sessions would be closed before they are used.
        if (verb == Verb::close && random.percent(60)) return Verb::acquire;
        return verb;
    }

    void perform(const Operation& operation) {
        current_verb = operation.verb;
        fresh_session = operation.fresh;
        Entry& entry = journal->prepare(operation);
        undecided = &entry;
        if (operation.verb == Verb::wait) {
            manager_.submit(operation.request, [this, operation, &entry](const auto& answer) {
                answered(operation, entry, answer);
            });
        } else {
            const Result<Answer> answer = manager_.call(operation.request);
            answered(operation, entry, answer);
        }
        undecided = nullptr;
        current_verb.reset();
    }

    void answered(const Operation& operation, Entry& entry, const Result<Answer>& answer) {
        Journal::answer(entry, answer);
        known_.learn(operation, answer);
        const auto before = std::exchange(current_verb, operation.verb);
        if (answer) pass(after_reply);
        current_verb = before;
    }

    LockManager& manager_;
    Knowledge& known_;
    const Orders& orders_;
    std::atomic<std::int64_t> left_{orders_.operations};
};

int live(const std::string& directory) {
    const Orders& orders = journal->header().orders;
    static NotingClock clock(orders.boot_id.data());
    kill_hook.store([](KillPoint point) {
        if (point == KillPoint::in_flush) return pass_in_flush();
        pass(static_cast<std::size_t>(point));
    });

    current_verb = Verb::recovery;
    RocksdbOptions storage_options;
    storage_options.write_buffer_bytes = orders.write_buffer_bytes;
    auto storage = open_rocksdb_storage(directory, clock, storage_options);
    if (!storage) {
        std::fprintf(stderr, "crash_worker: %s\n", storage.error().message.c_str());
        return 1;
    }
    LockManagerOptions options;
    options.background = orders.background;
    options.session_ids = [] { return fresh_session; };
    auto manager = LockManager::open(**storage, clock, std::move(options));
    if (!manager) {
        std::fprintf(stderr, "crash_worker: %s\n", manager.error().message.c_str());
        return 1;
    }
    journal->header().recovered.store(1);
    pass(after_reply);
    current_verb.reset();

    Knowledge known;
    known.begin(**manager);
    Worker worker(**manager, known, orders);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 1; i < orders.threads; ++i) {
        threads.emplace_back([&worker, seed = orders.seed + i] { worker.work(seed); });
    }
    worker.work(orders.seed);
    for (std::thread& thread : threads) thread.join();
    journal->header().finished.store(1);
    while (orders.stays) pause();
    if (orders.nth_in_flush != 0) std::ignore = (*storage)->close();
    // Otherwise, does not close the store: ends like a crash.
    kill(getpid(), SIGKILL);
    return 1;
}

}  // namespace
}  // namespace rocklock::crash

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "crash_worker STORE JOURNAL\n");
        return 2;
    }
    auto opened = rocklock::crash::Journal::open(argv[2]);
    rocklock::crash::journal = &opened;
    return rocklock::crash::live(argv[1]);
}
