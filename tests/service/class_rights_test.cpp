// The rights that classes give to users and groups (I7), as the server applies them to its clients.
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/orders.hpp"
#include "lock/manager/server_service.hpp"
#include "lock/model/lock_class.hpp"
#include "service/dispatcher.hpp"
#include "service/user_identities.hpp"
#include "support/stores/test_store.hpp"

using namespace rocklock;

BOOST_AUTO_TEST_SUITE(the_rights_of_a_class)

namespace {

constexpr uid_t owner = 4711;
constexpr uid_t ann = 1001;
constexpr uid_t bob = 1002;

struct World {
    Database database = *Database::open_on(rocklock::testing::make_test_store(system_clock()));
    int lookups = 0;
    Dispatcher dispatcher{*server_service(database.service()), nullptr, options()};

    DispatcherOptions options() {
        DispatcherOptions options{"memory", "durable", owner};
        options.identities = [this](uid_t uid) {
            ++lookups;
            if (uid == bob) return std::vector<std::string>{"user:bob", "group:ops"};
            return std::vector<std::string>{"user:ann", "group:users"};
        };
        options.tables = database.tables().value();
        return options;
    }
    // Returns the reply, which another thread may deliver.
    static std::future<Result<Reply>> start(Dispatcher& dispatcher, Call call, uid_t uid) {
        auto promise = std::make_shared<std::promise<Result<Reply>>>();
        dispatcher.submit(std::move(call), Caller{uid, 42},
                          [promise](Result<Reply> reply) { promise->set_value(std::move(reply)); });
        return promise->get_future();
    }
    Result<Reply> call(Call call, uid_t uid) {
        return start(dispatcher, std::move(call), uid).get();
    }
    // Returns the error of a call, or "done".
    std::string error(Call made, uid_t uid) {
        const auto reply = call(std::move(made), uid);
        if (reply) return "done";
        return std::string(to_string(reply.error().code)) + ": " + reply.error().message;
    }
    Grant lock(const std::string& resource, uid_t uid) {
        Acquire request;
        request.opens.emplace().principal = "someone";
        request.locks = {{.resource = resource}};
        return std::get<Grant>(call(Call{request, {}, {}}, uid).value());
    }
    std::string break_it(GrantId grant, uid_t uid) {
        return error(Call{Break{grant, "urgent", {}}, {}, {}}, uid);
    }
    std::string steal(GrantId grant, uid_t uid, bool force = false) {
        OpenSession opens;
        opens.principal = "thief";
        const auto opened = std::get<SessionInfo>(call(Call{opens, {}, {}}, uid).value());
        Steal request{opened.id, grant, "urgent"};
        request.force = force;
        return error(Call{request, opened.secret, {}}, uid);
    }
    void put(LockClass lock_class) {
        const auto stored = call(Call{PutClass{std::move(lock_class)}, {}, {}}, owner);
        BOOST_REQUIRE(stored);
    }
};

LockClass shared(StealPolicy steal = StealPolicy::anyone) {
    LockClass lock_class;
    lock_class.pattern = "orders/*";
    lock_class.steal = steal;
    return lock_class;
}

constexpr const char* only_administrators =
    "access_denied: only the daemon's own user, root and the daemon's --admin-group may do this, "
    "over its Unix socket: run it as one of them";

}  // namespace

BOOST_AUTO_TEST_CASE(are_those_of_before_if_no_class_names_anyone) {
    World world;
    world.put(shared());
    const Grant grant = world.lock("orders/1", ann);
    BOOST_TEST(world.break_it(grant.id, bob) == only_administrators);
    BOOST_TEST(world.steal(grant.id, bob, true) == only_administrators);
    BOOST_TEST(world.steal(grant.id, bob) == "done");
    BOOST_TEST(world.lookups == 0);
}

BOOST_AUTO_TEST_CASE(let_a_group_break) {
    World world;
    LockClass lock_class = shared();
    lock_class.break_by = {"group:ops", "user:eve"};
    world.put(lock_class);
    const Grant grant = world.lock("orders/1", ann);
    const Grant other = world.lock("parts/1", ann);
    BOOST_TEST(world.break_it(grant.id, ann) ==
               "access_denied: resource \"orders/1\" can be broken only by group ops, user eve and "
               "administrators (class \"orders/*\")");
    BOOST_TEST(world.break_it(other.id, bob) ==
               "access_denied: resource \"parts/1\" can be broken only by administrators");
    BOOST_TEST(world.break_it(grant.id, bob) == "done");
    BOOST_TEST(world.break_it(other.id, owner) == "done");
    // A caller over TCP has no user.
    BOOST_TEST(world.break_it(world.lock("orders/1", ann).id, nobody_known).starts_with("access"));
    // Other administration is not included.
    BOOST_TEST(world.error(Call{PutClass{shared()}, {}, {}}, bob) == only_administrators);
}

