// Injects a failure into each call of the storage: the first, the second, and so on until the
// operation succeeds. Everything that was acknowledged before must survive, and nothing may be
// granted after the failure.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/lock.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FaultyStorage;
using testing::SimulatedClock;
using Call = FaultyStorage::Call;

LockManagerOptions by_hand() {
    LockManagerOptions options;
    options.background = false;
    return options;
}

LockRequest lock(const std::string& resource, Mode mode) {
    LockRequest request;
    request.resource = resource;
    request.mode = mode;
    return request;
}

Acquire acquire_of(const SessionId& session, std::vector<LockRequest> locks) {
    Acquire acquire;
    acquire.session = session;
    acquire.locks = std::move(locks);
    return acquire;
}

// Two sessions that acquired a grant each, five seconds ago. All of it is acknowledged.
struct World {
    SimulatedClock clock;
    std::unique_ptr<FaultyStorage> storage = std::make_unique<FaultyStorage>(clock);
    std::unique_ptr<LockManager> manager = LockManager::open(*storage, clock, by_hand()).value();
    SessionId ann;
    SessionId bob;
    Grant doc;
    Grant other;
    Grant past;

    World() {
        LockClass docs;
        docs.pattern = "docs/*";
        docs.policy = Policy::read_write;
        docs.steal = StealPolicy::anyone;
        manager->ask(PutClass{docs}).value();
        OpenSession open;
        open.principal = "ann";
        open.lease = seconds{60};
        ann = manager->ask(open).value().id;
        open.principal = "bob";
        bob = manager->ask(open).value().id;
        past = manager->ask(acquire_of(ann, {lock("past", Mode::write)})).value();
        manager->ask(Break{past.id, "to test it", "root"}).value();
        doc = manager->ask(acquire_of(ann, {lock("docs/1", Mode::read)})).value();
        other = manager->ask(acquire_of(bob, {lock("other", Mode::write)})).value();
        clock.advance(seconds{5});
    }
};

struct Operation {
    const char* name;
    std::function<Request(const World&)> request;
    // The calls of the storage that the operation needs.
    std::vector<Call> calls;
    // Whether the operation ends ann's grant or gives it a new token.
    bool touches_doc = false;
};

Request convert(const World& world) {
    Convert up;
    up.session = world.ann;
    up.grant = world.doc.id;
    up.mode = Mode::write;
    return up;
}

// Calls for answers that wait until they are durable, until they are written, or for the history.
const std::vector<Call> durable{Call::enqueue, Call::write, Call::sync};
const std::vector<Call> written{Call::enqueue, Call::write};
const std::vector<Call> lookup_calls{Call::read};
const std::vector<Call> durable_looked_up{Call::enqueue, Call::write, Call::sync, Call::read};

Request acquire(const World& w) { return acquire_of(w.ann, {lock("new", Mode::write)}); }
Request acquire_set(const World& w) {
    return acquire_of(w.ann,
                      {lock("x", Mode::write), lock("y", Mode::read), lock("z", Mode::write)});
}
Request release(const World& w) { return Release{w.ann, w.doc.id}; }
Request release_ended(const World& w) { return Release{w.ann, w.past.id}; }
Request renew(const World& w) { return RenewSession{w.ann, {}, {}, {}, {}}; }
Request renew_longer(const World& w) { return RenewSession{w.ann, seconds{90}, {}, {}, {}}; }
Request steal(const World& w) { return Steal{w.bob, w.doc.id, "to test it", false}; }
Request break_grant(const World& w) { return Break{w.doc.id, "to test it", "root"}; }
Request transfer(const World& w) { return Transfer{w.ann, w.doc.id, w.bob}; }
Request reacquire(const World& w) { return Reacquire{w.ann, w.past.id}; }

