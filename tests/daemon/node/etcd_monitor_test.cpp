// The measurements of etcd and of the delay of a copy, with a fake etcd.
#include "daemon/node/etcd_monitor.hpp"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "daemon/node/node_metrics.hpp"
#include "storage/etcd/measurements.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

struct Monitored {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    std::unique_ptr<etcd::Client> client{cluster.connect("a")};
    etcd::Layout layout{"/rocklock/"};
    std::shared_ptr<etcd::Copy> copy{etcd::Copy::open("", clock).value()};
    EtcdMonitor monitor{*client, layout, *copy};
    etcd::Measurements measurements;

    static std::string commit(std::uint64_t number) {
        etcd::CommitRecord record;
        record.number = number;
        record.epoch = 7;
        return etcd::encode(record);
    }
    void commit_to_etcd(std::uint64_t number) {
        etcd::Txn txn;
        txn.success.emplace_back(etcd::Put{layout.commit(), commit(number)});
        client->txn(txn, 1s).value();
    }
    void apply_to_copy(std::uint64_t number) {
        BOOST_REQUIRE(copy->write({}, etcd::Revision{1}, commit(number)));
    }
    void measure() { monitor.measure(std::stop_token()); }
    EtcdMonitor::State state() const { return monitor.state(std::chrono::steady_clock::now()); }
    std::string metrics() const {
        std::string text;
        append_node_metrics(text, node_metrics(measurements, monitor, *copy, 99));
        return text;
    }
};

bool contains(const std::string& text, const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_monitor_of_etcd, Monitored)

BOOST_AUTO_TEST_CASE(counts_the_commits_that_the_copy_lacks) {
    commit_to_etcd(5);
    apply_to_copy(3);
    measure();
    BOOST_TEST(state().commit == 5U);
    BOOST_TEST(state().missing_commits == 2U);
    apply_to_copy(6);
    BOOST_TEST(state().missing_commits == 0U);
}

BOOST_AUTO_TEST_CASE(measures_the_delay_until_the_copy_contains_the_commit) {
    const auto before = std::chrono::steady_clock::now();
    commit_to_etcd(5);
    measure();
    BOOST_TEST(!monitor.observe_copy(before + 1h));
    // The delay grows while the commit is missing, also over several measurements.
    commit_to_etcd(6);
    measure();
    BOOST_TEST((monitor.state(before + 2h).delay > 110min));
    apply_to_copy(5);
    BOOST_TEST(monitor.observe_copy(before + 3h));
    BOOST_TEST((monitor.state(before + 9h).delay > 170min));
    BOOST_TEST((monitor.state(before + 9h).delay <= 3h));
    BOOST_TEST(state().missing_commits == 1U);
    // A copy that is complete at the time of the measurement has no delay.
    apply_to_copy(6);
    measure();
    BOOST_TEST(monitor.observe_copy(before + 10h));
    BOOST_TEST((state().delay == 0ns));
}

BOOST_AUTO_TEST_CASE(does_not_wait_for_a_commit_of_a_store_that_was_replaced) {
    commit_to_etcd(50);
    measure();
    commit_to_etcd(2);
    apply_to_copy(2);
    measure();
    BOOST_TEST(monitor.observe_copy(std::chrono::steady_clock::now()));
    BOOST_TEST((state().delay == 0ns));
}

BOOST_AUTO_TEST_CASE(keeps_the_last_answer_while_etcd_does_not_answer) {
    commit_to_etcd(5);
    measure();
    BOOST_TEST(state().answers);
    BOOST_TEST(state().bytes > 0U);
    cluster.node("a").fail_next(EtcdFault::unreachable);
    measure();
    BOOST_TEST(!state().answers);
    BOOST_TEST(state().commit == 5U);
    BOOST_TEST(state().age.has_value());
}

BOOST_AUTO_TEST_CASE(has_no_values_before_the_first_answer) {
    BOOST_TEST(!state().age);
    const auto text = metrics();
    BOOST_TEST(contains(text, "rocklock_etcd_up 0"));
    BOOST_TEST(contains(text, "rocklock_etcd_quota_bytes 99"));
    BOOST_TEST(text.find("rocklock_copy_missing_commits") == std::string::npos);
    BOOST_TEST(text.find("rocklock_etcd_database_bytes") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(is_part_of_the_metrics) {
    commit_to_etcd(5);
    apply_to_copy(4);
    measure();
    measurements.add_transaction(2ms);
    measurements.add_writes(3);
    measurements.add_retry();
    BOOST_TEST(contains(metrics(), "rocklock_epoch 7"));
    measurements.add_term(9);
    const auto text = metrics();
    for (const char* line :
         {"rocklock_epoch 9", "rocklock_commit 4", "rocklock_terms_total 1",
          "rocklock_etcd_transaction_duration_seconds_sum 0.002",
          "rocklock_etcd_transaction_duration_seconds_count 1", "rocklock_etcd_writes_total 3",
          "rocklock_etcd_retries_total 1", "rocklock_etcd_unknown_outcomes_total 0",
          "rocklock_etcd_up 1", "rocklock_copy_missing_commits 1"}) {
        BOOST_TEST(contains(text, line), line);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
