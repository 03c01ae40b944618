// Watches of the fake etcd that fall behind, and faults that are drawn from a seed.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "support/fake_etcd.hpp"

namespace rocklock::testing {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds timeout{1000};

// A cluster with a node `a`, whose faults are tested, and a node `b` without faults.
struct Watched {
    explicit Watched(const EtcdLimits& limits = {})
        : cluster(clock, limits), client(cluster.connect("a")), writer(cluster.connect("b")) {}

    FakeNode& node() { return cluster.node("a"); }
    // Writes a value that is equal to its revision.
    void write(int count = 1) {
        for (; count > 0; --count) {
            const auto value = std::to_string(cluster.revision() + 1);
            writer->txn({{}, {etcd::Put{"k", value}}, {}}, timeout).value();
        }
    }
    void erase() { writer->txn({{}, {etcd::DeleteRange{"k", ""}}, {}}, timeout).value(); }
    std::unique_ptr<etcd::Watch> watch(etcd::Revision first) {
        return client->watch("k", "", first).value();
    }

    SimulatedClock clock;
    FakeCluster cluster;
    std::unique_ptr<etcd::Client> client;
    std::unique_ptr<etcd::Client> writer;
};

// Returns the responses that are available, as in "2 3 |-4 ", where `|` separates responses.
std::string available(etcd::Watch& watch) {
    std::string text;
    while (true) {
        const auto response = watch.next(0ms);
        if (!response) return text + std::string(to_string(response.error().code));
        if (!*response) return text;
        if (!text.empty()) text += '|';
        for (const auto& event : (*response)->events) {
            text += (event.deleted ? "-" : "") + std::to_string(event.kv.mod_revision) + ' ';
        }
    }
}

// Sends requests with faults of a seed, and returns their results as a text.
std::string results(std::uint64_t seed, const EtcdFaultRates& rates, int count) {
    Watched etcd;
    etcd.node().draw(seed, rates);
    std::string text;
    for (int i = 0; i < count; ++i) {
        const auto done = etcd.client->txn({{}, {etcd::Put{"k", std::to_string(i)}}, {}}, timeout);
        text += done ? "ok" : std::string(to_string(done.error().code));
        text += ' ' + std::to_string(etcd.cluster.revision()) + '\n';
    }
    return text;
}

// The protocol of a store with faults: writes the numbers from 1 to `count` to a key, each if the
// number before it is there, and repeats each request until its result is known. Returns whether
// the history of the key has each number once, in order.
bool writes_a_chain(std::uint64_t seed, int count) {
    Watched etcd;
    etcd.writer->txn({{}, {etcd::Put{"k", "0"}}, {}}, timeout).value();
    EtcdFaultRates rates;
    rates.request_lost = rates.answer_lost = rates.applied_late = rates.duplicated = 20;
    rates.unreachable = rates.compacted = 5;
    etcd.node().draw(seed, rates);
    for (int i = 1; i <= count; ++i) {
        const etcd::Txn txn{{{"k", std::to_string(i - 1)}},
                            {etcd::Put{"k", std::to_string(i)}},
                            {etcd::Range{"k", ""}}};
        auto done = etcd.client->txn(txn, timeout);
        while (!done) done = etcd.client->txn(txn, timeout);
        if (!done->succeeded && done->ranges.at(0).kvs.at(0).value != std::to_string(i)) {
            return false;
        }
    }
    etcd.cluster.apply_late();
    const auto history = etcd.cluster.history_of("k");
    for (std::size_t i = 0; i < history.size(); ++i) {
        if (history[i].kv.value != std::to_string(i)) return false;
    }
    return history.size() == static_cast<std::size_t>(count) + 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_watch_that_falls_behind)

BOOST_AUTO_TEST_CASE(reports_changes_only_up_to_a_revision) {
    Watched etcd;
    const auto watch = etcd.watch(2);
    etcd.node().show_changes_through(3);
    etcd.write(4);
    BOOST_TEST(available(*watch) == "2 |3 ");
    etcd.node().show_changes_through(4);
    BOOST_TEST(available(*watch) == "4 ");
    etcd.node().show_changes_through(std::nullopt);
    BOOST_TEST(available(*watch) == "5 ");
    // Another node is not affected.
    etcd.node().show_changes_through(1);
    const auto other = etcd.writer->watch("k", "", 2).value();
    BOOST_TEST(available(*other) == "2 3 4 5 ");
}

BOOST_AUTO_TEST_CASE(shows_old_values_to_serializable_reads_only) {
    Watched etcd;
    etcd.write(2);
    etcd.node().show_changes_through(2);
    etcd::Range range{"k", ""};
    BOOST_TEST(etcd.client->range(range, timeout).value().kvs.at(0).value == "3");
    range.serializable = true;
    const auto old = etcd.client->range(range, timeout).value();
    BOOST_TEST(old.kvs.at(0).value == "2");
    BOOST_TEST(old.header.revision == 2);
    range.revision = 3;
    BOOST_TEST((etcd.client->range(range, timeout).error().code == ErrorCode::io_error));
}

BOOST_AUTO_TEST_CASE(fails_if_its_next_revision_is_compacted) {
    Watched etcd;
    const auto current = etcd.writer->watch("k", "", 2).value();
    const auto behind = etcd.watch(2);
    etcd.node().show_changes_through(2);
    etcd.write(3);
    etcd.cluster.compact().value();
    etcd.node().show_changes_through(std::nullopt);
    BOOST_TEST(available(*behind) == "2 precondition_failed");
    // The cluster sent the changes to the other watch before the compaction.
    BOOST_TEST(available(*current) == "2 |3 |4 ");
}

BOOST_AUTO_TEST_CASE(misses_a_deletion_at_the_revision_of_a_compaction) {
    Watched etcd;
    etcd.write();
    etcd.erase();
    etcd.cluster.compact().value();
    etcd.write();
    BOOST_TEST(available(*etcd.watch(3)) == "4 ");
    BOOST_TEST(available(*etcd.watch(2)) == "precondition_failed");
}

BOOST_AUTO_TEST_CASE(receives_many_revisions_in_parts) {
    EtcdLimits limits;
    limits.watch_revisions = 3;
    Watched etcd(limits);
    etcd.write(7);
    const auto watch = etcd.watch(2);
    const auto first = watch->next(0ms).value().value();
    BOOST_TEST(first.events.size() == 3U);
    // The header has the newest revision, not the last one of the response.
    BOOST_TEST(first.header.revision == 8);
    BOOST_TEST(available(*watch) == "5 6 7 |8 ");
}

BOOST_AUTO_TEST_CASE(loses_changes_that_it_has_not_returned_when_it_ends) {
    Watched etcd;
    const auto watch = etcd.watch(2);
    const auto other = etcd.writer->watch("k", "", 2).value();
    etcd.write(2);
    etcd.node().end_watches();
    BOOST_TEST(available(*watch) == "unreachable");
    BOOST_TEST(available(*other) == "2 |3 ");
    BOOST_TEST(available(*etcd.watch(2)) == "2 3 ");
}

BOOST_AUTO_TEST_CASE(does_not_outlive_its_cancellation) {
    Watched etcd;
    const auto watch = etcd.watch(2);
    etcd.write();
    watch->cancel();
    BOOST_TEST(available(*watch) == "closing");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_seed_of_etcd_faults)

BOOST_AUTO_TEST_CASE(draws_equal_faults_for_equal_requests) {
    EtcdFaultRates rates;
    rates.request_lost = rates.answer_lost = rates.applied_late = 10;
    rates.duplicated = rates.unreachable = 10;
    std::set<std::string> all;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto text = results(seed, rates, 50);
        BOOST_TEST(text == results(seed, rates, 50));
        all.insert(text);
    }
    BOOST_TEST(all.size() == 10U);
    BOOST_TEST(results(1, {}, 50).find("indeterminate") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(draws_each_fault_about_as_often_as_its_rate) {
    EtcdFaultRates rates;
    rates.unreachable = 30;
    const auto text = results(1, rates, 1000);
    std::size_t failed = 0;
    for (auto at = text.find("unreachable"); at != std::string::npos;
         at = text.find("unreachable", at + 1)) {
        ++failed;
    }
    BOOST_TEST(failed > 250U);
    BOOST_TEST(failed < 350U);
}

BOOST_AUTO_TEST_CASE(can_be_ended) {
    Watched etcd;
    EtcdFaultRates rates;
    rates.unreachable = 100;
    rates.watch_delayed = 100;
    etcd.node().draw(1, rates);
    BOOST_TEST(!etcd.client->status(timeout));
    etcd.node().draw_none();
    BOOST_TEST(etcd.client->status(timeout).has_value());
    const auto watch = etcd.watch(2);
    etcd.write();
    BOOST_TEST(available(*watch) == "2 ");
}

BOOST_AUTO_TEST_CASE(leaves_a_chain_of_conditional_writes_intact) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        BOOST_TEST_INFO("seed " << seed);
        BOOST_TEST(writes_a_chain(seed, 30));
    }
}

