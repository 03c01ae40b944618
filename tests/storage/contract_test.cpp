// The contract of storage: batches, snapshots, cursors and preconditions.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "storage/every_kind_of_store.hpp"

namespace rocklock::testing {

using namespace contract;

BOOST_AUTO_TEST_SUITE(a_store)

BOOST_DATA_TEST_CASE(returns_stored_values_and_not_deleted_ones, every_kind, kind) {
    Store store(kind);
    BOOST_TEST(!read(*store.storage, "a"));
    store->commit(put("a", value(1, "one"))).value();
    BOOST_TEST((read(*store.storage, "a") == value(1, "one")));
    store->commit(put("a", value(2, "two"))).value();
    BOOST_TEST((read(*store.storage, "a") == value(2, "two")));
    store->commit(erase("a")).value();
    BOOST_TEST(!read(*store.storage, "a"));
    store->commit(erase("never there")).value();
}

BOOST_DATA_TEST_CASE(keeps_families_apart, every_kind, kind) {
    Store store(kind);
    store->commit(put("a", value(1, "item"), Family::items)).value();
    store->commit(put("a", value(1, "lock"), Family::locks)).value();
    BOOST_TEST((read(*store.storage, "a", Family::items) == value(1, "item")));
    BOOST_TEST((read(*store.storage, "a", Family::locks) == value(1, "lock")));
    BOOST_TEST(!read(*store.storage, "a", Family::history));
    store->commit(erase("a", Family::items)).value();
    BOOST_TEST(read(*store.storage, "a", Family::locks).has_value());
}

BOOST_DATA_TEST_CASE(accepts_any_bytes_as_a_key, every_kind, kind) {
    Store store(kind);
    const std::vector<std::string> keys = {
        std::string("\0", 1), "a", std::string("a\0b", 3), "a\xff", "\xff", "\xff\xff"};
    for (const auto& key : keys) store->commit(put(key, value(1, key))).value();
    for (const auto& key : keys) BOOST_TEST((read(*store.storage, key) == value(1, key)));
    // The keys are sorted as unsigned bytes.
    std::vector<std::string> seen;
    const auto snapshot = store->snapshot();
    for (auto at = snapshot->scan(Family::items, "", ""); at->valid(); at->next()) {
        seen.emplace_back(at->key());
    }
    BOOST_TEST((seen == keys));
}

BOOST_DATA_TEST_CASE(can_be_read_backwards, every_kind, kind) {
    Store store(kind);
    fill(*store.storage, 40);
    store->commit(put("", value(1)), Durability::written).value();
    const auto snapshot = store->snapshot();
    store->commit(put("k0038x", value(1)), Durability::written).value();
    const auto keys = [&](std::string_view first, std::string_view last) {
        std::vector<std::string> seen;
        for (auto at = snapshot->scan_back(Family::items, first, last); at->valid(); at->next()) {
            seen.emplace_back(at->key());
        }
        return seen;
    };
    const auto all = keys("", "");
    BOOST_TEST(all.size() == 41U);
    BOOST_TEST(all.front() == "k0039");
    BOOST_TEST(all.back().empty());
    BOOST_TEST((std::is_sorted(all.rbegin(), all.rend())));
    BOOST_TEST((keys("k0003", "k0006") == std::vector<std::string>{"k0005", "k0004", "k0003"}));
    BOOST_TEST((keys("k0037x", "") == std::vector<std::string>{"k0039", "k0038"}));
    BOOST_TEST(keys("k0006", "k0003").empty());
    BOOST_TEST(keys("l", "").empty());
}

BOOST_DATA_TEST_CASE(applies_the_writes_of_a_batch_in_order, every_kind, kind) {
    Store store(kind);
    Batch batch = put("a", value(1, "first"));
    batch.writes.push_back({Family::items, "a", value(2, "second")});
    batch.writes.push_back({Family::items, "b", value(1, "b")});
    batch.writes.push_back({Family::items, "b", std::nullopt});
    store->commit(std::move(batch)).value();
    BOOST_TEST(listing(*store->snapshot()) == "a=second");
}

BOOST_DATA_TEST_CASE(numbers_its_commits_in_order, every_kind, kind) {
    Store store(kind);
    CommitNumber before = 0;
    for (int i = 0; i < 10; ++i) {
        const auto number = store->enqueue(put("a", value(1)), Durability::written);
        BOOST_TEST(number > before);
        before = number;
    }
    store->wait(before, Durability::written).value();
}

BOOST_DATA_TEST_CASE(applies_queued_batches_in_order, every_kind, kind) {
    Store store(kind);
    CommitNumber last = 0;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        last = store->enqueue(put("a", value(i)), Durability::written);
    }
    store->wait(last, Durability::written).value();
    BOOST_TEST(version_of(*read(*store.storage, "a")) == 20U);
}

