// The sweep of expired items: which items it deletes, which it keeps, and in which steps.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

using std::chrono::seconds;

struct WithTimeToLive : Tables {
    WithTimeToLive() {
        auto wanted = table_of("orders", "pk S");
        add_index(wanted, "gidx", "g S");
        service->create_table(wanted).value();
        service->update_time_to_live({"orders", "expires", true}).value();
    }

    std::int64_t now() {
        return std::chrono::floor<seconds>(clock.now().wall.time_since_epoch()).count();
    }
    void write(const std::string& key, AttributeValue expires) {
        Item item{{"pk", key}, {"g", "x"}, {"expires", std::move(expires)}};
        service->write_item(put("orders", std::move(item))).value();
    }
    bool has(const std::string& key) {
        return service->get_item(get("orders", {{"pk", key}})).value().item.has_value();
    }
    // Runs a whole sweep from the beginning. Returns the number of deleted items.
    std::size_t sweep(SweepExpired step = {}) {
        std::size_t removed = 0;
        while (true) {
            const auto report = service->sweep_expired(step).value();
            removed += report.removed;
            if (report.next.count() > 0) break;
        }
        clock.advance(seconds(60));
        return removed;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_sweep, WithTimeToLive)

BOOST_AUTO_TEST_CASE(removes_only_expired_items_with_their_index_entries) {
    const auto fraction = Number::parse(std::to_string(now() - 1) + ".5").value();
    const auto later = Number::parse(std::to_string(now()) + ".5").value();
    constexpr std::int64_t year = 366 * 86'400;
    write("past", number(now() - 1));
    write("fraction", fraction);
    write("years ago", number(now() - 5 * 365 * 86'400));
    write("now", number(now()));
    write("later", later);
    write("too long ago", number(now() - 5 * year));
    write("zero", number(0));
    write("text", std::to_string(now() - 1));
    write("list", AttributeValue(AttributeList{number(now() - 1)}));
    service->write_item(put("orders", {{"pk", "none"}, {"g", "x"}})).value();
    // Expired items are visible until the sweep.
    BOOST_TEST(has("past"));
    BOOST_TEST(sweep() == 3U);
    for (const auto* gone : {"past", "fraction", "years ago"}) BOOST_TEST(!has(gone), gone);
    for (const auto* kept : {"now", "later", "too long ago", "zero", "text", "list", "none"}) {
        BOOST_TEST(has(kept), kept);
    }
    BOOST_TEST(rows(Family::index) == 7U);
    BOOST_TEST(service->describe_table("orders").value().item_count == 7U);
    // The sweep runs again, a minute later.
    BOOST_TEST(sweep() == 2U);
    BOOST_TEST(!has("now"));
    BOOST_TEST(!has("later"));
}

BOOST_AUTO_TEST_CASE(examines_at_most_the_given_number_of_items_in_a_step) {
    constexpr int items = 300;
    for (int i = 0; i < items; ++i) write(std::to_string(i), number(now() - i % 2));
    clock.advance(std::chrono::milliseconds(1));
    std::size_t removed = 0;
    std::size_t examined = 0;
    int steps = 0;
    while (true) {
        const auto report = service->sweep_expired({7, {}}).value();
        BOOST_TEST(report.examined <= 7U);
        removed += report.removed;
        examined += report.examined;
        ++steps;
        if (report.next.count() > 0) break;
    }
    BOOST_TEST(examined == 300U);
    BOOST_TEST(removed == 300U);
    BOOST_TEST(steps >= 300 / 7);
    BOOST_TEST(rows(Family::items) + rows(Family::index) == 0U);
}

BOOST_AUTO_TEST_CASE(starts_again_after_its_period_and_not_before) {
    BOOST_TEST(service->sweep_expired({}).value().next.count() == 10'000);
    write("a", number(now() - 1));
    clock.advance(seconds(9));
    auto report = service->sweep_expired({}).value();
    BOOST_TEST(report.removed == 0U);
    BOOST_TEST(report.next.count() == 1'000);
    clock.advance(seconds(1));
    report = service->sweep_expired({}).value();
    BOOST_TEST(report.removed == 1U);
}

BOOST_AUTO_TEST_CASE(ignores_tables_whose_items_do_not_expire) {
    service->create_table(table_of("others", "pk S")).value();
    service->write_item(put("others", {{"pk", "a"}, {"expires", number(now() - 1)}})).value();
    write("a", number(now() - 1));
    service->update_time_to_live({"orders", "expires", false}).value();
    BOOST_TEST(sweep() == 0U);
    BOOST_TEST(rows(Family::items) == 2U);
    service->update_time_to_live({"orders", "expires", true}).value();
    BOOST_TEST(sweep() == 1U);
}

BOOST_AUTO_TEST_CASE(continues_if_its_table_was_deleted_or_replaced) {
    for (int i = 0; i < 20; ++i) write(std::to_string(i), number(now() - 1));
    BOOST_TEST(service->sweep_expired({5, {}}).value().removed == 5U);
    service->delete_table("orders").value();
    BOOST_TEST(service->sweep_expired({5, {}}).value().removed == 0U);
    clock.advance(seconds(60));
    service->create_table(table_of("orders", "pk S")).value();
    service->update_time_to_live({"orders", "expires", true}).value();
    for (int i = 0; i < 20; ++i) write(std::to_string(i), number(now() - 1));
    BOOST_TEST(service->sweep_expired({5, {}}).value().removed == 5U);
    service->delete_table("orders").value();
    service->create_table(table_of("orders", "pk S")).value();
    service->update_time_to_live({"orders", "expires", true}).value();
    service->create_table(table_of("others", "pk S")).value();
    for (int i = 0; i < 20; ++i) write(std::to_string(i), number(now() - 1));
    BOOST_TEST(sweep() == 20U);
}

BOOST_AUTO_TEST_CASE(spares_items_for_the_requested_time) {
    write("a", number(now() - 60));
    BOOST_TEST(sweep({1'000, seconds(61)}) == 0U);
    BOOST_TEST(sweep({1'000, seconds(61)}) == 1U);
}

// If a client has extended the lifetime of an item, the sweep keeps it, even if it has read the
// item before.
BOOST_AUTO_TEST_CASE(never_removes_an_item_that_was_given_a_longer_life) {
    constexpr int items = 400;
    for (int i = 0; i < items; ++i) write(std::to_string(i), number(now() - 1));
    std::vector<char> prolonged(items, 0);
    std::atomic<bool> pending = false;
    in_threads(2, [&](int thread) {
        if (thread == 0) {
            while (!pending) std::this_thread::yield();
            while (service->sweep_expired({10, {}}).value().next.count() == 0) continue;
            return;
        }
        // From the last item to the first, in the order of their names.
        for (int i = items - 1; i >= 0; --i) {
            const auto write =
                provided(update("orders", {{"pk", std::to_string(i)}}, "SET expires = :later",
                                {{":later", number(now() + 1'000)}}),
                         "attribute_exists(pk)");
            prolonged[static_cast<std::size_t>(i)] = service->write_item(write) ? 1 : 0;
            pending = true;
        }
    });
    std::size_t left = 0;
    for (int i = 0; i < items; ++i) {
        const bool there = has(std::to_string(i));
        BOOST_TEST(there == (prolonged[static_cast<std::size_t>(i)] == 1));
        left += there ? 1 : 0;
    }
    BOOST_TEST(rows(Family::index) == left);
    BOOST_TEST(service->describe_table("orders").value().item_count == left);
}

// A damaged item is reported, and items in other tables still expire.
BOOST_AUTO_TEST_CASE(continues_with_the_next_table_if_an_item_is_damaged) {
    for (const char* name : {"a-first-one", "the-last-one"}) {
        service->create_table(table_of(name, "pk S")).value();
        service->update_time_to_live({name, "expires", true}).value();
        service->write_item(put(name, {{"pk", "b"}, {"expires", number(now() - 1)}})).value();
    }
    write("damaged", number(now() - 1));
    const auto snapshot = storage->snapshot();
    const auto cursor = snapshot->scan(Family::items, "", "\xff");
    while (cursor->key().find("damaged") == std::string_view::npos) cursor->next();
    Batch damage;
    damage.writes.push_back({Family::items, std::string(cursor->key()), "x"});
    storage->commit(std::move(damage)).value();
    std::size_t failed = 0;
    for (bool over = false; !over;) {
        const auto report = service->sweep_expired({});
        failed += report ? 0 : 1;
        over = report && report->next.count() > 0;
        BOOST_TEST_REQUIRE(failed < 10U);
    }
    BOOST_TEST(failed == 1U);
    for (const char* name : {"a-first-one", "the-last-one"}) {
        BOOST_TEST(!service->get_item(get(name, {{"pk", "b"}})).value().item);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_removal_that_was_lost)

BOOST_AUTO_TEST_CASE(is_repeated) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    const auto service = open_tables(storage, clock).value();
    service->create_table(table_of("orders", "pk S")).value();
    service->update_time_to_live({"orders", "expires", true}).value();
    service->write_item(put("orders", {{"pk", "a"}, {"expires", number(1'700'000'000)}})).value();
    BOOST_TEST(service->sweep_expired({}).value().removed == 1U);
    // The deletes were not synced, so a power failure may lose them.
    const auto after = storage.reopen_after_power_cut();
    const auto reopened = open_tables(*after, clock).value();
    BOOST_TEST(reopened->sweep_expired({}).value().removed == 1U);
    BOOST_TEST(!reopened->get_item(get("orders", {{"pk", "a"}})).value().item);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
