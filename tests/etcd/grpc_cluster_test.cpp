// Members that fail, one of one and one of three.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "etcd/real_etcd.hpp"
#include "storage/etcd/client/load_client.hpp"

namespace rocklock::etcd {

BOOST_AUTO_TEST_SUITE(a_member_of_etcd, *boost::unit_test::precondition(testing::has_etcd))

namespace {

using namespace std::chrono_literals;
using boost::unit_test::precondition;
using testing::has_etcd;
using testing::RealEtcd;

// On a busy machine a write to the disk can take seconds.
constexpr auto timeout = 20s;

Txn put(const std::string& key, const std::string& value) {
    Txn txn;
    txn.success.emplace_back(Put{key, value, 0});
    return txn;
}

struct Duration {
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    bool is_below(std::chrono::milliseconds limit) const {
        return std::chrono::steady_clock::now() - begin < limit;
    }
};

// Repeats a request until it succeeds. Starts no further attempt after 30 s. While an election
// takes place, a member refuses requests at once, and the client tries each member only once.
bool succeeds(const auto& request) {
    const Duration duration;
    while (true) {
        const auto result = request();
        if (result) return true;
        BOOST_TEST_MESSAGE(result.error().message);
        if (!duration.is_below(30s)) return false;
        std::this_thread::sleep_for(50ms);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_reported_as_unreachable_if_it_does_not_run) {
    RealEtcd etcd;
    etcd.kill();
    const auto client = etcd.client();
    const Duration duration;
    for (int i = 0; i < 2; ++i) {
        const auto written = client->txn(put("a", "1"), 20s);
        BOOST_REQUIRE(!written);
        BOOST_TEST((written.error().code == ErrorCode::unreachable));
        BOOST_TEST(written.error().message.find("onnection refused") != std::string::npos,
                   written.error().message);
    }
    BOOST_TEST(duration.is_below(3s));
    BOOST_TEST((client->range({.key = "a"}, 20s).error().code == ErrorCode::unreachable));
    BOOST_TEST((client->keep_alive(1, 20s).error().code == ErrorCode::unreachable));

    etcd.start();
    etcd.await_ready();
    RealEtcd::await_connection(*client);
    BOOST_TEST(client->txn(put("a", "1"), timeout).has_value());
}

BOOST_AUTO_TEST_CASE(makes_the_outcome_of_requests_unknown_and_ends_watches_if_it_stops) {
    RealEtcd etcd;
    const auto client = etcd.client();
    client->txn(put("a", "1"), timeout).value();
    const auto watch = client->watch("a", "", 1).value();
    BOOST_TEST(watch->next(timeout).value().has_value());
    etcd.pause();
    const Duration duration;
    const auto written = client->txn(put("a", "2"), 300ms);
    BOOST_REQUIRE(!written);
    BOOST_TEST((written.error().code == ErrorCode::indeterminate));
    BOOST_TEST((client->grant_lease(5s, 100ms).error().code == ErrorCode::indeterminate));
    BOOST_TEST((client->keep_alive(1, 100ms).error().code == ErrorCode::indeterminate));
    // A read has no effect.
    BOOST_TEST((client->range({.key = "a"}, 100ms).error().code == ErrorCode::unreachable));
    BOOST_TEST(duration.is_below(3s));
    // Pings of the connection detect that the member does not respond.
    BOOST_TEST((watch->next(20s).error().code == ErrorCode::unreachable));
    BOOST_TEST(duration.is_below(9s));
    etcd.resume();
    // On a busy machine, the first attempts to connect again can time out.
    BOOST_TEST(succeeds([&] { return client->range({.key = "a"}, timeout); }));
}

// The number in the store is that of the last transaction that succeeded, or that of the failed
// one. If the failed one is reported as `unreachable`, it had no effect.
BOOST_AUTO_TEST_CASE(makes_the_outcome_of_a_transaction_unknown_if_it_is_killed) {
    RealEtcd etcd;
    int number = 0;
    for (int round = 0; round < 2; ++round) {
        const auto client = etcd.client();
        std::atomic<int> written = number;
        ErrorCode code{};
        std::thread writer([&] {
            while (true) {
                const auto result = client->txn(put("a", std::to_string(written + 1)), timeout);
                if (!result) {
                    code = result.error().code;
                    break;
                }
                ++written;
            }
        });
        const Duration duration;
        while (written < number + 20 && duration.is_below(10s)) std::this_thread::yield();
        etcd.kill();
        writer.join();
        BOOST_TEST((code == ErrorCode::indeterminate || code == ErrorCode::unreachable));

        etcd.start();
        etcd.await_ready();
        RealEtcd::await_connection(*client);
        const auto stored = client->range({.key = "a"}, timeout).value();
        number = std::stoi(stored.kvs.at(0).value);
        const bool failed_one_is_stored = number == written + 1;
        BOOST_TEST((number == written || failed_one_is_stored));
        BOOST_TEST((code != ErrorCode::unreachable || !failed_one_is_stored));
    }
}

BOOST_AUTO_TEST_CASE(is_replaced_by_another_member) {
    RealEtcd etcd({.members = 3});
    const auto client = etcd.client();
    BOOST_TEST(client->txn(put("a", "1"), timeout).has_value());
    const Lease lease = client->grant_lease(300s, timeout).value();
    const auto watch = client->watch("a", "", 1).value();
    BOOST_TEST(watch->next(timeout).value().has_value());

    etcd.kill(0);
    BOOST_TEST((watch->next(timeout).error().code == ErrorCode::unreachable));
    // The killed member may have been the leader, and then the others elect one first.
    BOOST_TEST(succeeds([&] { return client->range({.key = "a"}, timeout); }));
    BOOST_TEST(succeeds([&] { return client->txn(put("a", "2"), timeout); }));
    BOOST_TEST(succeeds([&] { return client->keep_alive(lease.id, timeout); }));
    const auto next = client->watch("a", "", 1).value();
    BOOST_TEST(next->next(timeout).value().has_value());

    // Without a majority, no member can execute a transaction.
    etcd.kill(2);
    const auto written = client->txn(put("a", "3"), 1s);
    BOOST_REQUIRE(!written);
    BOOST_TEST((written.error().code == ErrorCode::unreachable ||
                written.error().code == ErrorCode::indeterminate));
    // The member that has lost its leader ends the watch.
    BOOST_TEST((next->next(timeout).error().code == ErrorCode::unreachable));
    // It still answers from its own state.
    BOOST_TEST(client->range({.key = "a", .serializable = true}, timeout).has_value());
    BOOST_TEST(client->status(timeout).has_value());
}

BOOST_AUTO_TEST_CASE(is_preferred_if_it_is_the_leader) {
    RealEtcd etcd({.members = 3});
    const auto options = etcd.client_options();
    const auto leads = [](Client& client) {
        client.use_leader(timeout);
        const auto status = client.status(timeout).value();
        return status.leader_id != 0 && status.leader_id == status.header.member_id;
    };
    std::optional<std::size_t> leader;
    for (std::size_t first = 0; first < 3; ++first) {
        // Each member is the first one of a client once.
        auto rotated = options;
        std::rotate(rotated.endpoints.begin(), rotated.endpoints.begin() + first,
                    rotated.endpoints.end());
        const auto client = load_client(rotated).value();
        const auto asked = client->status(timeout).value();
        if (asked.leader_id == asked.header.member_id) leader = first;
        BOOST_TEST(leads(*client));
        BOOST_TEST(client->txn(put("a", "1"), timeout).has_value());
    }
    BOOST_REQUIRE(leader.has_value());

    // A client without the address of the leader still uses the members that it has.
    auto without = options;
    without.endpoints.erase(without.endpoints.begin() + static_cast<std::ptrdiff_t>(*leader));
    const auto follower = load_client(without).value();
    BOOST_TEST(!leads(*follower));
    BOOST_TEST(follower->txn(put("a", "2"), timeout).has_value());

    // After an election, the new leader is found.
    const auto client = etcd.client();
    BOOST_TEST(leads(*client));
    etcd.kill(*leader);
    BOOST_TEST(succeeds([&] { return client->range({.key = "a"}, timeout); }));
    const Duration duration;
    while (!leads(*client) && duration.is_below(20s)) std::this_thread::sleep_for(50ms);
    BOOST_TEST(leads(*client));
    BOOST_TEST(succeeds([&] { return client->txn(put("a", "3"), timeout); }));
}

BOOST_AUTO_TEST_CASE(is_left_by_reads_if_it_stops) {
    RealEtcd etcd({.members = 3});
    const auto client = etcd.client();
    client->txn(put("a", "1"), timeout).value();
    etcd.pause(0);
    // If it was the leader, the others elect one first.
    BOOST_TEST(succeeds([&] { return client->range({.key = "a"}, 1s); }));
    // The next request is sent to another member first: the stopped one would take half of the
    // timeout. Another member answers this read even without a leader.
    const Duration duration;
    BOOST_TEST(client->range({.key = "a", .serializable = true}, timeout).has_value());
    BOOST_TEST(duration.is_below(timeout / 4));
    BOOST_TEST(succeeds([&] { return client->txn(put("a", "2"), timeout); }));
    etcd.resume(0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
