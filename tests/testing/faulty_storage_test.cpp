#include <rocklock/testing/faulty_storage.hpp>

#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

namespace rocklock::testing {
namespace {

using Call = FaultyStorage::Call;
using Pump = FaultyStorage::Pump;

Batch put(std::string key, const std::string& text = "") {
    Batch batch;
    batch.writes.push_back({Family::items, std::move(key), "12345678" + text});
    return batch;
}

// Two writes and a deletion, so that a partly applied batch would be visible.
Batch triple(int i) {
    Batch batch = put("a", std::to_string(i));
    batch.writes.push_back({Family::items, "b" + std::to_string(i), "12345678"});
    batch.writes.push_back({Family::items, "b" + std::to_string(i - 1), std::nullopt});
    return batch;
}

std::string listing(const Storage& storage) {
    std::string text;
    const auto snapshot = storage.snapshot();
    for (auto at = snapshot->scan(Family::items, "", ""); at->valid(); at->next()) {
        if (!text.empty()) text += ' ';
        text += std::string(at->key()) + '=' + std::string(at->value().substr(8));
    }
    return text;
}

std::string after_triples(int count) {
    if (count == 0) return "";
    return "a=" + std::to_string(count) + " b" + std::to_string(count) + "=";
}

struct Fixture {
    SimulatedClock clock;
    FaultyStorage storage{clock, Pump::by_hand};

