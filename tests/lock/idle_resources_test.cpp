// Resources that are kept for a while after they were used.
#include "lock/model/idle_resources.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "lock/model/arena.hpp"

namespace rocklock {
namespace {

using lock_model::IdleResources;
using lock_model::Resource;
using lock_model::Slot;

constexpr std::size_t more_than_kept = IdleResources::max_count + IdleResources::max_count / 2;

std::string name_of(std::size_t number) { return "orders/" + std::to_string(number); }

struct World {
    World() {
        options.background = false;
        manager = LockManager::open(*storage, clock, options).value();
        OpenSession open;
        open.principal = "ann";
        open.lease = std::chrono::hours{1};
        session = manager->ask(open).value().id;
    }

    Grant lock(std::vector<LockRequest> locks, const std::string& request_id = {}) const {
        Acquire request;
        request.session = session;
        request.locks = std::move(locks);
        request.request_id = request_id;
        return manager->ask(request).value();
    }
    Grant lock(const std::string& resource, const std::string& request_id = {}) const {
        return lock({{.resource = resource}}, request_id);
    }
    void release(const Grant& grant) const {
        BOOST_TEST_REQUIRE(manager->ask(Release{session, grant.id}).has_value());
    }
    void lock_and_release(const std::string& resource) const { release(lock(resource)); }
    void use_others(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) lock_and_release("others/" + name_of(next_other++));
    }
    std::size_t history(const std::string& resource) const {
        HistoryRequest request;
        request.resource = resource;
        return manager->history(request).value().rows.size();
    }
    bool is_sound() const { return !manager->audit_invariants(); }

    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = make_memory_storage(clock);
    LockManagerOptions options;
    std::unique_ptr<LockManager> manager;
    SessionId session;
    std::size_t next_other = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(idle_resources)

BOOST_AUTO_TEST_CASE(replace_the_oldest_one_when_they_are_too_many) {
    std::vector<Resource*> all;
    for (std::size_t i = 0; i < IdleResources::max_count + 2; ++i) {
        all.push_back(Resource::make(name_of(i), Slot::with));
    }
    IdleResources idle;
    for (std::size_t i = 0; i < IdleResources::max_count; ++i) {
        BOOST_TEST_REQUIRE((idle.add(*all[i]) == nullptr));
    }
    BOOST_TEST((idle.add(*all[IdleResources::max_count]) == all[0]));
    BOOST_TEST((all[0]->idle == 0));
    BOOST_TEST((idle.add(*all[0]) == all[1]));
    BOOST_TEST((all[0]->idle == 1));
    BOOST_TEST((idle.add(*all[IdleResources::max_count + 1]) == all[2]));
    BOOST_TEST(idle.size() == IdleResources::max_count);
    BOOST_TEST(idle.take_all().size() == IdleResources::max_count);
    BOOST_TEST(idle.size() == 0U);
    for (Resource* const resource : all) {
        BOOST_TEST((resource->idle == 0));
        Resource::destroy(resource);
    }
}

BOOST_FIXTURE_TEST_CASE(keep_the_history_of_their_names, World) {
    for (std::size_t round = 1; round <= 3; ++round) {
        for (std::size_t i = 0; i < more_than_kept; ++i) {
            // Backwards in the second round, so that some of the names are still kept.
            const std::size_t number = round == 2 ? more_than_kept - 1 - i : i;
            lock_and_release(name_of(number));
            if (i % 100 != 0) continue;
            BOOST_TEST_REQUIRE(history(name_of(number)) == round);
            const LockView view = manager->show(name_of(number)).value();
            BOOST_TEST_REQUIRE(view.holders.empty());
            BOOST_TEST_REQUIRE(view.last_holder.has_value());
            BOOST_TEST_REQUIRE(is_sound());
        }
    }
    BOOST_TEST(manager->list(ListLocks{}).value().locks.empty());
}

BOOST_FIXTURE_TEST_CASE(are_not_removed_if_they_are_used_again, World) {
    lock_and_release("a");
    const Grant held = lock("a");
    use_others(more_than_kept);
    BOOST_TEST(manager->show("a").value().holders.size() == 1U);
    BOOST_TEST(is_sound());
    release(held);
    BOOST_TEST(is_sound());
    use_others(more_than_kept);
    BOOST_TEST(history("a") == 2U);
    BOOST_TEST(is_sound());
}

BOOST_FIXTURE_TEST_CASE(can_be_locked_with_request_ids_in_sets_and_below_subtrees, World) {
    lock_and_release("a/b");
    release(lock("a/b", "first"));
    release(lock({{.resource = "a/b"}, {.resource = "c"}}));
    release(lock({{.resource = "a", .mode = Mode::write, .subtree = true}}));
    BOOST_TEST(is_sound());
    // Repeats the first request, whose grant has ended.
    BOOST_TEST(lock("a/b", "first").ended.has_value());
    lock_and_release("a/b");
    BOOST_TEST(history("a/b") == 4U);
    use_others(more_than_kept);
    BOOST_TEST(is_sound());
    BOOST_TEST(history("a/b") == 4U);
}

BOOST_FIXTURE_TEST_CASE(can_be_closed_for_a_minimum_hold, World) {
    lock_and_release("a");
    Acquire request;
    request.session = session;
    request.locks = {{.resource = "a"}};
    request.min_hold = std::chrono::minutes{1};
    release(manager->ask(request).value());
    use_others(more_than_kept);
    BOOST_TEST(is_sound());
    request.min_hold.reset();
    BOOST_TEST(!manager->ask(request).has_value());
    clock.advance(std::chrono::minutes{1});
    manager->tick();
    release(manager->ask(request).value());
    use_others(more_than_kept);
    BOOST_TEST(is_sound());
    BOOST_TEST(history("a") == 3U);
}

BOOST_AUTO_TEST_CASE(are_freed_when_no_session_is_left) {
    const std::size_t before = Arena::pieces_in_use();
    World world;
    for (std::size_t i = 0; i < 100; ++i) world.lock_and_release("a/b" + name_of(i));
    const auto tick = [&] {
        world.clock.advance(std::chrono::seconds{10});
        world.manager->tick();
        return Arena::pieces_in_use();
    };
    BOOST_TEST(tick() > before + 100);
    world.lock_and_release("c");
    BOOST_TEST(world.manager->ask(CloseSession{world.session}).has_value());
    BOOST_TEST(tick() == before);
    BOOST_TEST(world.is_sound());
    BOOST_TEST(world.history("c") == 1U);
}

BOOST_AUTO_TEST_CASE(stay_sound_when_the_records_of_their_grants_are_deleted) {
    World world;
    Retention retention;
    retention.history_age = std::chrono::hours{1};
    world.manager->set_retention(retention);
    world.lock_and_release("a");
    BOOST_TEST(world.manager->show("a").value().last_holder.has_value());
    for (int i = 0; i < 4; ++i) {
        world.clock.advance(std::chrono::hours{3});
        world.manager->tick();
    }
    BOOST_TEST(world.history("a") == 0U);
    BOOST_TEST(!world.manager->show("a").value().last_holder.has_value());
    BOOST_TEST(world.is_sound());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
