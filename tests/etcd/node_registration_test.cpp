// The registration of a node in etcd.
#include "storage/etcd/node_registration.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "support/fake_etcd.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

struct Registrations {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    etcd::Layout layout{"/rocklock/"};
    std::unique_ptr<etcd::Client> first_client = cluster.connect("a");
    std::unique_ptr<etcd::Client> second_client = cluster.connect("b");

    static etcd::NodeRecord record(std::int64_t pid) {
        return {"n", "n.example:7070", pid, "0.1.0", false, {}};
    }
    // Waits until the key of the node exists, or until it is absent.
    bool becomes(bool present) {
        const auto until = std::chrono::steady_clock::now() + 10s;
        while (cluster.value(layout.node("n")).has_value() != present) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_registration_of_a_node, Registrations)

BOOST_AUTO_TEST_CASE(ends_with_its_object) {
    {
        const etcd::NodeRegistration node(*first_client, layout, record(1), 1s);
        BOOST_TEST(becomes(true));
    }
    BOOST_TEST(becomes(false));
}

BOOST_AUTO_TEST_CASE(is_repeated_after_another_node_with_the_same_name_has_ended) {
    const etcd::NodeRegistration node(*first_client, layout, record(1), 1s);
    BOOST_REQUIRE(becomes(true));
    const auto own = cluster.value(layout.node("n"));
    {
        const etcd::NodeRegistration other(*second_client, layout, record(2), 1s);
        const auto until = std::chrono::steady_clock::now() + 10s;
        while (cluster.value(layout.node("n")) == own && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(5ms);
        }
        BOOST_TEST((cluster.value(layout.node("n")) != own));
    }
    BOOST_TEST(becomes(true));
    BOOST_TEST((cluster.value(layout.node("n")) == own));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