    CommitNumber enqueue(Batch batch) {
        return storage.enqueue(std::move(batch), Durability::durable);
    }
};

struct WaitingFixture {
    SimulatedClock clock;
    FaultyStorage storage{clock};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_crash, Fixture)

BOOST_AUTO_TEST_CASE(of_the_process_loses_queued_batches) {
    enqueue(put("a"));
    enqueue(put("b"));
    storage.write_next().value();
    BOOST_TEST(listing(*storage.reopen_after_kill()) == "a=");
}

BOOST_AUTO_TEST_CASE(of_the_machine_loses_unsynced_batches) {
    enqueue(put("a"));
    storage.pump().value();
    enqueue(put("b"));
    storage.write_next().value();
    BOOST_TEST(listing(storage) == "a= b=");
    BOOST_TEST(listing(*storage.reopen_after_power_cut()) == "a=");
    BOOST_TEST(listing(*storage.reopen_after_kill()) == "a= b=");
}

// The log is cut at every byte. The result is a prefix of the commits, and each commit is either
// complete or absent.
BOOST_AUTO_TEST_CASE(tears_the_log_at_any_byte_and_no_batch) {
    enqueue(triple(1));
    storage.pump().value();
    for (int i = 2; i <= 6; ++i) enqueue(triple(i));
    storage.write_next(5).value();

    const auto ends = storage.log_ends();
    BOOST_REQUIRE(ends.size() == 5U);
    BOOST_REQUIRE(ends.back() == storage.log().size());
    int whole = 0;
    for (std::size_t cut = 0; cut <= ends.back(); ++cut) {
        if (cut == ends[static_cast<std::size_t>(whole)] && whole < 5) ++whole;
        const auto reopened = storage.reopen_after_power_cut(cut);
        BOOST_TEST(listing(*reopened) == after_triples(1 + whole));
        if (whole == 5) break;
    }
    BOOST_TEST(whole == 5);
}

// A flipped bit loses its commit and all later ones, but never a part of a commit or a commit in
// the middle.
BOOST_AUTO_TEST_CASE(may_damage_any_bit_of_the_log) {
    for (int i = 1; i <= 3; ++i) enqueue(triple(i));
    storage.write_next(3).value();
    const auto ends = storage.log_ends();
    for (std::size_t byte = 0; byte < ends.back(); ++byte) {
        std::string log = storage.log();
        log[byte] = static_cast<char>(log[byte] ^ (1 << byte % 8));
        int whole = 0;
        while (ends[static_cast<std::size_t>(whole)] <= byte) ++whole;
        BOOST_TEST(listing(*storage.reopen_with_log(log)) == after_triples(whole));
    }
}

BOOST_AUTO_TEST_CASE(leaves_a_store_that_works) {
    enqueue(put("a"));
    storage.pump().value();
    const auto reopened = storage.reopen_after_power_cut();
    BOOST_TEST(!reopened->failure());
    BOOST_TEST(!reopened->suspect());
    reopened->enqueue(put("b"), Durability::durable);
    reopened->pump().value();
    BOOST_TEST(listing(*reopened->reopen_after_power_cut()) == "a= b=");
    // The original storage is not affected by the reopened one.
    BOOST_TEST(listing(storage) == "a=");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_manual_pump, Fixture)

// E4: the test decides when commits are written.
BOOST_AUTO_TEST_CASE(decides_when_a_commit_is_written_and_when_synced) {
    const auto first = enqueue(put("a"));
    const auto second = enqueue(put("b"));
    BOOST_TEST(storage.queued() == 2U);
    BOOST_TEST(!storage.done(first, Durability::written));
    storage.write_next().value();
    BOOST_TEST(storage.done(first, Durability::written));
    BOOST_TEST(!storage.done(first, Durability::durable));
    storage.sync().value();
    BOOST_TEST(storage.done(first, Durability::durable));
    BOOST_TEST(!storage.done(second, Durability::written));
    storage.wait(first, Durability::durable).value();
    storage.pump().value();
    storage.wait(second, Durability::durable).value();
    BOOST_TEST(storage.synced_through() == second);
}

BOOST_AUTO_TEST_CASE(leaves_a_deferred_commit_in_the_queue) {
    const auto number = storage.enqueue(put("a"), Durability::deferred);
    storage.wait(number, Durability::deferred).value();
    BOOST_TEST(storage.queued() == 1U);
    BOOST_TEST(storage.done(number, Durability::deferred));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_planned_failure, WaitingFixture)

// E4: the faults of the test kit.
BOOST_AUTO_TEST_CASE(of_a_sync_is_not_ignored) {
    storage.fail_nth(Call::sync, 2);
    storage.commit(put("a")).value();
    const auto answer = storage.commit(put("b"));
    BOOST_TEST((!answer && answer.error().code == ErrorCode::io_error));
    BOOST_TEST(storage.failure().has_value());
    BOOST_TEST(!storage.commit(put("c"), Durability::written));
    BOOST_TEST(storage.reopen_after_kill()->suspect());
    // Acknowledged commits are there; a failed one may be there or not.
    BOOST_TEST(listing(*storage.reopen_after_power_cut()) == "a=");
    BOOST_TEST(listing(*storage.reopen_after_kill()) == "a= b=");
}

BOOST_AUTO_TEST_CASE(of_a_write_may_have_written_nevertheless) {
    storage.fail_nth(Call::write, 1, Error(ErrorCode::no_space, "full"));
    BOOST_TEST((storage.commit(put("a")).error().code == ErrorCode::no_space));
    BOOST_TEST(listing(storage) == "");
    BOOST_TEST(listing(*storage.reopen_after_kill()) == "a=");
    BOOST_TEST(listing(*storage.reopen_after_power_cut(5)) == "");
}

BOOST_AUTO_TEST_CASE(of_an_enqueue_also_fails_queued_batches) {
    storage.fail_nth(Call::enqueue, 2);
    const auto first = storage.enqueue(put("a"), Durability::durable);
    const auto second = storage.enqueue(put("b"), Durability::durable);
    BOOST_TEST(!storage.wait(first, Durability::durable));
    BOOST_TEST(!storage.wait(second, Durability::durable));
    BOOST_TEST(listing(*storage.reopen_after_kill()) == "");
}

BOOST_AUTO_TEST_CASE(of_a_read_is_reported_once) {
    storage.commit(put("a")).value();
    storage.fail_nth(Call::read, 1);
    BOOST_TEST(!storage.get(Family::items, "a"));
    BOOST_TEST(storage.get(Family::items, "a").has_value());
    storage.fail_nth(Call::read, 2);
    const auto snapshot = storage.snapshot();
    const auto cursor = snapshot->scan(Family::items, "", "");
    BOOST_TEST(cursor->valid());
    cursor->next();
    BOOST_TEST(!cursor->valid());
    BOOST_TEST(!cursor->status());
    BOOST_TEST(!storage.failure());
}

BOOST_AUTO_TEST_CASE(leaves_a_suspect_mark_until_the_store_is_marked_sound) {
    storage.fail_nth(Call::sync, 1);
    BOOST_TEST(!storage.commit(put("a")));
    BOOST_TEST(!storage.mark_sound());
    const auto reopened = storage.reopen_after_kill();
    BOOST_TEST(reopened->suspect());
    BOOST_TEST(reopened->reopen_after_kill()->suspect());
    reopened->mark_sound().value();
    BOOST_TEST(!reopened->suspect());
    BOOST_TEST(!reopened->reopen_after_kill()->suspect());
}

// Lets each call of each kind fail in turn, until the run succeeds without a failure. If a commit
// was acknowledged, it survives a power failure, whatever failed.
BOOST_AUTO_TEST_CASE(at_any_call_loses_no_acknowledged_change) {
    for (const Call call : {Call::enqueue, Call::write, Call::sync}) {
        bool failed = true;
        for (std::uint64_t nth = 1; failed; ++nth) {
            FaultyStorage store(clock);
            store.fail_nth(call, nth);
            int acknowledged = 0;
            failed = false;
            for (int i = 1; i <= 5; ++i) {
                if (store.commit(triple(i))) {
                    BOOST_TEST(!failed);
                    acknowledged = i;
                } else {
                    failed = true;
                }
            }
            BOOST_TEST(listing(*store.reopen_after_power_cut()) == after_triples(acknowledged));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