BOOST_DATA_TEST_CASE(accepts_an_empty_batch, every_kind, kind) {
    Store store(kind);
    store->commit(Batch{}, Durability::durable).value();
    store->commit(Batch{}, Durability::written).value();
    store->commit(Batch{}, Durability::deferred).value();
}

BOOST_DATA_TEST_CASE(is_not_suspect_when_new, every_kind, kind) {
    Store store(kind);
    BOOST_TEST(!store->failure());
    BOOST_TEST(!store->suspect());
    store->mark_sound().value();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_snapshot)

BOOST_DATA_TEST_CASE(does_not_contain_later_writes, every_kind, kind) {
    Store store(kind);
    store->commit(put("a", value(1, "1"))).value();
    store->commit(put("b", value(1, "1"))).value();
    const auto before = store->snapshot();
    store->commit(put("a", value(2, "2"))).value();
    store->commit(erase("b")).value();
    store->commit(put("c", value(1, "1"))).value();
    const auto after = store->snapshot();
    store->commit(erase("a")).value();
    store->commit(put("b", value(3, "3"))).value();

    BOOST_TEST(listing(*before) == "a=1 b=1");
    BOOST_TEST(listing(*after) == "a=2 c=1");
    BOOST_TEST(listing(*store->snapshot()) == "b=3 c=1");
    BOOST_TEST((before->get(Family::items, "a").value() == value(1, "1")));
    BOOST_TEST(!before->get(Family::items, "c").value());
    BOOST_TEST(!after->get(Family::items, "b").value());
}

// Snapshots may be destroyed in any order. The others continue to show the same data.
BOOST_DATA_TEST_CASE(is_not_disturbed_by_the_end_of_another, every_kind, kind) {
    Store store(kind);
    std::vector<std::unique_ptr<Snapshot>> snapshots;
    for (std::uint64_t i = 0; i < 200; ++i) {
        store->commit(put("a", value(i, std::to_string(i))), Durability::written).value();
        if (i % 2 == 0) {
            store->commit(put("b" + std::to_string(i), value(1)), Durability::written).value();
        } else {
            store->commit(erase("b" + std::to_string(i - 1)), Durability::written).value();
        }
        snapshots.push_back(store->snapshot());
    }
    const auto shows = [&](std::size_t i) {
        const std::string b = i % 2 == 0 ? " b" + std::to_string(i) + "=" : "";
        return listing(*snapshots[i]) == "a=" + std::to_string(i) + b;
    };
    for (std::size_t i = 1; i < 200; i += 3) snapshots[i].reset();
    for (std::size_t i = 0; i < 200; ++i) BOOST_TEST((!snapshots[i] || shows(i)));
    for (std::size_t i = 0; i < 150; ++i) snapshots[i].reset();
    for (std::size_t i = 0; i < 200; ++i) BOOST_TEST((!snapshots[i] || shows(i)));
    snapshots.clear();
    BOOST_TEST(listing(*store->snapshot()) == "a=199");
}