BOOST_AUTO_TEST_CASE(ends_leases_and_ignores_renewals) {
    Watched etcd;
    EtcdFaultRates rates;
    rates.lease_ended = 20;
    const auto lease = etcd.client->grant_lease(10s, timeout).value().id;
    etcd.node().draw(1, rates);
    while (etcd.client->keep_alive(lease, timeout)) {
    }
    BOOST_TEST(etcd.cluster.leases().empty());

    rates = {};
    rates.keep_alive_ignored = 50;
    const auto other = etcd.client->grant_lease(3s, timeout).value().id;
    etcd.node().draw(1, rates);
    while (etcd.client->keep_alive(other, timeout)) etcd.clock.advance(2s);
    BOOST_TEST(etcd.cluster.leases().empty());
}

// A watch that continues after the last change that it returned, and that loads the key again if
// the history has been compacted, sees the newest value in the end.
BOOST_AUTO_TEST_CASE(delays_and_ends_watches) {
    bool ended = false;
    bool delayed = false;
    bool compacted = false;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        BOOST_TEST_INFO("seed " << seed);
        Watched etcd;
        EtcdFaultRates rates;
        rates.watch_ended = 5;
        rates.watch_delayed = 50;
        rates.compacted = 5;
        etcd.node().draw(seed, rates);
        etcd::Revision seen = 1;
        auto watch = etcd.watch(seen + 1);
        for (int i = 0; seen < 41; ++i) {
            if (i < 40) etcd.write();
            // Gives the seed an occasion for a compaction.
            etcd.client->status(timeout).value();
            const auto response = watch->next(0ms);
            if (!response) {
                ended = ended || response.error().code == ErrorCode::unreachable;
                if (response.error().code == ErrorCode::precondition_failed) {
                    compacted = true;
                    seen = etcd.client->range({"k", ""}, timeout).value().header.revision;
                }
                watch = etcd.watch(seen + 1);
                continue;
            }
            if (!*response) {
                delayed = true;
                continue;
            }
            for (const auto& event : (*response)->events) {
                BOOST_REQUIRE(event.kv.mod_revision == seen + 1);
                seen = event.kv.mod_revision;
            }
        }
        BOOST_TEST(seen == etcd.cluster.revision());
    }
    BOOST_TEST(ended);
    BOOST_TEST(delayed);
    BOOST_TEST(compacted);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
