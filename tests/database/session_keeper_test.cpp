// The session keeper alone: its sessions, and the time of its next action.
#include "database/session_keeper.hpp"

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "database/simulated_database.hpp"
#include "lock/manager/lock_manager.hpp"

namespace rocklock::testing {
namespace {

struct Keeping {
    SimulatedClock clock;
    std::unique_ptr<Storage> storage = make_memory_storage(clock);
    std::unique_ptr<LockManager> manager = LockManager::open(*storage, clock, quiet()).value();
    SessionKeeper keeper{*manager, nullptr, clock, false};

    static LockManagerOptions quiet() {
        LockManagerOptions options;
        options.background = false;
        return options;
    }
    std::shared_ptr<KeptSession> keep(const SessionOptions& options = {}) {
        OpenSession open;
        open.principal = "ann";
        open.lease = options.lease;
        return keeper.keep(manager->ask(open).value(), keeping_times(options).value());
    }
    // Returns the time until the keeper's next action, or none if it has no work.
    std::optional<milliseconds> sleeps() {
        const auto next = keeper.work();
        if (!next) return std::nullopt;
        return std::chrono::duration_cast<milliseconds>(*next - clock.now().boot);
    }
};

SessionOptions by_hand_of(milliseconds lease) {
    SessionOptions options;
    options.renew = false;
    options.lease = lease;
    return options;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_session_keeper, Keeping)

BOOST_AUTO_TEST_CASE(sleeps_until_the_first_session_is_due) {
    BOOST_TEST(!sleeps().has_value());
    const auto late = keep(by_hand_of(60s));
    BOOST_TEST((sleeps() == 40s));
    const auto early = keep(by_hand_of(30s));
    BOOST_TEST((sleeps() == 20s));
    clock.advance(20s);
    // The session is warned, and then ends. The warning of the other session is at the same time.
    BOOST_TEST((sleeps() == 10s));
    clock.advance(10s);
    BOOST_TEST((sleeps() == 10s));
    clock.advance(10s);
    BOOST_TEST((sleeps() == 20s));
    clock.advance(20s);
    BOOST_TEST(!sleeps().has_value());
}

BOOST_AUTO_TEST_CASE(forgets_sessions_that_their_owners_release) {
    std::vector<std::weak_ptr<KeptSession>> gone;
    const auto stays = keep(by_hand_of(60s));
    for (int i = 0; i < 1'000; ++i) {
        const auto kept = keep();
        gone.push_back(kept);
        kept->let_go();
    }
    for (const auto& session : gone) BOOST_TEST(session.expired());
    BOOST_TEST((sleeps() == 40s));
    stays->let_go();
    BOOST_TEST(!sleeps().has_value());
}

BOOST_AUTO_TEST_CASE(keeps_a_resumed_session_after_its_previous_handle_is_destroyed) {
    const auto before = keep(by_hand_of(30s));
    const auto renewed = manager->ask(RenewSession{before->id, {}, {}, {}, {}}).value();
    const auto after = keeper.keep(renewed, keeping_times(by_hand_of(30s)).value());
    before->let_go();
    BOOST_TEST((sleeps() == 20s));
    after->let_go();
    BOOST_TEST(!sleeps().has_value());
}

BOOST_AUTO_TEST_CASE(renews_a_session_earlier_after_its_lease_was_shortened) {
    const auto other = keep();
    const auto kept = keep();
    BOOST_TEST((sleeps() > 8s));
    kept->renewed(manager->ask(RenewSession{kept->id, 3s, {}, {}, {}}).value(), 0ms);
    keeper.changed(*kept);
    // The warning is due immediately: less time is left than the warning threshold.
    BOOST_TEST((sleeps() == 1s));
}

BOOST_AUTO_TEST_CASE(checks_a_session_again_that_is_alive_after_its_deadline) {
    int warnings = 0;
    const auto kept = keep(by_hand_of(30s));
    kept->on_warning.set([&](milliseconds) { ++warnings; });
    clock.advance(30s);
    BOOST_TEST(!sleeps().has_value());
    // The grant has a later deadline, as if the daemon had extended the lease.
    Grant grant;
    grant.remaining = 30s;
    grant.deadline = clock.now().boot + grant.remaining;
    kept->granted(grant);
    BOOST_TEST((sleeps() == 20s));
    BOOST_TEST(warnings == 0);
    clock.advance(20s);
    keeper.work();
    BOOST_TEST(warnings == 1);
}

// The threads of this manager and of its keeper never sleep for long, because the simulated time is
// in the past of their timers.
BOOST_AUTO_TEST_CASE(renews_sessions_together_that_are_due_at_almost_the_same_time) {
    const auto other_storage = make_memory_storage(clock);
    const auto running = LockManager::open(*other_storage, clock).value();
    SessionKeeper thread{*running, nullptr, clock, true};
    std::vector<std::shared_ptr<KeptSession>> kept;
    // The first renewal is due after nine seconds, and the others later by these times.
    for (const milliseconds later : {0ms, 15ms, 19ms, 30ms, 1'000ms}) {
        OpenSession open;
        open.principal = "ann";
        open.lease = 30s;
        const auto info = running->ask(open).value();
        kept.push_back(thread.keep(info, keeping_times({}).value()));
        kept.back()->renewed(info, 1'000ms - later);
        thread.changed(*kept.back());
    }
    const auto renewals_become = [&](std::uint64_t wanted) {
        const auto give_up = std::chrono::steady_clock::now() + 10s;
        while (running->statistics().renewals < wanted) {
            if (std::chrono::steady_clock::now() > give_up) return false;
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(20ms);
        return running->statistics().renewals == wanted;
    };
    clock.advance(9s - 1ms);
    BOOST_TEST(renewals_become(0));
    clock.advance(1ms);
    BOOST_TEST(renewals_become(3));
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST((kept[i]->remaining(nullptr) == 27s));
    clock.advance(30ms);
    BOOST_TEST(renewals_become(4));
    clock.advance(970ms);
    BOOST_TEST(renewals_become(5));
    for (const auto& session : kept) session->let_go();
}

BOOST_AUTO_TEST_CASE(renews_a_session_while_a_callback_blocks_the_thread_of_the_manager) {
    const auto other_storage = make_memory_storage(clock);
    const auto running = LockManager::open(*other_storage, clock).value();
    SessionKeeper thread{*running, nullptr, clock, true};
    OpenSession open;
    open.principal = "ann";
    open.lease = 30s;
    const auto kept = thread.keep(running->ask(open).value(), keeping_times({}).value());
    std::promise<void> blocked;
    std::promise<void> unblocked;
    running->submit(open, [&](const Result<Answer>&) {
        blocked.set_value();
        unblocked.get_future().wait();
    });
    blocked.get_future().wait();
    clock.advance(10s);
    const auto give_up = std::chrono::steady_clock::now() + 1min;
    while (kept->remaining(nullptr) < 25s && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::yield();
    }
    BOOST_TEST((kept->remaining(nullptr) >= 25s));
    unblocked.set_value();
    kept->let_go();
}

BOOST_AUTO_TEST_CASE(keeps_all_sessions_if_a_callback_throws) {
    const auto first = keep(by_hand_of(30s));
    const auto second = keep(by_hand_of(30s));
    int warnings = 0;
    const auto warned = [&](milliseconds) {
        if (++warnings == 1) throw std::runtime_error("as its owner likes");
    };
    first->on_warning.set(warned);
    second->on_warning.set(warned);
    clock.advance(20s);
    BOOST_CHECK_THROW(keeper.work(), std::runtime_error);
    BOOST_TEST((sleeps() == 10s));
    BOOST_TEST(warnings == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