BOOST_AUTO_TEST_CASE(let_only_a_group_steal) {
    World world;
    LockClass lock_class = shared();
    lock_class.steal_by = {"group:ops"};
    world.put(lock_class);
    const Grant grant = world.lock("orders/1", bob);
    BOOST_TEST(world.steal(grant.id, ann) ==
               "access_denied: resource \"orders/1\" can be stolen only by group ops and "
               "administrators (class \"orders/*\")");
    BOOST_TEST(world.steal(grant.id, bob) == "done");
    BOOST_TEST(world.steal(world.lock("orders/2", bob).id, owner) == "done");
    BOOST_TEST(world.lookups == 2);
}

BOOST_AUTO_TEST_CASE(let_a_group_bind) {
    World world;
    testing::create_orders(*world.database.tables().value());
    const Call bind{BindTable{{"orders", "orders/{id}"}}, {}, {}};
    BOOST_TEST(world.error(bind, bob) == only_administrators);
    LockClass lock_class = shared();
    lock_class.bind_by = {"group:ops"};
    world.put(lock_class);
    BOOST_TEST(world.error(bind, ann) ==
               "access_denied: tables can be bound to \"orders/{id}\", and such bindings removed, "
               "only by group ops and administrators");
    BOOST_TEST(world.error(bind, bob) == "done");
    // Neither the new nor the present resource of the table may belong to another class.
    const Call elsewhere{BindTable{{"orders", "parts/{id}"}}, {}, {}};
    BOOST_TEST(
        world.error(elsewhere, bob).starts_with("access_denied: tables can be bound to \"parts"));
    BOOST_TEST(world.error(elsewhere, owner) == "done");
    BOOST_TEST(world.error(bind, bob).starts_with("access_denied: tables can be bound to \"parts"));
    const Call unbind{UnbindTable{"orders"}, {}, {}};
    BOOST_TEST(world.error(unbind, bob).starts_with("access_denied"));
    BOOST_TEST(world.error(bind, owner) == "done");
    BOOST_TEST(world.error(unbind, ann).starts_with("access_denied"));
    BOOST_TEST(world.error(unbind, bob) == "done");
}

BOOST_AUTO_TEST_CASE(are_looked_up_once_on_another_thread) {
    World world;
    std::vector<std::function<void()>> background;
    DispatcherOptions options = world.options();
    options.background = [&](std::function<void()> work) { background.push_back(std::move(work)); };
    Dispatcher dispatcher(*server_service(world.database.service()), nullptr, std::move(options));
    LockClass lock_class = shared();
    lock_class.break_by = {"group:ops"};
    world.put(lock_class);
    const auto break_one = [&] {
        const Grant grant = world.lock("orders/1", ann);
        return World::start(dispatcher, Call{Break{grant.id, "urgent", {}}, {}, {}}, bob);
    };
    auto first = break_one();
    BOOST_TEST(world.lookups == 0);
    BOOST_REQUIRE(background.size() == 1U);
    background.front()();
    BOOST_TEST(first.get().has_value());
    BOOST_TEST(break_one().get().has_value());
    BOOST_TEST(background.size() == 1U);
    BOOST_TEST(world.lookups == 1);
}

BOOST_AUTO_TEST_CASE(know_the_user_and_the_groups_of_this_process) {
    const auto identities = look_up_identities(0);
    BOOST_TEST(names_any({"user:root"}, identities));
    BOOST_TEST(names_any({"group:root"}, identities));
    BOOST_TEST(names_any({"group:0"}, identities));
    BOOST_TEST(names_any({"user:0"}, identities));
    BOOST_TEST(!names_any({"user:1", "group:nogroup", "root"}, identities));
    const std::vector<std::string> number{"user:3999999999"};
    BOOST_TEST(look_up_identities(static_cast<uid_t>(3'999'999'999)) == number);
}

BOOST_AUTO_TEST_SUITE_END()
