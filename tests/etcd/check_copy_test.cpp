// The comparison of a node's copy with etcd.
#include "storage/etcd/copy/check_copy.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "support/fake_etcd.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;
using Kind = etcd::CopyDifference::Kind;

Write item(std::string key, std::uint64_t version) {
    std::string bytes;
    append_u64(bytes, version);
    return {Family::items, std::move(key), std::move(bytes)};
}

struct Checked {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    etcd::Layout layout{"/rocklock/"};
    TemporaryDirectory directory;
    std::shared_ptr<etcd::Copy> copy = etcd::Copy::open("", clock).value();
    std::unique_ptr<Storage> store;
    std::unique_ptr<etcd::Client> client = cluster.connect("checker");

    void open() {
        EtcdOptions options;
        options.copy = copy;
        options.compaction_period = 0ms;
        store = etcd::open_storage(cluster.connect("a"), "/rocklock/", clock, options).value();
        for (int i = 0; i < 100; ++i) commit({item("k" + std::to_string(100 + i), 1)});
    }
    void commit(std::vector<Write> writes) const {
        Batch batch;
        batch.writes = std::move(writes);
        store->commit(std::move(batch)).value();
    }
    etcd::CopyCheck check() { return etcd::check_copy(*client, layout, *copy).value(); }
    // Changes the copy without etcd.
    void damage(Write write) { copy->add({std::move(write)}).value(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_check_of_a_copy, Checked)

// The manager compacts etcd at a revision after the last commit.
BOOST_AUTO_TEST_CASE(is_possible_after_the_revision_of_the_copy_was_compacted) {
    open();
    etcd::Txn other;
    other.success.emplace_back(etcd::Put{"another key", "value"});
    const auto later = client->txn(other, 1s).value().header.revision;
    client->compact(later, 1s).value();
    BOOST_TEST((copy->snapshot().position.revision < later));
    const auto result = check();
    BOOST_TEST(result.differences == 0U);
    BOOST_TEST(result.values >= 100U);
    BOOST_TEST((result.revision >= later));
    damage(item("k100", 2));
    BOOST_TEST(check().differences == 1U);
}

BOOST_AUTO_TEST_CASE(finds_no_difference_in_a_copy_in_memory_and_on_disk) {
    for (const auto& place : {std::string(), directory / "n"}) {
        copy = etcd::Copy::open(place, clock).value();
        open();
        const auto result = check();
        BOOST_TEST(result.differences == 0U);
        BOOST_TEST(result.examples.empty());
        // The items, and the records of the store itself.
        BOOST_TEST(result.values >= 100U);
        BOOST_TEST(result.revision == cluster.history_of(layout.commit()).back().kv.mod_revision);
        store->close().value();
        store.reset();
    }
}

BOOST_AUTO_TEST_CASE(reports_each_kind_of_difference) {
    open();
    const auto sound = check();
    damage({Family::items, "k150", std::nullopt});
    damage(item("k160", 2));
    damage(item("k1605", 1));
    damage({Family::history, "end", std::string(8, '\0')});
    const auto result = check();
    BOOST_TEST(result.values == sound.values);
    BOOST_TEST(result.differences == 4U);
    BOOST_REQUIRE(result.examples.size() == 4U);
    const std::vector<std::pair<Kind, std::string>> expected = {{Kind::missing, "k150"},
                                                                {Kind::changed, "k160"},
                                                                {Kind::surplus, "k1605"},
                                                                {Kind::surplus, "end"}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        BOOST_TEST((result.examples[i].kind == expected[i].first));
        BOOST_TEST(result.examples[i].key == expected[i].second);
    }
    BOOST_TEST((result.examples[3].family == Family::history));
}

BOOST_AUTO_TEST_CASE(reports_keys_of_other_programs) {
    open();
    const auto sound = check();
    const auto other = cluster.connect("other");
    etcd::Txn txn;
    const std::vector<std::string> keys = {"/rocklock/commits", "/rocklock/d/zfoo",
                                           "/rocklock/foreign", "/rocklock/nodes"};
    for (const auto& key : keys) txn.success.emplace_back(etcd::Put{key, "x"});
    // These are not below the prefix.
    txn.success.emplace_back(etcd::Put{"/rocklocks", "x"});
    txn.success.emplace_back(etcd::Put{"/rocklock", "x"});
    BOOST_TEST(other->txn(txn, 1s).value().succeeded);
    const auto result = check();
    BOOST_TEST(result.values == sound.values);
    BOOST_TEST(sound.differences == 0U);
    BOOST_TEST_REQUIRE(result.examples.size() == keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        BOOST_TEST((result.examples[i].kind == Kind::foreign));
        BOOST_TEST(result.examples[i].key == keys[i]);
    }
}

BOOST_AUTO_TEST_CASE(returns_a_limited_number_of_examples) {
    open();
    for (int i = 0; i < 30; ++i) damage({Family::items, "k" + std::to_string(100 + i), {}});
    const auto result = check();
    BOOST_TEST(result.differences == 30U);
    BOOST_TEST(result.examples.size() == etcd::CopyCheck::max_examples);
}

BOOST_AUTO_TEST_CASE(is_not_disturbed_by_commits) {
    open();
    std::atomic<bool> stopped = false;
    std::thread writer([&] {
        for (std::uint64_t i = 2; !stopped; ++i) {
            // Larger than one transaction, so that it has several commits.
            std::vector<Write> writes;
            for (int k = 0; k < 300; ++k) writes.push_back(item("k" + std::to_string(k), i));
            commit(std::move(writes));
        }
    });
    etcd::ReadSettings settings;
    settings.page_keys = 7;
    for (int i = 0; i < 20; ++i) {
        const auto result = etcd::check_copy(*client, layout, *copy, settings).value();
        BOOST_TEST(result.differences == 0U);
    }
    stopped = true;
    writer.join();
}

BOOST_AUTO_TEST_CASE(begins_again_if_the_revision_was_compacted) {
    open();
    // The copy of a standby that has not applied the last commits.
    const auto behind = etcd::Copy::open("", clock).value();
    etcd::CopyPosition position = copy->position();
    position.revision = 1;
    position.commit = "an earlier commit";
    behind->write({}, position).value();
    client->compact(cluster.revision(), 1s).value();
    const auto refused = etcd::check_copy(*client, layout, *behind);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::precondition_failed));

    BOOST_TEST(check().differences == 0U);
}

BOOST_AUTO_TEST_CASE(can_be_stopped) {
    open();
    std::stop_source stop;
    stop.request_stop();
    etcd::ReadSettings settings;
    settings.stop = stop.get_token();
    const auto stopped = etcd::check_copy(*client, layout, *copy, settings);
    BOOST_REQUIRE(!stopped);
    BOOST_TEST((stopped.error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
