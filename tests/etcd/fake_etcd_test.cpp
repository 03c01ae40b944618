// The faults of the fake etcd. Its behavior without faults is in the contract tests.
#include "support/fake_etcd.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

namespace rocklock::testing {

using namespace std::chrono_literals;

namespace {

// A cluster with two nodes.
struct Cluster {
    static constexpr std::chrono::milliseconds timeout{1000};

    explicit Cluster(const EtcdLimits& limits = {})
        : fake(clock, limits), a(fake.connect("a")), b(fake.connect("b")) {}

    FakeNode& node() { return fake.node("a"); }

    static etcd::Txn put(const std::string& key, const std::string& value,
                         etcd::LeaseId lease = 0) {
        return {{}, {etcd::Put{key, value, lease}}, {}};
    }
    static etcd::Txn erase(const std::string& key) {
        return {{}, {etcd::DeleteRange{key, ""}}, {}};
    }
    // Puts `to` if the value is `from`.
    static etcd::Txn replace(const std::string& key, const std::string& from,
                             const std::string& to) {
        return {{{key, from}}, {etcd::Put{key, to}}, {etcd::Range{key, ""}}};
    }
    // Writes without a fault of node a.
    etcd::Revision write(const std::string& key, const std::string& value) {
        return b->txn(put(key, value), timeout).value().header.revision;
    }

    // Returns the error code of a put by node a, or nullopt if it succeeded.
    std::optional<ErrorCode> code_of_put(const std::string& key = "k") {
        const auto done = a->txn(put(key, "v"), timeout);
        return done ? std::nullopt : std::optional(done.error().code);
    }

    SimulatedClock clock;
    FakeCluster fake;
    std::unique_ptr<etcd::Client> a;
    std::unique_ptr<etcd::Client> b;
};

// Returns the values that a key has had, such as "1 2 -", where "-" is a deletion.
std::string values_of(const FakeCluster& cluster, const std::string& key) {
    std::string text;
    for (const auto& change : cluster.history_of(key)) {
        if (!text.empty()) text += ' ';
        text += change.deleted ? "-" : change.kv.value;
    }
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_planned_fault_of_etcd)

BOOST_AUTO_TEST_CASE(can_lose_the_request_or_the_answer) {
    Cluster cluster;
    cluster.node().fail_next(EtcdFault::request_lost);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::indeterminate));
    BOOST_TEST(!cluster.fake.value("k"));
    BOOST_TEST(cluster.fake.transactions() == 0U);

    cluster.node().fail_next(EtcdFault::answer_lost);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::indeterminate));
    BOOST_TEST((cluster.fake.value("k") == "v"));
    BOOST_TEST(cluster.fake.transactions() == 1U);
    BOOST_TEST(cluster.fake.requests() == 2U);
}

BOOST_AUTO_TEST_CASE(can_refuse_the_request) {
    Cluster cluster;
    const std::pair<EtcdFault, ErrorCode> refusals[] = {
        {EtcdFault::unreachable, ErrorCode::unreachable},
        {EtcdFault::access_denied, ErrorCode::access_denied},
        {EtcdFault::io_error, ErrorCode::io_error},
    };
    for (const auto& [fault, expected] : refusals) {
        cluster.node().fail_next(fault);
        BOOST_TEST((cluster.code_of_put() == expected));
    }
    BOOST_TEST(cluster.fake.revision() == 1);
    BOOST_TEST(!cluster.code_of_put());
}

BOOST_AUTO_TEST_CASE(occurs_in_order_on_its_own_node) {
    Cluster cluster;
    cluster.node().fail_next(EtcdFault::unreachable, 2);
    cluster.node().fail_next(EtcdFault::request_lost);
    BOOST_TEST(cluster.node().planned() == 3U);
    cluster.write("other", "1");
    BOOST_TEST((cluster.code_of_put() == ErrorCode::unreachable));
    BOOST_TEST((cluster.code_of_put() == ErrorCode::unreachable));
    BOOST_TEST((cluster.code_of_put() == ErrorCode::indeterminate));
    BOOST_TEST(!cluster.code_of_put());
    BOOST_TEST(cluster.node().planned() == 0U);
}

