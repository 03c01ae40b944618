// Backups of a store on etcd, and backups that are restored into one.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/etcd/copy/restore.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "support/fake_etcd.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

Write numbered(std::string key, std::uint64_t version, std::size_t size = 0) {
    std::string bytes;
    append_u64(bytes, version);
    bytes.append(size, 'x');
    return {Family::items, std::move(key), std::move(bytes)};
}

void commit_all(Storage& store, std::vector<Write> writes) {
    Batch batch;
    batch.writes = std::move(writes);
    store.commit(std::move(batch)).value();
}

// All values that are not records of the store about its own place.
std::string values_of(const Storage& store) {
    std::string all;
    const auto snapshot = store.snapshot();
    for (int i = 0; i < family_count; ++i) {
        for (auto at = snapshot->scan(static_cast<Family>(i), "", ""); at->valid(); at->next()) {
            if (at->key().starts_with("etcd ") || at->key() == "mark") continue;
            all.append(std::to_string(i)).append(at->key()).append("=");
            all.append(at->value()).append(";");
        }
    }
    return all;
}

struct Backups {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    TemporaryDirectory directory;

    Result<std::unique_ptr<Storage>> try_open(const std::string& copy_directory = "",
                                              bool restoring = false) {
        EtcdOptions options;
        options.node = "n";
        options.timeout = 300ms;
        options.compaction_period = 0ms;
        options.copy_directory = copy_directory;
        options.restoring = restoring;
        return etcd::open_storage(cluster.connect("n"), "/rocklock/", clock, options);
    }
    std::unique_ptr<Storage> open(const std::string& copy_directory = "") {
        return try_open(copy_directory).value();
    }
    std::unique_ptr<Storage> open_backup(const std::string& path) {
        RocksdbOptions options;
        options.create_if_missing = false;
        return open_rocksdb_storage(path, clock, options).value();
    }
    // A store on disk with values of different sizes, and with the marks of a backup.
    std::unique_ptr<Storage> local() {
        auto store = open_rocksdb_storage(directory / "local", clock).value();
        for (int i = 0; i < 700; ++i) {
            const auto size = static_cast<std::size_t>(i) * 37 % 5'000;
            commit_all(*store, {numbered("k" + std::to_string(i), 1, size)});
        }
        commit_all(*store, {numbered("large", 1, 400'000), numbered("larger", 1, 410'000)});
        return store;
    }
    Result<void> restore(Storage& target, const Storage& source) {
        return etcd::restore_values(*source.snapshot(), target, {mark()}, {});
    }
    static Write mark() { return {Family::meta, "mark", std::string(8, '\1')}; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_backup, Backups)

BOOST_AUTO_TEST_CASE(of_a_store_on_etcd_is_a_store_on_disk) {
    for (const auto& copy : {std::string(), directory / "n"}) {
        const auto target = directory / ("backup of " + std::string(copy.empty() ? "m" : "d"));
        std::string expected;
        {
            const auto store = open(copy);
            // More than one batch of RocksDB.
            for (int i = 0; i < 10; ++i) {
                commit_all(*store, {numbered("k" + std::to_string(i), 1, 300'000)});
            }
            expected = values_of(*store);
            store->copy_to(target, {mark()}).value();
            // Not part of the backup.
            commit_all(*store, {numbered("late", 1)});
            store->close().value();
        }
        const auto backup = open_backup(target);
        BOOST_TEST((values_of(*backup) == expected));
        BOOST_TEST(backup->get(Family::meta, "mark").value().has_value());
        BOOST_TEST(!backup->get(Family::meta, copy_key).value().has_value());
        BOOST_TEST(!backup->get(Family::meta, "etcd origin").value().has_value());
        commit_all(*backup, {numbered("new", 1)});
    }
}

BOOST_AUTO_TEST_CASE(is_not_made_by_a_manager_that_was_replaced) {
    const auto store = open();
    for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    const auto successor = open();
    const auto made = store->copy_to(directory / "backup", {});
    BOOST_REQUIRE(!made);
    BOOST_TEST((made.error().code == ErrorCode::not_the_manager));
    RocksdbOptions options;
    options.create_if_missing = false;
    BOOST_TEST(!open_rocksdb_storage(directory / "backup", clock, options));
}

BOOST_AUTO_TEST_CASE(is_restored_into_an_empty_store) {
    const auto source = local();
    std::uint64_t last = 0;
    std::uint64_t total = 0;
    {
        const auto target = try_open("", true).value();
        etcd::restore_values(*source->snapshot(), *target, {mark()},
                             [&](std::uint64_t done, std::uint64_t whole) {
                                 BOOST_TEST(done == last + 1);
                                 last = done;
                                 total = whole;
                             })
            .value();
        target->close().value();
    }
    BOOST_TEST(last == total);
    BOOST_TEST(total >= 702U);
    const auto store = open();
    BOOST_TEST((values_of(*store) == values_of(*source)));
    BOOST_TEST(store->get(Family::meta, "mark").value().has_value());
    BOOST_TEST(!store->get(Family::meta, etcd::restore_key).value().has_value());
    BOOST_TEST(store->restored());
}

BOOST_AUTO_TEST_CASE(is_not_restored_into_an_existing_store) {
    const auto source = local();
    {
        const auto store = open();
        commit_all(*store, {numbered("mine", 1)});
        store->close().value();
    }
    const auto target = try_open("", true).value();
    const auto refused = restore(*target, *source);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::invalid_argument));
    target->close().value();
    BOOST_TEST(open()->get(Family::items, "mine").value().has_value());
}

BOOST_AUTO_TEST_CASE(that_was_restored_in_part_is_refused_until_the_restore_is_repeated) {
    const auto source = local();
    for (const int commits : {1, 2, 5}) {
        {
            const auto target = try_open("", true).value();
            cluster.node("n").fail_next({EtcdFault::none, EtcdRequest::txn}, commits);
            cluster.node("n").fail_next({EtcdFault::io_error, EtcdRequest::txn}, 100'000);
            BOOST_TEST(!restore(*target, *source));
            cluster.node("n").plan_none();
        }
        for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
        const auto refused = try_open();
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == ErrorCode::not_a_store), refused.error().message);
        BOOST_TEST(refused.error().message.find("db restore") != std::string::npos);
        for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    }
    {
        const auto target = try_open("", true).value();
        restore(*target, *source).value();
        target->close().value();
    }
    const auto store = open();
    BOOST_TEST((values_of(*store) == values_of(*source)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
