// The inside of a simulated world. Its methods lie in files by what they do:
//
//     world.cpp          making the world, a run, and what must hold after every step
//     world_steps.cpp    what the scheduler does: storage, clocks, stalls, comparisons
//     world_clients.cpp  what clients ask for
//     world_network.cpp  messages, and what comes back
//     world_crash.cpp    crashes, and what must be there after them
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
using testing::SimulatedClock;

// What happened in this life of the manager, to be told to a new model after a crash.
struct Happened {
    enum class Kind : std::uint8_t { event, restart } kind = Kind::event;
    Event event;
    Ticket ticket{};
    SessionId fresh;
    Instant now;
    // The last commit when it was decided.
    CommitNumber commit = 0;
    bool exact = true;
    std::uint64_t skip_to = 0;
};

// One request of a client, however often it is sent.
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
    // T6: what it knows by itself of its own lease.
    BootTime valid_until{};
    std::map<GrantId, Grant> believed;
    // Grants that it has asked to give up, transfer or convert: no longer relied upon.
    std::set<GrantId> given_up;
    std::uint64_t requests = 0;
};

// What somebody was told, and must find so after any crash.
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

    Verdict run();

private:
    // What the world was made with.
    struct Setup {
        std::vector<std::string> names;
        std::vector<std::string> counting;
        bool closures = false;
        bool run_together = false;
    };
    // The life of the manager.
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
    // What was promised to clients, and must be found so.
    struct Oracle {
        // The shortest lease that was ever asked for, for each session.
        std::map<SessionId, milliseconds> min_lease;
        std::map<GrantId, Promise> grants;
        std::set<GrantId> acknowledged;
        std::set<GrantId> acknowledged_tokens;
        std::set<GrantId> reported_lost;
        // The last grant that could not be stolen yet, and by which client.
        GrantId refused_steal{};
        std::size_t refused_thief = 0;
        // The last grant that a request waits for.
        GrantId waited_for{};
        std::uint64_t highest_token = 0;
    };

    // ---- Making the world ----

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
        if (random_.percent(15))
            made.queue_limit = static_cast<std::uint32_t>(1 + random_.below(3));
        change(made);
        send(0, Request(PutClass{made}));
        deliver_to_manager();
    }
    void open(bool first);
    // The object goes, and nothing it does on its way reaches the store or a client.
    void bury();

    // ---- Steps ----

    void step();
    void write();
    void sync();
    void deliver();
    void plan_failure();
    void wall();
    // To the next moment at which something is due, or nearly, or beyond it.
    void pass_time();
    void tick();
    // The manager stands still for a while; then the renewals that were waiting for it are judged
    // first.
    void stall();
    void cancel();
    // Everything that can happen has happened; then all must agree.
    void quiet();
    // In some worlds there is somebody who follows what happens.
    bool watched() const;
    void watch();
    std::optional<std::string> watch_anew(const EventPage& page);
    void compare(const std::string& when);
    // S1, from the list alone: nobody's model is asked.
    void exclude(const LockPage& page, const std::string& when);

    // ---- Clients ----

    void act();
    void acquire(std::size_t index);
    void release(std::size_t index);
    void renew(std::size_t index);
    void convert(std::size_t index);
    // Mostly what was refused before: whoever has asked comes again.
    void steal(std::size_t index);
    // Whoever was refused comes again, or is answered before.
    void come_again();
    // Mostly by the one who was asked, if its owner is one of the clients.
    void answer_wanted(std::size_t index);
    // Something that was asked before, once more, as it was.
    void repeat(std::size_t index);
    GrantId any_grant(std::size_t index, std::uint64_t own_percent);
    SessionId any_session(std::size_t index);

    // ---- The network ----

    void send(std::size_t client, Event event, std::optional<BootTime> sent = {});
    // Any message that is under way, not the oldest first.
    void deliver_to_manager();
    void deliver_to_manager(std::size_t index, bool on_time);
    // Which of two requests of one session for one thing is served first is promised to nobody.
    bool waits_for_it_already(const Request& request) const;
    bool finish_storage();
    void next_session();
    void expect(const Happened& happened);

    // ---- What comes back ----

    void answered(Ticket own, const Result<Answer>& answer);
    void promised(const Grant& grant);
    void seen(Client& client, const Call& call, const Answer& answer);
    // T6: counted from before the request was sent, by the shortest lease that may be in force.
    void renewed(Client& client, const Call& call);
    void heard(const LostNotice& notice);
    void count_answer(const Call& call, const Result<Answer>& answer);

    // ---- Crashes ----

    void crash();
    CommitNumber last_of_life() const;
    // A new model is told what survived; the commits of the next life count anew.
    void rewind(CommitNumber through, bool exact);
    // D1: what was acknowledged and not ended, by anybody's decision, is held; on the same boot at
    // least as long as promised.
    void remember(const ReferenceModel& before, bool all_written_survive);

    // ---- What must hold after every step ----

    void check();

    // ---- Telling ----

    void count_kind(const std::string& kind) { ++counts_[kind]; }
    void complain(const std::optional<std::string>& wrong);
    void fail(const std::string& what);
    void say(const std::string& what);

    Random random_;
    Counts& counts_;
    const bool trace_on_;
    Verdict verdict_;
    SimulatedClock clock_;
    std::unique_ptr<SteppedStorage> storage_;
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

}  // namespace rocklock::simulation
