// The members of a simulated world. Their definitions are in one file per topic:
//
//     world.cpp          setup, one run, and the checks after every step
//     world_steps.cpp    steps of the scheduler: storage, clocks, stalls, comparisons
//     world_clients.cpp  requests of the clients
//     world_network.cpp  messages and their answers
//     world_crash.cpp    crashes, and the checks after them
//
// cluster_world.hpp derives a world with two managers from it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "simulation/random.hpp"
#include "simulation/stepped_storage.hpp"
#include "simulation/watcher.hpp"
#include "simulation/world.hpp"
#include "support/event_text.hpp"
#include "support/model_mirror.hpp"

namespace rocklock::simulation {

using proof::ModelMirror;
using proof::ReferenceModel;
using std::chrono::milliseconds;

// This step is shorter than limits::priority_step, because leases and waits in a simulated world
// are short.
inline constexpr milliseconds priority_step{150};
using testing::SimulatedClock;

// An event since the manager was started. After a crash, the events that survived are applied to a
// new model.
struct Happened {
    // `active`: the session `fresh` was active in a way that is no event of the lock table.
    enum class Kind : std::uint8_t { event, restart, active } kind = Kind::event;
    Event event;
    Ticket ticket{};
    SessionId fresh;
    Instant now;
    // The last commit at the time of the decision.
    CommitNumber commit = 0;
    bool exact = true;
    std::uint64_t skip_to = 0;
};

// One request of a client, which may be sent several times.
struct Call {
    Event event;
    std::size_t client = 0;
    BootTime sent;
    bool forgotten = false;
};

struct Client {
    std::string principal;
    std::uint32_t uid = 0;
    std::optional<SessionId> session;
    std::string opening;
    // T6: the end of the lease as the client knows it.
    BootTime valid_until{};
    std::map<GrantId, Grant> believed;
    // The grants that the client has asked to release, transfer or convert. It no longer relies on
    // them.
    std::set<GrantId> given_up;
    std::uint64_t requests = 0;
};

// A promise to a client, which must hold after every crash.
struct Promise {
    SessionId session;
    std::vector<GrantedLock> locks;
};

class World {
public:
    World(std::uint64_t seed, bool trace, Counts& counts)
        : random_(seed * 0x2545F4914F6CDD1DU + 1), counts_(counts), trace_on_(trace) {
        verdict_.seed = seed;
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    virtual ~World() = default;

    Verdict run();

protected:
    // Called at the end of a run without a violation.
    virtual void finish() {}

    // The parameters with which the world was generated.
    struct Setup {
        std::vector<std::string> names;
        std::vector<std::string> counting;
        bool may_have_closures = true;
        bool closures = false;
        bool run_together = false;
    };
    // The state of the running manager.
    struct Life {
        std::uint64_t number = 0;
        std::uint64_t boots = 1;
        std::uint64_t sessions_made = 0;
        std::uint64_t tickets = 0;
        SessionId fresh;
        bool ticked = false;
        bool failed_closed = false;
        bool after_crash = false;
        bool after_restart = false;
    };
    struct Network {
        std::vector<Call> waiting;
        std::map<Ticket, Call> calls;
        std::map<Ticket, Ticket> in_flight;
    };
    // The promises to the clients.
    struct Oracle {
        // The shortest lease that was requested for each session.
        std::map<SessionId, milliseconds> min_lease;
        std::map<GrantId, Promise> grants;
        std::set<GrantId> acknowledged;
        std::set<GrantId> acknowledged_tokens;
        std::set<GrantId> reported_lost;
        // The grant of the last steal that was not allowed yet, and the client that requested this
        // steal.
        GrantId refused_steal{};
        std::size_t refused_thief = 0;
        // The last grant for which a request waits.
        GrantId waited_for{};
        std::uint64_t highest_token = 0;
    };

    // ---- Setup ----

    void set_up();
    template <typename F>
    void put_class(const std::string& pattern, const F& change) {
        LockClass made;
        made.pattern = pattern;
        made.policy = static_cast<Policy>(random_.below(3));
        made.lease = milliseconds{200 + random_.below(2000)};
        if (random_.percent(20)) made.max_lease = made.lease + milliseconds{random_.below(4000)};
        if (random_.percent(20)) made.max_hold = milliseconds{300 + random_.below(2000)};
        if (setup_.closures && made.max_hold == milliseconds{0} && random_.percent(50))
            made.min_hold = milliseconds{100 + random_.below(1000)};
        if (setup_.closures && random_.percent(50))
            made.lock_delay = milliseconds{100 + random_.below(1000)};
        made.steal =
            random_.pick(std::vector{StealPolicy::anyone, StealPolicy::anyone, StealPolicy::idle,
                                     StealPolicy::ask, StealPolicy::never});
        if (made.steal == StealPolicy::idle || made.steal == StealPolicy::ask)
            made.steal_after = milliseconds{20 + random_.below(600)};
        if (random_.percent(50))
            made.max_priority = static_cast<std::uint32_t>(1 + random_.below(4));
        if (random_.percent(15))
            made.queue_limit = static_cast<std::uint32_t>(1 + random_.below(3));
        const bool limited = made.max_lease > milliseconds{0} || made.max_hold > milliseconds{0};
        made.no_expiry = !limited && random_.percent(50);
        change(made);
        send(0, Request(PutClass{made}));
        deliver_to_manager();
    }
    // Creates the first storage and manager.
    virtual void open_first();
    void use_disk(std::unique_ptr<FaultyStorage> disk);
    // Opens a manager on the storage.
    Result<void> open_manager();
    void open();
    // Destroys the manager. Actions of its destructor reach neither the store nor a client.
    virtual void bury();

    // ---- Time ----

    // The clients and each manager have clocks of their own. In a world with one manager, all of
    // them are the same.
    Instant manager_now() { return manager_clock_->now(); }
    BootTime client_now() { return clock_.now().boot; }
    // Converts a time of the manager's clock.
    BootTime to_client(BootTime time) const { return time == no_deadline ? time : time - ahead_; }
    // Lets time pass on all clocks, while the manager runs.
    virtual void advance(std::chrono::nanoseconds by) { clock_.advance(by); }

    // ---- Steps ----

    virtual void step();
    void write();
    void sync();
    void change_draining();
    void deliver();
    virtual void plan_failure();
    void wall();
    // Advances the clock to the next due time, to a time just before it, or by a random duration
    // that does not exceed it.
    void pass_time();
    void tick();
    // Stops the manager for some time. After that, the renewals that arrived during the stop are
    // served first.
    void stall();
    void cancel();
    // Completes all pending work. Then checks that the table, the model and the clients agree.
    virtual void quiet();
    // Returns whether a client of this world follows the events.
    bool watched() const;
    void watch();
    std::optional<std::string> watch_anew(const EventPage& page);
    void compare(const std::string& when);
    // Checks S1 on the list of locks alone, without the model.
    void exclude(const LockPage& page, const std::string& when);

    // ---- Clients ----

    void act();
    void acquire(std::size_t index);
    void release(std::size_t index);
    void renew(std::size_t index);
    void convert(std::size_t index);
    // In most cases, the client requests a steal again that was not allowed before.
    void steal(std::size_t index);
    // Repeats a steal that was refused. In some cases, the holder answers first.
    void come_again();
    // Answers a request to take over a grant. In most cases, the holder sends the answer, if it is
    // one of the clients.
    void answer_wanted(std::size_t index);
    // Sends an earlier request again, unchanged.
    void repeat(std::size_t index);
    GrantId any_grant(std::size_t index, std::uint64_t own_percent);
    SessionId any_session(std::size_t index);

    // ---- The network ----

    void send(std::size_t client, Event event, std::optional<BootTime> sent = {});
    // Delivers any pending message, not necessarily the oldest.
    void deliver_to_manager();
    void deliver_to_manager(std::size_t index, bool on_time);
    // Returns whether the session already waits for a resource of the request. In this case, the
    // rules do not define which of the two requests is served first.
    bool waits_for_it_already(const Request& request) const;
    bool finish_storage();
    void next_session();
    void expect(const Happened& happened);

    // ---- Answers ----

    void answered(Ticket own, const Result<Answer>& answer);
    // Called for an answer and a notice of an earlier manager, which was replaced.
    virtual void answered_late(std::uint64_t /*life*/, Ticket /*own*/,
                               const Result<Answer>& /*answer*/) {}
    virtual void heard_late(std::uint64_t /*life*/, const LostNotice& /*notice*/) {}
    // Sends the answer to the client, which may never receive it.
    void send_answer(const Call& call, const Result<Answer>& answer);
    virtual void promised(const Grant& grant);
    void seen(Client& client, const Call& call, const Answer& answer);
    // T6: the client's deadline is the time at which the request was sent plus the shortest lease
    // that may apply.
    void renewed(Client& client, const Call& call);
    void heard(const LostNotice& notice);
    void count_answer(const Call& call, const Result<Answer>& answer);

    // ---- Crashes ----

    virtual void crash();
    CommitNumber last_of_life() const;
    // The recovery of the lock table, and whether the deadlines in the store were still exact.
    struct Recovery {
        Instant now;
        bool exact = true;
    };
    // Applies the events that survived to a new model, and then the recoveries. The commits of the
    // restarted manager are counted from 0.
    void rewind(CommitNumber through, const std::vector<Recovery>& recoveries);
    // Checks D1: a grant that was acknowledged, and that no decision has ended, is still held. If
    // the machine was not rebooted, it is held at least until the promised deadline.
    void remember(const ReferenceModel& before, bool all_written_survive);

    // ---- Checks after every step ----

    void check();
    void check_beliefs();

    // ---- Output ----

    void count_kind(const std::string& kind) { ++counts_[kind]; }
    void complain(const std::optional<std::string>& wrong);
    void fail(const std::string& what);
    void fail_unless_storage_failed(const std::string& when, const Error& error);
    void say(const std::string& what);

    Random random_;
    Counts& counts_;
    const bool trace_on_;
    Verdict verdict_;
    // The clock of the clients.
    SimulatedClock clock_;
    Clock* manager_clock_ = &clock_;
    // The time of the manager's boot clock minus that of the clients.
    std::chrono::nanoseconds ahead_{0};
    std::unique_ptr<SteppedStorage> storage_;
    // The storage, if it is on a disk.
    SteppedDisk* disk_ = nullptr;
    std::unique_ptr<LockManager> manager_;
    ModelMirror mirror_;
    Watcher watcher_;
    std::vector<Happened> log_;
    std::vector<Client> clients_;
    Setup setup_;
    Life life_;
    Network network_;
    Oracle oracle_;
};

// Returns whether a request can fail with this error because the storage has failed.
inline bool is_failure_of_storage(ErrorCode code) {
    return code == ErrorCode::io_error || code == ErrorCode::closing ||
           code == ErrorCode::not_the_manager || code == ErrorCode::indeterminate;
}

}  // namespace rocklock::simulation
