// Change sets: the items that were read are compared with the stored ones when the set is saved.
#include <rocklock/items/change_set.hpp>

#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::table {
namespace {

using proof::error_of;
using proof::get;
using proof::put;
using proof::Tables;

struct Shop : Tables {
    Shop() {
        service->create_table(proof::table_of("orders", "id S")).value();
        service->create_table(proof::table_of("lines", "order S", "line N")).value();
    }
    ChangeSet changes(std::string by) const { return {*service, std::move(by)}; }
    std::string text_of(const std::string& id) const {
        const auto answer = service->get_item(get("orders", {{"id", id}})).value();
        return answer.item ? *answer.item->find("text")->get_if<std::string>() : "none";
    }
};

Item order(std::string id, std::string text) {
    return {{"id", std::move(id)}, {"text", std::move(text)}};
}

AttributeMap key(std::string id) { return {{"id", std::move(id)}}; }

AttributeMap line_key(std::string order, std::int64_t line) {
    return {{"order", std::move(order)}, {"line", proof::number(line)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_change_set)

BOOST_FIXTURE_TEST_CASE(saves_all_that_it_changes, Shop) {
    service->write_item(put("orders", order("2", "old"))).value();
    service->write_item(put("orders", order("3", "to go"))).value();
    auto ann = changes("ann");
    BOOST_TEST(ann.empty());
    BOOST_TEST(!ann.get("orders", key("1")).value());
    BOOST_TEST((ann.get("orders", key("2")).value() == order("2", "old")));
    BOOST_TEST(ann.empty());
    BOOST_TEST_REQUIRE(error_of(ann.put("orders", order("1", "new"))) == "");
    ExpressionParameters words;
    words.update = "SET #t = :t";
    words.placeholders.names = {{{"#t", "text"}}};
    words.placeholders.values = {{{":t", "changed"}}};
    BOOST_TEST_REQUIRE(error_of(ann.update("orders", key("2"), words)) == "");
    BOOST_TEST_REQUIRE(error_of(ann.remove("orders", key("3"))) == "");
    BOOST_TEST(!ann.empty());
    BOOST_TEST(text_of("1") == "none");
    BOOST_TEST_REQUIRE(error_of(ann.commit()) == "");
    BOOST_TEST(ann.empty());
    BOOST_TEST(text_of("1") == "new");
    BOOST_TEST(text_of("2") == "changed");
    BOOST_TEST(text_of("3") == "none");
    const auto written = service->get_item(get("orders", key("1"))).value().last_write;
    BOOST_TEST_REQUIRE(written.has_value());
    BOOST_TEST(written->by == "ann");
    BOOST_TEST((written->at == clock.now().wall));
}

BOOST_FIXTURE_TEST_CASE(reports_each_change_with_its_time_and_writer, Shop) {
    for (const char* id : {"1", "2", "3", "4"}) {
        service->write_item(put("orders", order(id, "old"))).value();
    }
    auto ann = changes("ann");
    for (const char* id : {"1", "2", "3", "4"}) ann.get("orders", key(id)).value();
    ann.put("orders", order("4", "ann's")).value();
    clock.advance(std::chrono::minutes{5});
    const WallTime then = clock.now().wall;
    auto bob = changes("bob");
    bob.put("orders", order("1", "bob's")).value();
    BOOST_TEST_REQUIRE(error_of(bob.commit()) == "");
    service->write_item(proof::remove("orders", key("2"))).value();
    service->write_item(put("orders", order("3", "whose?"))).value();
    clock.advance(std::chrono::minutes{5});

    const auto saved = ann.commit();
    BOOST_TEST_REQUIRE(!saved);
    BOOST_TEST((saved.error().code == ErrorCode::condition_failed));
    BOOST_TEST(saved.error().message ==
               "changed since it was read: orders {id: 1} was written by bob; orders {id: 2} is "
               "gone; orders {id: 3} was written");
    const auto& changed_items = saved.error().changes;
    BOOST_TEST_REQUIRE(changed_items.size() == 3U);
    BOOST_TEST(changed_items[0].table == "orders");
    BOOST_TEST((*changed_items[0].key == key("1")));
    BOOST_TEST((changed_items[0].last_write == LastWrite{"bob", then}));
    BOOST_TEST(!changed_items[0].gone);
    BOOST_TEST(changed_items[1].gone);
    BOOST_TEST(!changed_items[2].last_write);
    BOOST_TEST(text_of("4") == "old");
    // The changes are still in the set.
    BOOST_TEST(!ann.empty());
    BOOST_TEST(!ann.commit());
    ann.clear();
    BOOST_TEST(error_of(ann.commit()) == "");
    BOOST_TEST(text_of("4") == "old");
}

BOOST_FIXTURE_TEST_CASE(also_checks_items_that_were_only_read, Shop) {
    service->write_item(put("orders", order("1", "old"))).value();
    auto ann = changes("ann");
    ann.get("orders", key("1")).value();
    BOOST_TEST(error_of(ann.commit()) == "");
    ann.get("orders", key("1")).value();
    service->write_item(put("orders", order("1", "new"))).value();
    BOOST_TEST((ann.commit().error().code == ErrorCode::condition_failed));
}

BOOST_FIXTURE_TEST_CASE(notices_when_it_reads_again, Shop) {
    service->write_item(put("orders", order("1", "old"))).value();
    auto ann = changes("ann");
    ann.get("orders", key("1")).value();
    BOOST_TEST((ann.get("orders", key("1")).value() == order("1", "old")));
    auto bob = changes("bob");
    bob.put("orders", order("1", "new")).value();
    bob.commit().value();
    const auto again = ann.get("orders", key("1"));
    BOOST_TEST_REQUIRE(!again);
    BOOST_TEST(again.error().changes.at(0).last_write->by == "bob");
}

BOOST_FIXTURE_TEST_CASE(detects_a_change_of_an_unread_item_after_its_put, Shop) {
    auto ann = changes("ann");
    ann.put("orders", order("1", "ann's")).value();
    service->write_item(put("orders", order("1", "first"))).value();
    BOOST_TEST((ann.commit().error().code == ErrorCode::condition_failed));
    BOOST_TEST(text_of("1") == "first");
}

// Two sets add a line each to one order and do not read each other's line.
BOOST_FIXTURE_TEST_CASE(fails_with_another_that_shares_a_version, Shop) {
    service->write_item(put("orders", order("1", "root"))).value();
    auto ann = changes("ann");
    auto bob = changes("bob");
    ann.share_version("orders", key("1")).value();
    bob.share_version("orders", key("1")).value();
    ann.put("lines", line_key("1", 1)).value();
    bob.put("lines", line_key("1", 2)).value();
    BOOST_TEST_REQUIRE(error_of(ann.commit()) == "");
    const auto saved = bob.commit();
    BOOST_TEST_REQUIRE(!saved);
    BOOST_TEST(saved.error().message ==
               "changed since it was read: orders {id: 1} was written by ann");
    BOOST_TEST(text_of("1") == "root");
    BOOST_TEST(!service->get_item(get("lines", line_key("1", 2))).value().item);
    // A set without changes does not conflict with another one.
    bob.clear();
    bob.share_version("orders", key("1")).value();
    ann.share_version("orders", key("1")).value();
    BOOST_TEST(error_of(ann.commit()) == "");
    BOOST_TEST(error_of(bob.commit()) == "");
}

BOOST_FIXTURE_TEST_CASE(reports_why_it_is_invalid, Shop) {
    auto ann = changes("ann");
    BOOST_TEST(error_of(ann.share_version("orders", key("1"))) ==
               "condition_failed: orders {id: 1} does not exist, so it has no version to share");
    BOOST_TEST(error_of(ann.put("orders", {{"text", "x"}})) ==
               "invalid_argument: the item has no \"id\", which is part of its key");
    BOOST_TEST((ann.put("nothing", order("1", "x")).error().code == ErrorCode::resource_not_found));
    ann.clear();
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST_REQUIRE(error_of(ann.put("orders", order(std::to_string(i), "x"))) == "");
    }
    const auto more = ann.put("orders", order("one more", "x"));
    BOOST_TEST_REQUIRE(!more);
    BOOST_TEST((more.error().code == ErrorCode::limit_exceeded));
    BOOST_TEST(error_of(ann.commit()) == "");
    BOOST_TEST(text_of("99") == "x");
    ann.put("orders", order("1", "y")).value();
    ChangeSet nobody(*service, std::string(limits::name_bytes + 1, 'n'));
    nobody.put("orders", order("1", "z")).value();
    BOOST_TEST((nobody.commit().error().code == ErrorCode::invalid_argument));
}

// The condition of an update fails although the version is the right one.
BOOST_FIXTURE_TEST_CASE(returns_other_errors_unchanged, Shop) {
    service->write_item(put("orders", order("1", "old"))).value();
    auto ann = changes("ann");
    ExpressionParameters words;
    words.update = "SET #t = :t";
    words.condition = "attribute_exists(nowhere)";
    words.placeholders.names = {{{"#t", "text"}}};
    words.placeholders.values = {{{":t", "changed"}}};
    ann.update("orders", key("1"), words).value();
    const auto saved = ann.commit();
    BOOST_TEST(error_of(saved) == "condition_failed: The conditional request failed");
    BOOST_TEST(saved.error().changes.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::table