const std::vector<Operation>& operations() {
    static const std::vector<Operation> all = {
        {"acquire", acquire, durable},
        {"acquire a set", acquire_set, durable},
        {"release", release, written, true},
        {"renew", renew, written},
        {"renew longer", renew_longer, durable},
        {"convert", convert, durable, true},
        {"steal", steal, durable, true},
        {"break", break_grant, durable, true},
        {"transfer", transfer, durable, true},
        {"reacquire", reacquire, durable_looked_up},
        {"release what has ended", release_ended, lookup_calls},
    };
    return all;
}

// Checks that the store opens, passes the audit, and contains everything that was promised before
// the operation.
void check_reopened(World& world, FaultyStorage& storage, const Operation& operation,
                    const std::string& where) {
    auto opened = LockManager::open(storage, world.clock, by_hand());
    BOOST_REQUIRE_MESSAGE(opened, where);
    LockManager& manager = **opened;
    BOOST_CHECK_MESSAGE(!manager.audit_invariants(), where);
    bool has_doc = false;
    bool has_other = false;
    const LockPage page = manager.list({}).value();
    for (const Holder& holder : page.locks) {
        if (holder.grant == world.doc.id) has_doc = holder.token >= world.doc.token;
        if (holder.grant == world.other.id) has_other = holder.token == world.other.token;
    }
    BOOST_CHECK_MESSAGE(has_other, where);
    BOOST_CHECK_MESSAGE(has_doc || operation.touches_doc, where);
    // Renewals may have been lost, so every session has its full lease again.
    const std::vector<SessionView> sessions = manager.sessions("").value();
    for (const SessionView& session : sessions) {
        BOOST_CHECK_MESSAGE(session.remaining == session.lease, where);
    }
    const auto next = manager.ask(acquire_of(world.bob, {lock("after", Mode::write)}));
    BOOST_REQUIRE_MESSAGE(next, where);
    BOOST_CHECK_MESSAGE(next->token > world.other.token, where);
}

// Returns whether the operation reached the `nth` call, which then failed.
bool fail_once(const Operation& operation, Call call, std::uint64_t nth) {
    World world;
    const std::string where = std::string(operation.name) + ", call " +
                              std::to_string(static_cast<int>(call)) + ", number " +
                              std::to_string(nth);
    const std::uint64_t before = world.storage->calls(call);
    world.storage->fail_nth(call, nth);
    const auto answer = world.manager->call(operation.request(world));
    const bool failed = world.storage->calls(call) >= before + nth;
    if (!failed) return false;
    BOOST_CHECK_MESSAGE(!answer && answer.error().code == ErrorCode::io_error, where);
    if (call == Call::read) return true;

    // After the failure every operation fails.
    for (const Operation& other : operations()) {
        const auto refused = world.manager->call(other.request(world));
        BOOST_CHECK_MESSAGE(!refused && refused.error().code == ErrorCode::io_error,
                            where << ", then " << other.name);
    }
    BOOST_CHECK_MESSAGE(world.manager->failure(), where);
    const auto killed = world.storage->reopen_after_kill();
    check_reopened(world, *killed, operation, where + ", killed");
    for (std::size_t bytes = 0; bytes <= world.storage->log().size(); ++bytes) {
        const auto cut = world.storage->reopen_after_power_cut(bytes);
        check_reopened(world, *cut, operation, where + ", power cut");
    }
    return true;
}

BOOST_AUTO_TEST_SUITE(a_storage_that_fails)

BOOST_AUTO_TEST_CASE(at_its_nth_call_loses_no_grant_and_grants_no_more) {
    for (const Operation& operation : operations()) {
        for (const Call call : {Call::enqueue, Call::write, Call::sync, Call::read}) {
            std::uint64_t failures = 0;
            while (fail_once(operation, call, failures + 1)) ++failures;
            const bool needed = std::ranges::count(operation.calls, call) > 0;
            BOOST_CHECK_MESSAGE(failures > 0 || !needed,
                                operation.name << " never came to call " << static_cast<int>(call));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
