#include "support/fake_etcd.hpp"

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

namespace rocklock::testing {

namespace {

using namespace std::chrono_literals;

}  // namespace

BOOST_AUTO_TEST_SUITE(a_fake_etcd)

BOOST_AUTO_TEST_CASE(writes_a_transaction_although_its_answer_is_lost) {
    SimulatedClock clock;
    FakeCluster cluster(clock);
    const auto client = cluster.connect("a");
    cluster.node("a").fail_next(EtcdFault::answer_lost);
    const auto answer = client->txn({{}, {etcd::Put{"k", "v"}}, {}}, 1s);
    BOOST_TEST((answer.error().code == ErrorCode::indeterminate));
    BOOST_TEST((cluster.value("k") == "v"));
    BOOST_TEST(cluster.revision() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