BOOST_AUTO_TEST_CASE(can_wait_for_a_request_of_one_kind) {
    Cluster cluster;
    cluster.node().fail_next({EtcdFault::unreachable, EtcdRequest::range});
    BOOST_TEST(!cluster.code_of_put());
    BOOST_TEST(cluster.a->status(Cluster::timeout).has_value());
    const auto read = cluster.a->range({"k", ""}, Cluster::timeout);
    BOOST_TEST((read.error().code == ErrorCode::unreachable));
    BOOST_TEST(cluster.a->range({"k", ""}, Cluster::timeout).has_value());
}

BOOST_AUTO_TEST_CASE(can_report_no_space_although_the_request_has_an_effect) {
    Cluster cluster;
    cluster.node().fail_next(EtcdFault::no_space_reported);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::no_space));
    BOOST_TEST((cluster.fake.value("k") == "v"));
}

BOOST_AUTO_TEST_CASE(applies_a_request_after_further_requests_of_any_node) {
    Cluster cluster;
    cluster.write("k", "0");
    cluster.node().fail_next({EtcdFault::applied_late, EtcdRequest::txn, 2});
    const auto lost = cluster.a->txn(Cluster::replace("k", "0", "1"), Cluster::timeout);
    BOOST_TEST((lost.error().code == ErrorCode::indeterminate));
    BOOST_TEST((cluster.fake.value("k") == "0"));
    BOOST_TEST(cluster.fake.late_requests() == 1U);
    cluster.b->status(Cluster::timeout).value();
    BOOST_TEST((cluster.fake.value("k") == "0"));
    cluster.a->status(Cluster::timeout).value();
    BOOST_TEST((cluster.fake.value("k") == "1"));
    BOOST_TEST(cluster.fake.late_requests() == 0U);
}

BOOST_AUTO_TEST_CASE(applies_a_late_request_to_the_state_at_that_time) {
    Cluster cluster;
    cluster.write("k", "0");
    cluster.node().fail_next(EtcdFault::applied_late);
    const auto txn = Cluster::replace("k", "0", "1");
    BOOST_TEST(!cluster.a->txn(txn, Cluster::timeout));
    // The retry is executed first, so that the condition of the late request does not hold.
    BOOST_TEST(cluster.a->txn(txn, Cluster::timeout).value().succeeded);
    cluster.fake.apply_late();
    BOOST_TEST(values_of(cluster.fake, "k") == "0 1");
    BOOST_TEST(cluster.fake.transactions() == 3U);
}

BOOST_AUTO_TEST_CASE(can_reorder_requests) {
    Cluster cluster;
    cluster.node().fail_next(EtcdFault::applied_late, 3);
    for (const auto* value : {"1", "2", "3"}) {
        BOOST_TEST(!cluster.a->txn(Cluster::put("k", value), Cluster::timeout));
    }
    cluster.fake.apply_late(2);
    cluster.fake.apply_late(0);
    BOOST_TEST(values_of(cluster.fake, "k") == "3 1");
    cluster.fake.drop_late();
    cluster.fake.apply_late();
    BOOST_TEST(values_of(cluster.fake, "k") == "3 1");
}

BOOST_AUTO_TEST_CASE(can_repeat_a_request) {
    Cluster cluster;
    cluster.node().fail_next({EtcdFault::duplicated, EtcdRequest::txn, 1});
    BOOST_TEST(cluster.a->txn(Cluster::put("k", "1"), Cluster::timeout).has_value());
    BOOST_TEST(values_of(cluster.fake, "k") == "1");
    cluster.write("k", "2");
    BOOST_TEST(values_of(cluster.fake, "k") == "1 2 1");

    cluster.node().fail_next({EtcdFault::duplicated, EtcdRequest::grant_lease, 1});
    const auto lease = cluster.a->grant_lease(10s, Cluster::timeout).value().id;
    cluster.b->status(Cluster::timeout).value();
    BOOST_TEST(cluster.fake.leases().size() == 2U);
    BOOST_TEST(cluster.fake.leases().front() == lease);
}