BOOST_DATA_TEST_CASE(sees_a_batch_completely_or_not_at_all, own_kinds, kind) {
    Store store(kind);
    std::atomic<bool> stop{false};
    std::jthread writer([&] {
        for (std::uint64_t i = 1; i <= 500; ++i) {
            Batch batch = put("a", value(i));
            batch.writes.push_back({Family::locks, "b", value(i)});
            if (!store->commit(std::move(batch), Durability::written)) std::abort();
        }
        stop = true;
    });
    std::uint64_t torn = 0;
    while (!stop) {
        const auto snapshot = store->snapshot();
        const auto a = snapshot->get(Family::items, "a").value();
        const auto b = snapshot->get(Family::locks, "b").value();
        if (a != b) ++torn;
    }
    BOOST_TEST(torn == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_cursor)

BOOST_DATA_TEST_CASE(walks_from_the_first_key_to_before_the_last, every_kind, kind) {
    Store store(kind);
    for (const char* key : {"a", "b", "c", "d"}) store->commit(put(key, value(1, key))).value();
    const auto snapshot = store->snapshot();
    BOOST_TEST(listing(*snapshot, "b", "d") == "b=b c=c");
    BOOST_TEST(listing(*snapshot, "bb", "") == "c=c d=d");
    BOOST_TEST(listing(*snapshot, "", "b") == "a=a");
    BOOST_TEST(listing(*snapshot, "e", "") == "");
    BOOST_TEST(listing(*snapshot, "", "a") == "");
    BOOST_TEST(listing(*snapshot, "c", "c") == "");
    BOOST_TEST(listing(*snapshot, "d", "b") == "");
    BOOST_TEST(listing(*snapshot, "", "", Family::index) == "");
}

BOOST_DATA_TEST_CASE(scans_the_same_records_if_they_are_not_read_again, every_kind, kind) {
    Store store(kind);
    fill(*store.storage, 1000);
    const auto snapshot = store->snapshot();
    store->commit(put("k0500x", value(1)), Durability::written).value();
    const auto records = [](std::unique_ptr<Snapshot::Cursor> at) {
        std::vector<std::pair<std::string, std::string>> seen;
        for (; at->valid(); at->next()) seen.emplace_back(at->key(), at->value());
        BOOST_TEST(at->status().has_value());
        return seen;
    };
    const auto expected = records(snapshot->scan(Family::items, "k0100", "k0900"));
    BOOST_TEST(expected.size() == 800U);
    BOOST_TEST((records(snapshot->scan_once(Family::items, "k0100", "k0900")) == expected));
}

BOOST_DATA_TEST_CASE(stays_on_its_snapshot_while_others_write, every_kind, kind) {
    Store store(kind);
    fill(*store.storage, 1000);
    const auto snapshot = store->snapshot();
    const auto cursor = snapshot->scan(Family::items, "", "");
    int count = 0;
    for (; cursor->valid(); cursor->next(), ++count) {
        if (count % 100 == 0) {
            store->commit(erase("k0999"), Durability::written).value();
            store->commit(put("k0999x", value(1, "new")), Durability::written).value();
        }
    }
    BOOST_TEST(count == 1000);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_precondition)

BOOST_DATA_TEST_CASE(admits_a_batch_if_it_holds, every_kind, kind) {
    Store store(kind);
    store->commit(provided(put("a", value(7)), "a", std::nullopt)).value();
    store->commit(provided(put("a", value(8)), "a", 7)).value();
    BOOST_TEST(version_of(*read(*store.storage, "a")) == 8U);
}

BOOST_DATA_TEST_CASE(refuses_a_batch_if_it_does_not_hold, every_kind, kind) {
    Store store(kind);
    store->commit(put("a", value(7))).value();
    const auto refuse = [&](std::string key, std::optional<std::uint64_t> version) {
        Batch batch = provided(put("x", value(1)), "a", 7);
        batch.writes.push_back({Family::locks, "y", value(1)});
        const auto answer = store->commit(provided(std::move(batch), std::move(key), version));
        return !answer && answer.error().code == ErrorCode::precondition_failed;
    };
    BOOST_TEST(refuse("a", std::nullopt));
    BOOST_TEST(refuse("a", 6));
    BOOST_TEST(refuse("a", 8));
    BOOST_TEST(refuse("b", 7));
    BOOST_TEST(!read(*store.storage, "x"));
    BOOST_TEST(!read(*store.storage, "y", Family::locks));
    BOOST_TEST(!store->failure());
}

// Uses more keys than a cache of versions can hold, with the same names in two families. So some
// preconditions concern a recent write or deletion, and others an old one.
BOOST_DATA_TEST_CASE(checks_every_version_independently_of_earlier_reads, every_kind, kind) {
    constexpr unsigned keys = 1500;
    constexpr unsigned steps = 20000;
    const Store store(kind);
    std::mt19937_64 random(static_cast<std::uint64_t>(kind) + 1);
    std::map<std::pair<Family, std::string>, std::uint64_t> model;
    unsigned wrong = 0;
    for (std::uint64_t step = 1; step <= steps; ++step) {
        const auto family = random() % 2 == 0 ? Family::items : Family::locks;
        // Some of the keys are used often, and some are too long to be cached.
        const auto number = random() % 4 == 0 ? random() % keys : random() % 8;
        const auto key = std::to_string(number) + std::string(number % 5 == 0 ? 200 : 0, 'x');
        const auto known = model.find({family, key});
        const bool present = known != model.end();
        auto version = present ? std::optional(known->second) : std::nullopt;
        const bool holds = random() % 3 != 0;
        if (!holds) version = present && random() % 2 == 0 ? std::nullopt : std::optional(step);
        const bool removes = random() % 4 == 0;
        auto batch = removes ? erase(key, family) : put(key, value(step), family);
        const auto done =
            store->commit(provided(std::move(batch), key, version, family), Durability::written);
        wrong += done.has_value() == holds ? 0 : 1;
        if (!done) continue;
        if (removes) {
            model.erase({family, key});
        } else {
            model[{family, key}] = step;
        }
    }
    BOOST_TEST(wrong == 0U);
    BOOST_TEST(model.size() > keys / 2);
}

BOOST_DATA_TEST_CASE(names_its_key_when_it_fails, every_kind, kind) {
    Store store(kind);
    const auto answer = store->commit(provided(Batch{}, std::string("or\0der", 6), 1));
    BOOST_TEST(answer.error().message.find("or\\x00der") != std::string::npos);
}

// Each precondition is checked against the state after the earlier commits of the same group.
BOOST_DATA_TEST_CASE(sees_the_commits_before_it_in_its_group, every_kind, kind) {
    Store store(kind);
    store->commit(put("old", value(1))).value();
    std::vector<Verdict> verdicts(7);
    const auto enqueue = [&](std::size_t i, Batch batch) {
        return store->enqueue(std::move(batch), Durability::durable, &verdicts[i]);
    };
    enqueue(0, provided(put("a", value(1)), "a", std::nullopt));
    enqueue(1, provided(put("a", value(9)), "a", std::nullopt));
    enqueue(2, provided(put("a", value(2)), "a", 1));
    enqueue(3, provided(erase("a"), "a", 2));
    enqueue(4, provided(put("b", value(1)), "a", std::nullopt));
    enqueue(5, provided(erase("old"), "old", 1));
    const auto last = enqueue(6, provided(put("c", value(1)), "old", 1));
    store->wait(last, Durability::durable).value();

    std::string refused;
    for (const auto& verdict : verdicts) refused += verdict.refused ? 'x' : '.';
    BOOST_TEST(refused == ".x....x");
    BOOST_TEST(listing(*store->snapshot()) == "b=");
}

BOOST_DATA_TEST_CASE(refuses_one_commit_and_not_its_neighbours, every_kind, kind) {
    Store store(kind);
    Verdict verdict;
    store->enqueue(put("a", value(1)), Durability::written);
    const auto refused =
        store->enqueue(provided(put("b", value(1)), "b", 5), Durability::durable, &verdict);
    const auto last = store->enqueue(put("c", value(1)), Durability::written);
    store->wait(last, Durability::written).value();
    store->wait(refused, Durability::durable).value();
    BOOST_TEST(verdict.refused.has_value());
    BOOST_TEST(listing(*store->snapshot()) == "a= c=");
}

BOOST_DATA_TEST_CASE(is_waited_for_by_a_deferred_commit_too, every_kind, kind) {
    Store store(kind);
    const auto answer = store->commit(provided(put("a", value(1)), "a", 4), Durability::deferred);
    BOOST_TEST((answer.error().code == ErrorCode::precondition_failed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
