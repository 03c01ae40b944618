// Copies of a store on etcd: on disk, kept current by a follower, and taken over by a manager.
#include "storage/etcd/copy/copy.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/etcd/copy/apply_changes.hpp"
#include "storage/etcd/copy/catch_up.hpp"
#include "storage/etcd/copy/follower.hpp"
#include "storage/etcd/copy/load_copy.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "support/fake_etcd.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

std::string bytes_of(std::uint64_t version, std::string_view text) {
    std::string bytes;
    append_u64(bytes, version);
    bytes += text;
    return bytes;
}

Write written(std::string key, std::uint64_t version, std::string_view text = "") {
    return {Family::items, std::move(key), bytes_of(version, text)};
}

Write deleted(std::string key) { return {Family::items, std::move(key), std::nullopt}; }

void commit(Storage& store, std::vector<Write> writes) {
    Batch batch;
    batch.writes = std::move(writes);
    store.commit(std::move(batch)).value();
}

struct Copies {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    etcd::Layout layout{"/rocklock/"};
    TemporaryDirectory directory;

    std::shared_ptr<etcd::Copy> on_disk() {
        return etcd::Copy::open(directory / "n", clock).value();
    }
    std::shared_ptr<etcd::Copy> in_memory() { return etcd::Copy::open("", clock).value(); }

    Result<std::unique_ptr<Storage>> try_open(const std::string& node,
                                              std::shared_ptr<etcd::Copy> copy) {
        EtcdOptions options;
        options.node = node;
        options.timeout = 300ms;
        options.copy = std::move(copy);
        return etcd::open_storage(cluster.connect(node), "/rocklock/", clock, options);
    }
    std::unique_ptr<Storage> open(const std::string& node,
                                  std::shared_ptr<etcd::Copy> copy = nullptr) {
        return try_open(node, std::move(copy)).value();
    }
    void end_leases() {
        for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    }

    // The values of a copy, without the record of its position.
    static std::string contents(const Storage& store) {
        std::string all;
        const auto snapshot = store.snapshot();
        for (int i = 0; i < family_count; ++i) {
            for (auto at = snapshot->scan(static_cast<Family>(i), "", ""); at->valid();
                 at->next()) {
                if (at->key() == copy_key) continue;
                all.append(std::to_string(i)).append(at->key()).append("=");
                all.append(at->value()).append(";");
            }
        }
        return all;
    }
    // The values that etcd has now.
    std::string contents_of_etcd() {
        const auto copy = in_memory();
        const auto client = cluster.connect("reader");
        etcd::load_copy(*client, layout, {1, "/rocklock/", cluster.revision(), {}}, *copy).value();
        return contents(copy->storage());
    }
    void check_same(const etcd::Copy& copy) {
        const auto found = contents(copy.storage());
        const auto expected = contents_of_etcd();
        BOOST_TEST((found == expected));
    }