BOOST_AUTO_TEST_CASE(leaves_no_effect_of_a_read_unknown) {
    Cluster cluster;
    cluster.write("k", "1");
    for (const auto fault :
         {EtcdFault::request_lost, EtcdFault::answer_lost, EtcdFault::applied_late}) {
        cluster.node().fail_next(fault);
        const auto read = cluster.a->range({"k", ""}, Cluster::timeout);
        BOOST_TEST((read.error().code == ErrorCode::unreachable));
    }
    cluster.fake.apply_late();
    BOOST_TEST(cluster.fake.revision() == 2);
}

BOOST_AUTO_TEST_CASE(can_fail_the_start_of_a_watch) {
    Cluster cluster;
    for (const auto fault :
         {EtcdFault::unreachable, EtcdFault::request_lost, EtcdFault::applied_late}) {
        cluster.node().fail_next(fault);
        BOOST_TEST((cluster.a->watch("k", "", 1).error().code == ErrorCode::unreachable));
    }
    BOOST_TEST(cluster.a->watch("k", "", 1).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_node_that_is_cut_off_from_etcd)

BOOST_AUTO_TEST_CASE(fails_until_it_is_healed) {
    Cluster cluster;
    cluster.node().fail_next(EtcdFault::io_error);
    const std::pair<EtcdCut, ErrorCode> cuts[] = {
        {EtcdCut::refused, ErrorCode::unreachable},
        {EtcdCut::requests_lost, ErrorCode::indeterminate},
        {EtcdCut::answers_lost, ErrorCode::indeterminate},
    };
    for (const auto& [cut, expected] : cuts) {
        cluster.node().cut(cut);
        const auto before = cluster.fake.revision();
        for (int i = 0; i < 3; ++i) BOOST_TEST((cluster.code_of_put() == expected));
        BOOST_TEST(cluster.fake.revision() == before + (cut == EtcdCut::answers_lost ? 3 : 0));
        cluster.write("other", "1");
    }
    cluster.node().heal();
    // A planned fault waits for the end of the cut.
    BOOST_TEST((cluster.code_of_put() == ErrorCode::io_error));
    BOOST_TEST(!cluster.code_of_put());
}

BOOST_AUTO_TEST_CASE(receives_changes_only_if_answers_arrive) {
    Cluster cluster;
    const auto watch = cluster.a->watch("k", "", 2).value();
    cluster.node().cut(EtcdCut::requests_lost);
    cluster.write("k", "1");
    BOOST_TEST(watch->next(0ms).value().has_value());
    cluster.node().cut(EtcdCut::answers_lost);
    cluster.write("k", "2");
    BOOST_TEST(!watch->next(0ms).value());
    cluster.node().heal();
    BOOST_TEST(watch->next(0ms).value()->events.at(0).kv.value == "2");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_lease_of_the_fake_etcd)

BOOST_AUTO_TEST_CASE(ends_at_its_time_by_the_boot_clock) {
    Cluster cluster;
    const auto lease = cluster.a->grant_lease(3s, Cluster::timeout).value();
    BOOST_TEST((lease.ttl == 3s));
    cluster.a->txn(Cluster::put("k", "v", lease.id), Cluster::timeout).value();
    cluster.clock.jump_wall(1h);
    cluster.clock.advance(2999ms);
    cluster.fake.expire_leases();
    BOOST_TEST(cluster.fake.value("k").has_value());
    cluster.clock.advance(1ms);
    cluster.fake.expire_leases();
    BOOST_TEST(!cluster.fake.value("k"));
    BOOST_TEST(cluster.fake.leases().empty());
}

BOOST_AUTO_TEST_CASE(writes_one_revision_per_lease_with_keys) {
    Cluster cluster;
    std::vector<etcd::LeaseId> leases;
    for (int i = 0; i < 3; ++i) {
        leases.push_back(cluster.a->grant_lease(3s, Cluster::timeout).value().id);
    }
    for (const auto* key : {"a", "b", "c"}) {
        const auto lease = leases.at(*key == 'c' ? 1 : 0);
        cluster.a->txn(Cluster::put(key, "v", lease), Cluster::timeout).value();
    }
    const auto before = cluster.fake.revision();
    cluster.clock.advance(3s);
    cluster.fake.expire_leases();
    BOOST_TEST(cluster.fake.revision() == before + 2);
    std::map<std::string, etcd::Revision> deleted;
    for (const auto& change : cluster.fake.history(before + 1)) {
        BOOST_TEST(change.deleted);
        deleted[change.kv.key] = change.kv.mod_revision - before;
    }
    BOOST_TEST((deleted == std::map<std::string, etcd::Revision>{{"a", 1}, {"b", 1}, {"c", 2}}));
}

BOOST_AUTO_TEST_CASE(can_be_acknowledged_without_being_renewed) {
    Cluster cluster;
    const auto lease = cluster.a->grant_lease(3s, Cluster::timeout).value().id;
    cluster.clock.advance(2s);
    cluster.node().fail_next({EtcdFault::keep_alive_ignored, EtcdRequest::keep_alive});
    BOOST_TEST((cluster.a->keep_alive(lease, Cluster::timeout).value() == 3s));
    cluster.clock.advance(1s);
    const auto renewed = cluster.a->keep_alive(lease, Cluster::timeout);
    BOOST_TEST((renewed.error().code == ErrorCode::resource_not_found));
}

BOOST_AUTO_TEST_CASE(can_end_before_its_time) {
    Cluster cluster;
    const auto lease = cluster.a->grant_lease(3s, Cluster::timeout).value().id;
    cluster.a->txn(Cluster::put("k", "v", lease), Cluster::timeout).value();
    const auto watch = cluster.b->watch("k", "", 3).value();
    cluster.a->keep_alive(lease, Cluster::timeout).value();
    cluster.fake.end_lease(lease).value();
    BOOST_TEST(!cluster.fake.value("k"));
    BOOST_TEST(watch->next(0ms).value()->events.at(0).deleted);
    BOOST_TEST((cluster.fake.end_lease(lease).error().code == ErrorCode::resource_not_found));
}

BOOST_AUTO_TEST_CASE(can_keep_its_keys_after_its_end) {
    EtcdLimits limits;
    limits.lease_ttl = 5s;
    limits.lease_delay = 1s;
    Cluster cluster(limits);
    const auto lease = cluster.a->grant_lease(1s, Cluster::timeout).value();
    BOOST_TEST((lease.ttl == 5s));
    cluster.a->txn(Cluster::put("k", "v", lease.id), Cluster::timeout).value();
    cluster.clock.advance(5s);
    BOOST_TEST(!cluster.a->keep_alive(lease.id, Cluster::timeout));
    BOOST_TEST(cluster.fake.value("k").has_value());
    cluster.clock.advance(1s);
    cluster.fake.expire_leases();
    BOOST_TEST(!cluster.fake.value("k"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_fake_etcd)

BOOST_AUTO_TEST_CASE(keeps_the_whole_history) {
    Cluster cluster;
    cluster.write("k", "1");
    cluster.write("k", "2");
    cluster.a->txn(Cluster::erase("k"), Cluster::timeout).value();
    cluster.write("k", "3");
    cluster.fake.compact().value();
    BOOST_TEST(cluster.fake.compacted() == 5);
    BOOST_TEST(values_of(cluster.fake, "k") == "1 2 - 3");
    const auto history = cluster.fake.history();
    BOOST_REQUIRE(history.size() == 4U);
    BOOST_TEST(history[1].version == 2);
    BOOST_TEST(history[1].kv.create_revision == 2);
    BOOST_TEST(history[2].version == 0);
    BOOST_TEST(history[2].kv.value.empty());
    BOOST_TEST(history[3].version == 1);
    BOOST_TEST(history[3].kv.create_revision == 5);
    BOOST_TEST(cluster.fake.find("k")->kv.mod_revision == 5);
    BOOST_TEST(cluster.fake.history(4).size() == 2U);
    BOOST_TEST(!cluster.fake.find("absent"));
    BOOST_TEST(!cluster.fake.value("absent"));
}

BOOST_AUTO_TEST_CASE(refuses_writes_until_the_refusal_is_ended) {
    Cluster cluster;
    cluster.write("k", std::string(1000, 'x'));
    cluster.fake.set_quota(500);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::no_space));
    cluster.fake.set_quota(0);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::no_space));
    // Deletions need no space.
    BOOST_TEST(cluster.a->txn(Cluster::erase("k"), Cluster::timeout).has_value());
    cluster.fake.refuse_writes(false);
    BOOST_TEST(!cluster.code_of_put());
    cluster.fake.refuse_writes(true);
    BOOST_TEST((cluster.code_of_put() == ErrorCode::no_space));
    const auto lease = cluster.a->grant_lease(10s, Cluster::timeout);
    BOOST_TEST((lease.error().code == ErrorCode::no_space));
}

