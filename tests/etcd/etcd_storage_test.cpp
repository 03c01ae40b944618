// A store on etcd: commits with an unknown outcome, changes of the manager, and large batches. The
// contract of storage is tested in tests/storage.
#include "storage/etcd/etcd_storage.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/storage/etcd.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "etcd/chain.hpp"
#include "storage/etcd/client/url.hpp"
#include "storage/etcd/copy/load_copy.hpp"
#include "storage/etcd/lead_record.hpp"
#include "storage/etcd/stage.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

std::string value(std::uint64_t version, std::string_view text = "") {
    std::string bytes;
    append_u64(bytes, version);
    bytes += text;
    return bytes;
}

Batch put(std::string key, std::string bytes) {
    Batch batch;
    batch.writes.push_back({Family::items, std::move(key), std::move(bytes)});
    return batch;
}

struct Fixture {
    SimulatedClock clock;
    FakeCluster cluster{clock};

    Result<std::unique_ptr<Storage>> try_open(const std::string& node,
                                              std::chrono::milliseconds lead_timeout = 0ms) {
        EtcdOptions options;
        options.node = node;
        options.address = node + ".example:7000";
        options.lead_timeout = lead_timeout;
        options.timeout = 300ms;
        return etcd::open_storage(cluster.connect(node), "/rocklock/", clock, options);
    }
    std::unique_ptr<Storage> open(const std::string& node = "a") { return try_open(node).value(); }
    // Ends the lease of the manager, as etcd does if the manager is paused.
    void end_leases() {
        for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    }
    void fail_next(EtcdFault fault, const std::string& node = "a", unsigned count = 1) {
        cluster.node(node).fail_next({fault, EtcdRequest::txn}, count);
    }
    void check_chain() {
        const auto problem = chain_problem(cluster);
        BOOST_TEST(!problem, problem.value_or(""));
    }
};

std::string read(const Storage& storage, std::string_view key) {
    const auto found = storage.get(Family::items, key).value();
    return found ? found->substr(8) : "absent";
}

ErrorCode failure_of(const Result<void>& result) {
    BOOST_REQUIRE(!result);
    return result.error().code;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_store_on_etcd, Fixture)

BOOST_AUTO_TEST_CASE(has_its_values_after_it_was_opened_again) {
    auto first = open("a");
    for (int i = 0; i < 300; ++i) {
        first->commit(put("k" + std::to_string(i), value(1, std::to_string(i)))).value();
    }
    first->close().value();
    first.reset();
    const auto second = open("b");
    BOOST_TEST(read(*second, "k0") == "0");
    BOOST_TEST(read(*second, "k299") == "299");
    second->commit(put("k0", value(2, "new"))).value();
    BOOST_TEST(read(*second, "k0") == "new");
    check_chain();
}

BOOST_AUTO_TEST_CASE(is_opened_by_one_node_at_a_time) {
    const auto first = open("a");
    const auto second = try_open("b");
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::store_in_use));
    BOOST_TEST(second.error().message.find("the node a is the manager") != std::string::npos);
    BOOST_REQUIRE(second.error().manager);
    BOOST_TEST(second.error().manager->name == "a");
    BOOST_TEST(second.error().manager->address == "a.example:7000");
    BOOST_TEST(cluster.leases().size() == 1U);
}