    // Applies changes to the copy until it has seen all that etcd has now.
    void follow(const std::string& node, const std::shared_ptr<etcd::Copy>& copy) {
        const auto client = cluster.connect(node);
        etcd::Follower follower(*client, layout, copy);
        const auto commits = cluster.history_of(layout.commit());
        const auto last = commits.empty() ? 0 : commits.back().kv.mod_revision;
        std::jthread following([&](const std::stop_token& stop) { follower.follow(stop).value(); });
        for (int i = 0; i < 3'000 && copy->revision() < last; ++i) {
            std::this_thread::sleep_for(10ms);
        }
        BOOST_TEST(copy->revision() >= last);
    }
    // Returns whether the store can be opened with the copy without reading values from etcd.
    bool opens_without_loading(const std::string& node, const std::shared_ptr<etcd::Copy>& copy) {
        // The election reads one key.
        cluster.node(node).fail_next({EtcdFault::none, EtcdRequest::range});
        cluster.node(node).fail_next({EtcdFault::io_error, EtcdRequest::range}, 100'000);
        const auto opened = try_open(node, copy);
        return opened.has_value();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_copy_of_a_store_on_etcd, Copies)

BOOST_AUTO_TEST_CASE(on_disk_is_current_when_the_store_is_opened_again) {
    {
        const auto store = open("a", on_disk());
        for (int i = 0; i < 500; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
        commit(*store, {deleted("k7"), written("k8", 2)});
        store->close().value();
    }
    const auto copy = on_disk();
    check_same(*copy);
    BOOST_TEST(opens_without_loading("b", copy));
    BOOST_TEST(!opens_without_loading("c", in_memory()));
    check_same(*copy);
}

BOOST_AUTO_TEST_CASE(that_follows_is_taken_over_without_loading) {
    const auto copy = in_memory();
    auto store = open("a");
    follow("b", copy);
    for (int i = 0; i < 300; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
    commit(*store, {deleted("k7")});
    follow("b", copy);
    check_same(*copy);
    end_leases();
    BOOST_TEST(opens_without_loading("d", copy));
    check_same(*copy);
}

// For example, if the URL contains the address of another cluster.
BOOST_AUTO_TEST_CASE(is_not_replaced_by_an_empty_store_in_another_cluster) {
    const auto copy = on_disk();
    open("a", copy)->close().value();
    FakeCluster other(clock, {}, 4711);
    const auto open_in_other = [&] {
        EtcdOptions options;
        options.copy = copy;
        return etcd::open_storage(other.connect("a"), "/rocklock/", clock, options);
    };
    const auto refused = open_in_other();
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::unreachable));
    BOOST_TEST(refused.error().message.find("check the addresses") != std::string::npos);
    BOOST_TEST(!other.value(layout.commit()));
    BOOST_TEST(!other.value(layout.lead()));
    // The node continues when it finds its store again.
    open("a", copy)->close().value();
}

// Otherwise, locks that are held could be granted again.
BOOST_AUTO_TEST_CASE(is_not_replaced_by_an_empty_store_if_the_keys_were_deleted) {
    const auto client = cluster.connect("admin");
    const auto refused = [&](const std::string& node, const std::shared_ptr<etcd::Copy>& copy) {
        const auto opened = try_open(node, copy);
        BOOST_REQUIRE(!opened);
        BOOST_TEST((opened.error().code == ErrorCode::corrupt));
        BOOST_TEST(opened.error().message.find("restore a backup") != std::string::npos);
        BOOST_TEST(!cluster.value(layout.commit()));
        end_leases();
    };
    const auto copy = on_disk();
    {
        auto store = open("a", copy);
        commit(*store, {written("k", 1)});
    }
    // A standby whose copy follows the store while its keys are deleted.
    const auto standby = in_memory();
    follow("b", standby);
    end_leases();
    const auto before = standby->position();
    etcd::Txn deletion;
    deletion.success.emplace_back(etcd::DeleteRange{layout.commit(), {}});
    BOOST_TEST(client->txn(deletion, 1s).value().succeeded);
    etcd::Follower follower(*client, layout, standby);
    const auto followed = follower.follow({});
    BOOST_REQUIRE(!followed);
    BOOST_TEST((followed.error().code == ErrorCode::corrupt));
    BOOST_TEST((standby->position() == before));
    refused("b", standby);
    refused("a", copy);
    // There are still values.
    refused("new", nullptr);
    deletion.success.emplace_back(
        etcd::DeleteRange{layout.prefix(), etcd::end_of_prefix(layout.prefix())});
    deletion.success.erase(deletion.success.begin());
    BOOST_TEST(client->txn(deletion, 1s).value().succeeded);
    refused("a", copy);
    refused("b", standby);
    // A new store below the prefix, for example a restored backup, replaces that of the copies.
    commit(*open("new"), {written("restored", 1)});
    end_leases();
    follow("b", standby);
    check_same(*standby);
    open("a", copy)->close().value();
    check_same(*copy);
}

// The history of the deletion is compacted, so that the follower would have to load the copy again.
BOOST_AUTO_TEST_CASE(is_kept_if_the_store_is_gone_and_the_history_is_compacted) {
    const auto standby = in_memory();
    {
        auto store = open("a");
        commit(*store, {written("k", 1)});
    }
    follow("b", standby);
    end_leases();
    const auto before = standby->position();
    const auto client = cluster.connect("admin");
    etcd::Txn deletion;
    deletion.success.emplace_back(
        etcd::DeleteRange{layout.prefix(), etcd::end_of_prefix(layout.prefix())});
    BOOST_TEST(client->txn(deletion, 1s).value().succeeded);
    client->compact(cluster.revision(), 1s).value();
    etcd::Follower follower(*client, layout, standby);
    const auto followed = follower.follow({});
    BOOST_REQUIRE(!followed);
    BOOST_TEST((followed.error().code == ErrorCode::corrupt));
    BOOST_TEST((standby->position() == before));
    const auto opened = try_open("b", standby);
    BOOST_REQUIRE(!opened);
    BOOST_TEST((opened.error().code == ErrorCode::corrupt));
}

BOOST_AUTO_TEST_CASE(of_another_prefix_is_not_replaced_by_an_empty_store) {
    const auto copy = on_disk();
    open("a", copy)->close().value();
    EtcdOptions options;
    options.copy = copy;
    const auto refused = etcd::open_storage(cluster.connect("a"), "/roclock/", clock, options);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::corrupt));
    BOOST_TEST(refused.error().message.find("check the prefix") != std::string::npos);
    open("a", copy)->close().value();
}