BOOST_AUTO_TEST_CASE(counts_its_bytes) {
    Cluster cluster;
    for (int i = 0; i < 10; ++i) cluster.write("k", std::string(1000, 'x'));
    const auto before = cluster.a->status(Cluster::timeout).value();
    BOOST_TEST(before.db_bytes > 10'000);
    BOOST_TEST(before.db_bytes == before.db_bytes_in_use);
    cluster.fake.compact().value();
    const auto after = cluster.a->status(Cluster::timeout).value();
    BOOST_TEST(after.db_bytes == before.db_bytes);
    BOOST_TEST(after.db_bytes_in_use < 2000);
}

BOOST_AUTO_TEST_CASE(can_be_restored_from_a_snapshot) {
    Cluster cluster;
    const auto lease = cluster.a->grant_lease(10s, Cluster::timeout).value().id;
    cluster.a->txn(Cluster::put("k", "1", lease), Cluster::timeout).value();
    const auto old = cluster.write("other", "1");
    cluster.write("k", "2");
    cluster.write("new", "1");
    const auto watch = cluster.a->watch("k", "", 1).value();
    cluster.fake.restore(old);
    cluster.fake.set_cluster_id(7);
    BOOST_TEST((watch->next(0ms).error().code == ErrorCode::unreachable));
    BOOST_TEST(cluster.fake.revision() == old);
    BOOST_TEST((cluster.fake.value("k") == "1"));
    BOOST_TEST(!cluster.fake.value("new"));
    BOOST_TEST(cluster.a->status(Cluster::timeout).value().header.cluster_id == 7U);
    BOOST_TEST(cluster.write("new", "2") == old + 1);
    cluster.a->revoke_lease(lease, Cluster::timeout).value();
    BOOST_TEST(!cluster.fake.value("k"));
}

BOOST_AUTO_TEST_CASE(serves_several_threads) {
    Cluster cluster;
    cluster.write("k", "0");
    constexpr int threads = 4;
    constexpr int increments = 100;
    const auto watch = cluster.a->watch("k", "", 1).value();
    std::vector<std::thread> writers;
    for (int i = 0; i < threads; ++i) {
        writers.emplace_back([&cluster, i] {
            const auto client = cluster.fake.connect(i % 2 ? "a" : "b");
            cluster.fake.node(i % 2 ? "a" : "b").fail_next({EtcdFault::duplicated, {}, 3}, 10);
            std::string value = "0";
            for (int done = 0; done < increments;) {
                const auto next = std::to_string(std::stoi(value) + 1);
                const auto txn =
                    client->txn(Cluster::replace("k", value, next), Cluster::timeout).value();
                done += txn.succeeded ? 1 : 0;
                value = txn.succeeded ? next : txn.ranges.at(0).kvs.at(0).value;
            }
        });
    }
    std::size_t seen = 0;
    while (seen < threads * increments + 1) {
        const auto response = watch->next(10s).value();
        BOOST_REQUIRE(response.has_value());
        for (const auto& event : response->events) {
            BOOST_REQUIRE(event.kv.value == std::to_string(seen++));
        }
    }
    for (auto& writer : writers) writer.join();
    BOOST_TEST((cluster.fake.value("k") == std::to_string(threads * increments)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