BOOST_AUTO_TEST_CASE(is_opened_by_a_waiting_node_when_the_manager_closes_it) {
    auto first = open("a");
    first->commit(put("k", value(1, "one"))).value();
    std::unique_ptr<Storage> second;
    std::thread waiting([&] { second = try_open("b", 30s).value(); });
    first->close().value();
    waiting.join();
    BOOST_TEST(read(*second, "k") == "one");
    BOOST_TEST((first->commit(put("k", value(2))).error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_CASE(is_not_changed_by_a_manager_that_was_replaced) {
    // The renewal of the lease must not notice the replacement first.
    cluster.node("a").fail_next({EtcdFault::unreachable, EtcdRequest::keep_alive}, 1000);
    const auto first = open("a");
    first->commit(put("k", value(1, "one"))).value();
    end_leases();
    const auto second = open("b");
    second->commit(put("k", value(2, "two"))).value();

    const auto refused = first->commit(put("k", value(3, "stale")));
    BOOST_TEST((failure_of(refused) == ErrorCode::not_the_manager));
    BOOST_REQUIRE(refused.error().manager);
    BOOST_TEST(refused.error().manager->name == "b");
    BOOST_TEST((first->failure()->code == ErrorCode::not_the_manager));
    BOOST_TEST(read(*second, "k") == "two");
    BOOST_TEST(read(*first, "k") == "one");
    check_chain();
}

BOOST_AUTO_TEST_CASE(is_not_changed_by_a_replaced_manager_before_the_next_one_writes) {
    const auto first = open("a");
    end_leases();
    BOOST_TEST((failure_of(first->commit(put("k", value(1)))) == ErrorCode::not_the_manager));
    const auto second = open("b");
    BOOST_TEST(read(*second, "k") == "absent");
    check_chain();
}

BOOST_AUTO_TEST_CASE(confirms_only_while_it_is_open_here) {
    const auto first = open("a");
    BOOST_TEST(first->must_confirm());
    BOOST_TEST(first->confirm().has_value());
    end_leases();
    const auto second = open("b");
    BOOST_TEST((failure_of(first->confirm()) == ErrorCode::not_the_manager));
    BOOST_TEST(second->confirm().has_value());
}

BOOST_AUTO_TEST_CASE(makes_no_commit_for_a_confirmation) {
    const auto store = open();
    const auto before = cluster.revision();
    BOOST_TEST(store->confirm().has_value());
    BOOST_TEST(cluster.revision() == before);
}

// The leader of a write returns before it has written what was deferred meanwhile.
BOOST_AUTO_TEST_CASE(writes_deferred_batches_without_another_commit) {
    const auto store = open();
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> ended = false;
        std::thread other([&] {
            for (int i = 0; i < 500; ++i) {
                ROCKLOCK_ASSERT(store->commit(put("durable", value(1))).has_value());
            }
            ended = true;
        });
        CommitNumber last = 0;
        while (!ended) {
            last = store->enqueue(put("deferred", value(1)), Durability::deferred);
            BOOST_TEST(store->wait(last, Durability::deferred).has_value());
            // The queue must not grow without limit.
            std::this_thread::sleep_for(20us);
        }
        other.join();
        const auto until = std::chrono::steady_clock::now() + 10s;
        while (!store->done(last, Durability::written) &&
               std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(1ms);
        }
        BOOST_TEST(store->done(last, Durability::written));
    }
    check_chain();
}

BOOST_AUTO_TEST_CASE(commits_once_if_an_answer_is_lost) {
    const auto store = open();
    fail_next(EtcdFault::answer_lost);
    store->commit(put("k", value(1, "one"))).value();
    BOOST_TEST(read(*store, "k") == "one");
    store->commit(put("k", value(2, "two"))).value();
    check_chain();
}

BOOST_AUTO_TEST_CASE(commits_once_if_a_request_is_lost) {
    const auto store = open();
    fail_next(EtcdFault::request_lost);
    store->commit(put("k", value(1, "one"))).value();
    fail_next(EtcdFault::unreachable);
    store->commit(put("k", value(2, "two"))).value();
    BOOST_TEST(read(*store, "k") == "two");
    check_chain();
}

BOOST_AUTO_TEST_CASE(commits_once_if_a_request_is_executed_late_or_twice) {
    const auto store = open();
    fail_next(EtcdFault::applied_late);
    store->commit(put("k", value(1, "one"))).value();
    fail_next(EtcdFault::duplicated);
    store->commit(put("k", value(2, "two"))).value();
    store->commit(put("k", value(3, "three"))).value();
    BOOST_TEST(cluster.late_requests() == 2U);
    cluster.apply_late();
    BOOST_TEST((cluster.value("/rocklock/d/ik") == value(3, "three")));
    store->commit(put("k", value(4, "four"))).value();
    check_chain();
}

BOOST_AUTO_TEST_CASE(may_have_made_the_last_commit_of_a_manager_that_was_replaced) {
    auto first = open("a");
    // The commit is executed, but the manager learns only that it was replaced.
    fail_next(EtcdFault::answer_lost);
    cluster.node("a").fail_next({EtcdFault::request_lost, EtcdRequest::txn}, 1000);
    BOOST_TEST((failure_of(first->commit(put("k", value(1, "one")))) == ErrorCode::indeterminate));
    end_leases();
    const auto second = open("b");
    BOOST_TEST(read(*second, "k") == "one");
    BOOST_TEST(read(*first, "k") == "absent");
    check_chain();
}

BOOST_AUTO_TEST_CASE(fails_if_etcd_does_not_answer_in_time) {
    const auto store = open();
    store->commit(put("k", value(1, "one"))).value();
    cluster.node("a").cut(EtcdCut::refused);
    const auto failed = store->commit(put("k", value(2, "two")));
    BOOST_TEST((failure_of(failed) == ErrorCode::indeterminate));
    BOOST_TEST(failed.error().message.find("300 ms") != std::string::npos);
    cluster.node("a").heal();
    BOOST_TEST((failure_of(store->commit(put("k", value(3)))) == ErrorCode::indeterminate));
    BOOST_TEST(read(*store, "k") == "one");
}

BOOST_AUTO_TEST_CASE(fails_if_another_program_changes_its_keys) {
    const auto store = open();
    const auto other = cluster.connect("other");
    other->txn({{}, {etcd::Put{"/rocklock/commit", "x"}}, {}}, 1s).value();
    BOOST_TEST((failure_of(store->commit(put("k", value(1)))) == ErrorCode::corrupt));
    BOOST_TEST(!store->close().has_value());
    BOOST_TEST((try_open("b").error().code == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_CASE(fails_if_the_quota_of_etcd_is_exceeded) {
    const auto store = open();
    cluster.refuse_writes(true);
    BOOST_TEST((failure_of(store->commit(put("k", value(1)))) == ErrorCode::no_space));
}

BOOST_AUTO_TEST_CASE(resigns_if_it_was_closed_and_keeps_its_lease_if_it_was_not) {
    { const auto crashed = open("a"); }
    BOOST_TEST((try_open("b").error().code == ErrorCode::store_in_use));
    clock.advance(4s);
    const auto store = open("b");
    store->close().value();
    BOOST_TEST(cluster.leases().empty());
    BOOST_TEST(!cluster.value("/rocklock/lead"));
}

BOOST_AUTO_TEST_CASE(is_opened_although_the_answer_to_the_election_is_lost) {
    fail_next(EtcdFault::answer_lost);
    const auto store = open();
    store->commit(put("k", value(1))).value();
    check_chain();
}

BOOST_AUTO_TEST_CASE(is_left_to_others_if_the_election_is_executed_late) {
    fail_next(EtcdFault::applied_late);
    BOOST_TEST((try_open("a").error().code == ErrorCode::indeterminate));
    cluster.apply_late();
    // The lease of the late election was revoked, so it has not created the key.
    const auto store = open("b");
    store->commit(put("k", value(1))).value();
    check_chain();
}

BOOST_AUTO_TEST_CASE(loses_its_manager_if_the_lease_ends) {
    const auto store = open();
    end_leases();
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (!store->failure() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(5ms);
    }
    BOOST_REQUIRE(store->failure());
    BOOST_TEST((store->failure()->code == ErrorCode::not_the_manager));
}

BOOST_AUTO_TEST_CASE(recognizes_that_a_snapshot_was_restored) {
    auto store = open();
    BOOST_TEST(!store->restored());
    store->close().value();
    cluster.set_cluster_id(4711);
    store = open();
    BOOST_TEST(store->restored());
    store->close().value();
    store = open();
    BOOST_TEST(store->restored());
    store->mark_sound().value();
    BOOST_TEST(!store->restored());
    store->close().value();
    BOOST_TEST(!open()->restored());
    check_chain();
}

BOOST_AUTO_TEST_CASE(ends_all_sessions_if_a_snapshot_was_restored) {
    {
        auto database = Database::open_on(open()).value();
        OpenSession opening;
        opening.principal = "ann";
        const auto opened = database.service().call(opening, {}).value();
        LockRequest lock;
        lock.resource = "order/42";
        Acquire acquire;
        acquire.session = std::get<SessionInfo>(opened).id;
        acquire.locks.push_back(std::move(lock));
        database.service().call(acquire, {}).value();
        BOOST_TEST(database.statistics().held == 1U);
        database.close().value();
    }
    {
        auto database = Database::open_on(open()).value();
        BOOST_TEST(database.statistics().held == 1U);
        database.close().value();
    }
    cluster.set_cluster_id(4711);
    const auto database = Database::open_on(open()).value();
    BOOST_TEST(database.statistics().held == 0U);
    BOOST_TEST(database.statistics().sessions == 0U);
}

// A release is answered before its commit, but not if the answer comes from the history.
BOOST_AUTO_TEST_CASE(confirms_what_it_reads_from_the_history) {
    auto database = Database::open_on(open("a")).value();
    OpenSession opening;
    opening.principal = "ann";
    const auto opened = database.service().call(opening, {}).value();
    const CloseSession closing{std::get<SessionInfo>(opened).id};
    database.service().call(closing, {}).value();
    const auto closed = database.service().call(closing, {});
    BOOST_TEST((closed.error().code == ErrorCode::session_expired));
    end_leases();
    const auto second = open("b");
    const auto refused = database.service().call(closing, {});
    BOOST_TEST((refused.error().code == ErrorCode::not_the_manager), refused.error().message);
}

BOOST_AUTO_TEST_CASE(confirms_answers_by_its_lease_only_if_that_is_chosen) {
    EtcdOptions options;
    options.lease_reads = true;
    options.timeout = 300ms;
    // The first renewal has ended when the second one begins.
    cluster.node("l").fail_next({EtcdFault::none, EtcdRequest::keep_alive}, 2);
    const auto store =
        etcd::open_storage(cluster.connect("l"), "/rocklock/", clock, options).value();
    while (cluster.node("l").planned() > 0) std::this_thread::sleep_for(10ms);
    cluster.node("l").fail_next({EtcdFault::io_error, EtcdRequest::range}, 1'000);
    store->confirm().value();
    // After the lease, only etcd can confirm it.
    clock.advance(5s);
    BOOST_TEST(!store->confirm());

    end_leases();
    const auto careful = open("c");
    cluster.node("c").fail_next({EtcdFault::io_error, EtcdRequest::range}, 1'000);
    BOOST_TEST(!careful->confirm());
}

BOOST_AUTO_TEST_CASE(is_loaded_in_pages) {
    auto store = open();
    for (int i = 0; i < 400; ++i) {
        const auto number = std::to_string(i * 7919 % 1000);
        store->commit(put(number, value(1, number))).value();
        store->commit(put(std::string(3, static_cast<char>(i)) + "\xff\xff" + number, value(1)))
            .value();
    }
    store->commit(put(std::string(1, '\0'), value(1))).value();
    const auto copy_of = [&](std::int64_t page_keys) {
        const auto copy = etcd::Copy::open("", clock).value();
        const auto client = cluster.connect("loader");
        const etcd::Layout layout("/rocklock/");
        etcd::ReadSettings settings;
        settings.page_keys = page_keys;
        const etcd::CopyPosition position{1, "/rocklock/", cluster.revision(), {}};
        etcd::load_copy(*client, layout, position, *copy, settings).value();
        std::string all;
        const auto snapshot = copy->storage().snapshot();
        for (const auto family : {Family::meta, Family::items}) {
            for (auto at = snapshot->scan(family, "", ""); at->valid(); at->next()) {
                all.append(at->key()).append("=").append(at->value()).append(";");
            }
        }
        return all;
    };
    const auto expected = copy_of(10'000);
    BOOST_TEST(expected.size() > 10'000U);
    for (const std::int64_t page_keys : {1, 2, 3, 7, 100}) {
        BOOST_TEST((copy_of(page_keys) == expected));
    }
}

BOOST_AUTO_TEST_CASE(is_created_only_if_that_is_allowed) {
    EtcdOptions options;
    options.create_if_missing = false;
    const auto open_existing = [&] {
        return etcd::open_storage(cluster.connect("a"), "/rocklock/", clock, options);
    };
    BOOST_TEST((open_existing().error().code == ErrorCode::not_a_store));
    BOOST_TEST(!cluster.value("/rocklock/lead"));
    BOOST_TEST(!cluster.value("/rocklock/commit"));
    open()->close().value();
    BOOST_TEST(open_existing().has_value());
}

BOOST_AUTO_TEST_CASE(has_several_stores_with_different_prefixes) {
    const auto first = open("a");
    const auto second =
        etcd::open_storage(cluster.connect("b"), "/other/", clock, EtcdOptions{}).value();
    first->commit(put("k", value(1, "first"))).value();
    second->commit(put("k", value(1, "second"))).value();
    BOOST_TEST(read(*first, "k") == "first");
    BOOST_TEST(read(*second, "k") == "second");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_large_batch_on_etcd, Fixture)

Batch large_batch(std::size_t writes, std::size_t bytes, std::uint64_t version = 1) {
    Batch batch;
    for (std::size_t i = 0; i < writes; ++i) {
        batch.writes.push_back(
            {Family::items, "k" + std::to_string(i), value(version, std::string(bytes, 'x'))});
    }
    return batch;
}

BOOST_AUTO_TEST_CASE(is_committed_completely) {
    auto store = open("a");
    store->commit(large_batch(127, 10)).value();
    store->commit(large_batch(128, 20)).value();
    store->commit(large_batch(1'000, 30)).value();
    store->commit(large_batch(4, 400'000)).value();
    BOOST_TEST(read(*store, "k999").size() == 30U);
    BOOST_TEST(read(*store, "k3").size() == 400'000U);
    auto removal = put("k1", value(9, "kept"));
    for (int i = 2; i < 300; ++i) {
        removal.writes.push_back({Family::items, "k" + std::to_string(i), std::nullopt});
    }
    store->commit(std::move(removal)).value();
    store->close().value();
    store = open("b");
    BOOST_TEST(read(*store, "k1") == "kept");
    BOOST_TEST(read(*store, "k2") == "absent");
    BOOST_TEST(read(*store, "k300").size() == 30U);
    BOOST_TEST(!cluster.value(etcd::Layout("/rocklock/").part(1, 0)));
    check_chain();
}

// The manager loses its connection to etcd before each of the transactions of the batch. The next
// manager has either all writes of the batch or none.
BOOST_AUTO_TEST_CASE(is_atomic_if_the_manager_ends_at_any_time) {
    bool was_absent = false;
    bool was_complete = false;
    for (unsigned executed = 0; executed < 12; ++executed) {
        SimulatedClock world_clock;
        FakeCluster world{world_clock};
        EtcdOptions options;
        options.timeout = 20ms;
        const auto first =
            etcd::open_storage(world.connect("a"), "/rocklock/", world_clock, options).value();
        first->commit(large_batch(300, 8'000, 1)).value();
        const auto before = world.transactions();
        // Three parts, and three transactions that apply the batch.
        const auto batch = large_batch(310, 9'000, 2);
        const auto plan = [&](EtcdFault fault, unsigned count) {
            world.node("a").fail_next({fault, EtcdRequest::txn}, count);
        };
        plan(EtcdFault::none, executed);
        plan(EtcdFault::request_lost, 1'000);
        [[maybe_unused]] const auto done = first->commit(batch);
        BOOST_TEST(world.transactions() <= before + 12);
        for (const auto lease : world.leases()) world.end_lease(lease).value();
        const auto second =
            etcd::open_storage(world.connect("b"), "/rocklock/", world_clock, options).value();
        const auto snapshot = second->snapshot();
        std::size_t old_values = 0;
        std::size_t new_values = 0;
        for (auto at = snapshot->scan(Family::items, "", ""); at->valid(); at->next()) {
            ++(version_of(at->value()) == 1 ? old_values : new_values);
        }
        if (old_values == 300 && new_values == 0)
            was_absent = true;
        else if (old_values == 0 && new_values == 310)
            was_complete = true;
        else
            BOOST_ERROR("torn after " << executed << " transactions: " << old_values << " old, "
                                      << new_values << " new");
        second->commit(put("later", value(3))).value();
        const auto problem = chain_problem(world);
        BOOST_TEST(!problem, problem.value_or(""));
    }
    BOOST_TEST(was_absent);
    BOOST_TEST(was_complete);
}

BOOST_AUTO_TEST_CASE(can_be_decoded_from_its_parts) {
    std::vector<etcd::Operation> operations;
    operations.emplace_back(etcd::Put{"a", std::string(3 << 20, 'x')});
    operations.emplace_back(etcd::DeleteRange{"b", {}});
    const auto parts = etcd::encode_parts(operations);
    BOOST_TEST(parts.size() == 4U);
    std::string all;
    for (const auto& part : parts) all += part;
    const auto decoded = etcd::decode_parts(all);
    BOOST_REQUIRE(decoded);
    BOOST_TEST(decoded->size() == 2U);
    BOOST_TEST(std::get<etcd::Put>((*decoded)[0]).value.size() == std::size_t{3} << 20);
    BOOST_TEST(std::get<etcd::DeleteRange>((*decoded)[1]).key == "b");
    all.pop_back();
    BOOST_TEST(!etcd::decode_parts(all));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_url_of_a_store_on_etcd)

BOOST_AUTO_TEST_CASE(names_the_members_the_prefix_and_tls) {
    const auto url = etcd::parse_url("etcd://a:1,[::1]:2379/one/two?tls").value();
    BOOST_TEST((url.endpoints == std::vector<std::string>{"a:1", "[::1]:2379"}));
    BOOST_TEST(url.prefix == "/one/two/");
    BOOST_TEST(url.tls);
    for (const auto* const text : {"etcd://a:1", "etcd://a:1/"}) {
        BOOST_TEST(etcd::parse_url(text).value().prefix == "/rocklock/");
        BOOST_TEST(!etcd::parse_url(text).value().tls);
    }
}

BOOST_AUTO_TEST_CASE(is_refused_if_it_is_invalid) {
    for (const auto* const text :
         {"etcd://", "etcd:///p", "tcp://a:1", "etcd://a", "etcd://a:0", "etcd://a:65536",
          "etcd://a:1,", "etcd://a:1//p", "etcd://a:1/p?x", "etcd://::1:2379", "etcd://u@a:1"}) {
        const auto url = etcd::parse_url(text);
        BOOST_REQUIRE_MESSAGE(!url, text);
        BOOST_TEST((url.error().code == ErrorCode::invalid_argument));
        BOOST_TEST(url.error().message.find("write etcd://HOST:PORT") != std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_record_of_a_manager)

BOOST_AUTO_TEST_CASE(can_be_decoded) {
    etcd::LeadRecord record{"web \"1\"", "web1:7000", 4711, true, WallTime(1s)};
    BOOST_TEST((etcd::decode_lead(etcd::encode(record)) == record));
    BOOST_TEST((etcd::decode_lead("{\"node\": 3, \"pid\": \"x\"") == etcd::LeadRecord()));
    BOOST_TEST((etcd::decode_lead("[]") == etcd::LeadRecord()));
    BOOST_TEST((etcd::decode_lead("{\"node\":\"n\",\"pid\":\"x\"}").node == "n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