BOOST_AUTO_TEST_CASE(is_not_loaded_further_if_the_open_is_stopped) {
    open("a")->close().value();
    std::stop_source stop;
    EtcdOptions options;
    options.stop = stop.get_token();
    stop.request_stop();
    const auto stopped = etcd::open_storage(cluster.connect("b"), "/rocklock/", clock, options);
    BOOST_REQUIRE(!stopped);
    BOOST_TEST((stopped.error().code == ErrorCode::closing));
    // Another node need not wait for a lease.
    BOOST_TEST(!cluster.value(layout.lead()));
}

BOOST_AUTO_TEST_CASE(that_is_behind_gets_the_missing_changes_at_the_takeover) {
    const auto copy = in_memory();
    const auto store = open("a");
    follow("b", copy);
    for (int i = 0; i < 50; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
    end_leases();
    const auto next = open("b", copy);
    check_same(*copy);
    commit(*next, {written("k1", 2), deleted("k2")});
    check_same(*copy);
}

BOOST_AUTO_TEST_CASE(contains_large_batches_as_a_whole_or_as_in_etcd) {
    const auto copy = on_disk();
    const auto own = in_memory();
    const auto store = open("a", own);
    follow("b", copy);
    std::vector<Write> many;
    for (int i = 0; i < 1'000; ++i) {
        many.push_back(written("k" + std::to_string(i), 1, std::string(2'000, 'x')));
    }
    commit(*store, many);
    follow("b", copy);
    check_same(*copy);
    check_same(*own);
}

BOOST_AUTO_TEST_CASE(of_a_manager_that_ends_within_a_large_batch_is_completed) {
    std::vector<Write> many;
    for (int i = 0; i < 700; ++i) {
        many.push_back(written("k" + std::to_string(i), 1, std::string(4'000, 'x')));
    }
    // The batch has parts and several transactions that apply them.
    bool completed = false;
    for (unsigned allowed = 0; !completed; ++allowed) {
        const auto copy = in_memory();
        const auto own = in_memory();
        const auto name = "a" + std::to_string(allowed);
        auto store = open(name, own);
        commit(*store, {deleted("k0"), written("x", 1)});
        follow("b", copy);
        // The manager does not get the response of one of its transactions, and then ends.
        cluster.node(name).fail_next({EtcdFault::none, EtcdRequest::txn}, allowed);
        cluster.node(name).fail_next({EtcdFault::answer_lost, EtcdRequest::txn}, 1);
        cluster.node(name).fail_next({EtcdFault::unreachable, EtcdRequest::txn}, 100'000);
        Batch batch;
        batch.writes = many;
        completed = store->commit(std::move(batch)).has_value();
        store.reset();
        end_leases();
        if (allowed % 2 == 0) follow("b", copy);
        auto next = open("b", allowed % 3 == 0 ? own : copy);
        check_same(allowed % 3 == 0 ? *own : *copy);
        next->close().value();
        // The copies of all nodes can follow afterwards.
        follow("c", own);
        check_same(*own);
        follow("c", copy);
        check_same(*copy);
    }
}

BOOST_AUTO_TEST_CASE(of_a_replaced_manager_follows_its_successor) {
    const auto own = on_disk();
    const auto first = open("a", own);
    commit(*first, {written("k", 1)});
    // The commit is made after the manager was replaced in the view of the cluster, or not at all.
    cluster.node("a").fail_next({EtcdFault::answer_lost, EtcdRequest::txn}, 1);
    cluster.node("a").fail_next({EtcdFault::unreachable, EtcdRequest::txn}, 100'000);
    Batch batch;
    batch.writes = {written("k", 2), deleted("x")};
    BOOST_TEST(!first->commit(std::move(batch)));
    end_leases();
    const auto second = open("b");
    commit(*second, {deleted("k"), written("z", 1)});
    follow("c", own);
    check_same(*own);
}

BOOST_AUTO_TEST_CASE(misses_no_deletion_that_was_compacted) {
    for (const int compacted_before : {-2, -1, 0, 1, 2}) {
        const auto copy = in_memory();
        const auto store = open("a");
        const auto k = std::to_string(compacted_before);
        for (int i = 0; i < 5; ++i) commit(*store, {written(k + std::to_string(i), 1)});
        follow("b", copy);
        const auto at = copy->position().revision;
        for (int i = 0; i < 5; ++i) commit(*store, {deleted(k + std::to_string(i))});
        cluster.compact(at + compacted_before).value();
        follow("b", copy);
        check_same(*copy);
        store->close().value();
    }
}

BOOST_AUTO_TEST_CASE(is_not_current_while_it_cannot_follow) {
    const auto store = open("a");
    commit(*store, {written("k", 1)});
    const auto copy = in_memory();
    const auto client = cluster.connect("b");
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::pair<bool, std::uint64_t>> reports;
    etcd::Follower follower(*client, layout, copy, [&](bool current) {
        const std::lock_guard lock(mutex);
        reports.emplace_back(current, copy->commit_number());
        changed.notify_all();
    });
    const std::jthread following(
        [&](const std::stop_token& stop) { follower.follow(stop).value(); });
    const auto wait_for_reports = [&](std::size_t count) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, 30s, [&] { return reports.size() >= count; });
    };
    BOOST_REQUIRE(wait_for_reports(1));
    cluster.node("b").cut(EtcdCut::refused);
    cluster.node("b").end_watches();
    BOOST_REQUIRE(wait_for_reports(2));
    // etcd compacts the changes that the copy lacks, so it must be loaded again.
    for (int i = 0; i < 5; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
    cluster.compact(cluster.revision()).value();
    cluster.node("b").heal();
    BOOST_REQUIRE(wait_for_reports(3));
    const std::lock_guard lock(mutex);
    BOOST_TEST(reports.size() == 3U);
    BOOST_TEST((reports[0].first && !reports[1].first && reports[2].first));
    BOOST_TEST(reports[2].second == reports[0].second + 5);
}

// Counts the requests, because each one takes about a millisecond.
BOOST_AUTO_TEST_CASE(is_loaded_with_few_requests) {
    const std::uint64_t far = std::uint64_t{1} << 40;
    for (const auto& [starts, count] :
         {std::pair(std::vector<std::uint64_t>{1, far, far + (1 << 20), far << 20}, 600),
          std::pair(std::vector<std::uint64_t>{1}, 30'000)}) {
        const auto prefix = "many" + std::to_string(count);
        const auto store = open("a");
        for (const auto first : starts) {
            std::vector<Write> writes;
            for (int i = 0; i < count; ++i) {
                std::string key = prefix;
                append_u64(key, first + static_cast<std::uint64_t>(i));
                writes.push_back(written(std::move(key), 1));
            }
            commit(*store, std::move(writes));
        }
        store->close().value();
        auto& node = cluster.node("reader");
        constexpr unsigned limit = 1'000'000;
        node.fail_next({EtcdFault::none, EtcdRequest::range}, limit);
        etcd::ReadSettings settings;
        settings.page_keys = count == 600 ? 500 : 10'000;
        const auto copy = in_memory();
        const auto client = cluster.connect("reader");
        etcd::load_copy(*client, layout, {1, "/rocklock/", cluster.revision(), {}}, *copy, settings)
            .value();
        BOOST_TEST(limit - node.planned() < 100);
        node.plan_none();
        const auto found = contents(copy->storage());
        std::size_t values = 0;
        for (auto at = found.find(prefix); at != std::string::npos;
             at = found.find(prefix, at + 1)) {
            ++values;
        }
        BOOST_TEST(values == starts.size() * static_cast<std::size_t>(count));
    }
}

BOOST_AUTO_TEST_CASE(is_reported_as_current_when_it_contains_all_commits) {
    const auto store = open("a");
    for (int i = 0; i < 20; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
    const auto copy = in_memory();
    follow("b", copy);
    for (int i = 0; i < 20; ++i) commit(*store, {written("k" + std::to_string(i), 2)});
    const auto last = etcd::decode_commit(cluster.history_of(layout.commit()).back().kv.value);
    // The first time, the copy applies changes; the second time, it must be loaded again, because
    // etcd has compacted them.
    for (const bool compacted : {false, true}) {
        if (compacted) {
            for (int i = 0; i < 5; ++i) commit(*store, {deleted("k" + std::to_string(i))});
            cluster.compact(cluster.revision()).value();
        }
        const auto before = copy->commit_number();
        const auto client = cluster.connect("b");
        std::promise<std::uint64_t> reported;
        etcd::Follower follower(*client, layout, copy, [&](bool current) {
            if (current) reported.set_value(copy->commit_number());
        });
        auto at = reported.get_future();
        const std::jthread following(
            [&](const std::stop_token& stop) { follower.follow(stop).value(); });
        BOOST_REQUIRE(at.wait_for(30s) == std::future_status::ready);
        const auto number = at.get();
        BOOST_TEST(number == last->number + (compacted ? 5 : 0));
        BOOST_TEST(number > before);
    }
    check_same(*copy);
}

BOOST_AUTO_TEST_CASE(is_loaded_again_if_etcd_was_restored) {
    const auto copy = on_disk();
    {
        const auto store = open("a", copy);
        commit(*store, {written("k", 1)});
        const auto snapshot = cluster.revision();
        commit(*store, {written("k", 2), written("x", 1)});
        cluster.restore(snapshot);
        cluster.set_cluster_id(4711);
        end_leases();
    }
    const auto store = open("b", copy);
    check_same(*copy);
    BOOST_TEST(!store->get(Family::items, "x").value());
}

BOOST_AUTO_TEST_CASE(is_loaded_again_if_etcd_has_other_commits) {
    const auto copy = on_disk();
    etcd::Revision snapshot = 0;
    {
        const auto store = open("a", copy);
        commit(*store, {written("k", 1)});
        snapshot = cluster.revision();
        for (int i = 0; i < 5; ++i) commit(*store, {written("x", 1)});
    }
    cluster.restore(snapshot);
    end_leases();
    const auto other = open("c");
    for (int i = 0; i < 50; ++i) commit(*other, {written("y", 1)});
    end_leases();
    const auto store = open("b", copy);
    check_same(*copy);
    BOOST_TEST(!store->get(Family::items, "x").value());
}

BOOST_AUTO_TEST_CASE(shows_that_etcd_has_lost_changes) {
    const auto copy = on_disk();
    const auto snapshot = cluster.revision();
    {
        const auto store = open("a", copy);
        commit(*store, {written("k", 1)});
    }
    end_leases();
    cluster.restore(snapshot);
    const auto refused = try_open("b", copy);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::corrupt));
    BOOST_TEST(refused.error().message.find("etcd has lost changes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(on_disk_is_not_opened_as_a_store) {
    open("a", on_disk())->close().value();
    const auto refused = open_rocksdb_storage(directory / "n/etcd-copy", clock);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::not_a_store));
    BOOST_TEST(refused.error().message.find("etcd://") != std::string::npos);
    BOOST_TEST(
        (open_rocksdb_storage(directory / "n", clock).error().code == ErrorCode::not_a_store));
}

BOOST_AUTO_TEST_CASE(is_not_kept_in_the_directory_of_a_store) {
    const auto path = directory / "n/etcd-copy";
    std::filesystem::create_directories(path);
    {
        const auto store = open_rocksdb_storage(path, clock).value();
        commit(*store, {written("k", 1)});
        store->close().value();
    }
    const auto refused = etcd::Copy::open(directory / "n", clock);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::not_a_store));
    const auto store = open_rocksdb_storage(path, clock).value();
    BOOST_TEST(store->get(Family::items, "k").value().has_value());
}

BOOST_AUTO_TEST_CASE(that_is_damaged_is_loaded_again) {
    {
        const auto store = open("a", on_disk());
        for (int i = 0; i < 100; ++i) commit(*store, {written("k" + std::to_string(i), 1)});
        store->close().value();
    }
    for (const auto& file : std::filesystem::directory_iterator(directory / "n/etcd-copy/db")) {
        if (file.path().filename().string().starts_with("MANIFEST")) {
            std::ofstream(file.path(), std::ios::trunc) << "damaged";
        }
    }
    const auto copy = on_disk();
    BOOST_TEST(copy->position().revision == 0);
    const auto store = open("b", copy);
    check_same(*copy);
}

BOOST_AUTO_TEST_CASE(is_used_by_one_process_at_a_time) {
    const auto first = on_disk();
    const auto second = etcd::Copy::open(directory / "n", clock);
    BOOST_REQUIRE(!second);
    BOOST_TEST((second.error().code == ErrorCode::store_in_use));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
