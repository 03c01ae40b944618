// Edits that last for minutes: begin, save, take over, end.
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

EditRequest edit_of(const std::vector<std::string>& ids) {
    EditRequest request;
    for (const std::string& id : ids) request.items.push_back(order_to_lock(id));
    return request;
}

TransactWrite save_of(const std::vector<std::string>& ids, const std::string& text) {
    TransactWrite save;
    for (const std::string& id : ids) save.actions.push_back(order(id, text));
    return save;
}

std::string editors_of(Shop& shop, const std::string& id) {
    const auto view = shop.database->who_edits("orders", AttributeMap{{"id", id}});
    if (!view) return std::string(to_string(view.error().code));
    std::string names;
    for (const Holder& holder : view->holders) names += holder.principal;
    return names;
}

struct BoundShop : Shop {
    BoundShop() { bind("orders", "orders/{id}"); }

    void let_anyone_steal() {
        LockClass anyone;
        anyone.pattern = "orders/*";
        anyone.steal = StealPolicy::anyone;
        BOOST_TEST_REQUIRE(database->put_class(anyone).has_value());
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(an_edit, BoundShop)

// F6: the save presents the one token of the set for both items.
BOOST_AUTO_TEST_CASE(has_all_its_items_as_they_are_under_their_locks) {
    {
        Edit first = ann.begin_edit(*tables, edit_of({"1", "2"})).value();
        BOOST_TEST_REQUIRE(first.items.size() == 2U);
        BOOST_TEST(!first.items[0].item);
        BOOST_TEST(first.items[0].version == 0U);
        BOOST_TEST(outcome(first.guard.save_and_release(*tables, save_of({"1", "2"}, "ann's"))) ==
                   "done");
    }
    const Edit second = bob.begin_edit(*tables, edit_of({"2", "1"})).value();
    BOOST_TEST_REQUIRE(second.items.size() == 2U);
    BOOST_TEST((second.items[0].key == AttributeMap{{"id", "2"}}));
    BOOST_TEST(*second.items[0].item->find("text")->get_if<std::string>() == "ann's");
    BOOST_TEST(second.items[0].version == second.items[1].version);
    BOOST_TEST(second.items[1].last_write->by == "ann");
}

BOOST_AUTO_TEST_CASE(is_refused_completely_and_names_the_holder) {
    const Edit first = bob.begin_edit(*tables, edit_of({"2"})).value();
    const auto refused = ann.begin_edit(*tables, edit_of({"1", "2", "3"}));
    BOOST_TEST_REQUIRE(outcome(refused) == "conflict");
    BOOST_TEST(refused.error().blockers.at(0).principal == "bob");
    BOOST_TEST(refused.error().blockers.at(0).resource == "orders/2");
    BOOST_TEST(editors_of(*this, "1") == "");
    BOOST_TEST(editors_of(*this, "2") == "bob");
}

BOOST_AUTO_TEST_CASE(may_lock_resources_without_items) {
    EditRequest request = edit_of({"1"});
    request.locks = {lock_of("customers", Mode::read)};
    request.items.push_back(order_to_lock("1"));
    const Edit edit = ann.begin_edit(*tables, request).value();
    BOOST_TEST(edit.items.size() == 2U);
    BOOST_TEST(edit.guard.grant().locks.size() == 2U);
    BOOST_TEST(ann.assert_held("customers", Mode::read).has_value());
    BOOST_TEST(ann.assert_held("orders/1", Mode::write).has_value());
}

// E8: an edit begins, saves, and keeps its lock after the save.
BOOST_AUTO_TEST_CASE(continues_after_a_save_and_may_be_read_only) {
    EditRequest request = edit_of({"1"});
    request.items[0].mode = Mode::read;
    Edit looking = ann.begin_edit(*tables, request).value();
    const Edit other = bob.begin_edit(*tables, request).value();
    BOOST_TEST(outcome(looking.guard.save(*tables, save_of({"1"}, "no"))) ==
               "transaction_cancelled");
    BOOST_TEST(editors_of(*this, "1") == "annbob");
    Edit edit = ann.begin_edit(*tables, edit_of({"2"})).value();
    const auto saved = edit.guard.save(*tables, save_of({"2"}, "one"));
    BOOST_TEST_REQUIRE(outcome(saved) == "done");
    BOOST_TEST(edit.guard.valid());
    // The response contains the version that the next save may require.
    TransactWrite next = save_of({"2"}, "two");
    next.actions[0].expected_version = saved->version;
    BOOST_TEST(outcome(edit.guard.save(*tables, next)) == "done");
    BOOST_TEST(outcome(edit.guard.save(*tables, next)) == "transaction_cancelled");
}

// The user of the server over the socket is its administrator, who may steal any lock. E8: an edit
// is taken over, and ends with its last save.
BOOST_AUTO_TEST_CASE(is_taken_over_as_its_class_allows, *boost::unit_test::label("embedded")) {
    Edit first = ann.begin_edit(*tables, edit_of({"1"})).value();
    BOOST_TEST(outcome(first.guard.save(*tables, save_of({"1"}, "ann's"))) == "done");
    const auto refused = bob.take_over(*tables, first.guard.id(), "urgent", edit_of({"1"}).items);
    BOOST_TEST(outcome(refused) == "steal_refused");
    let_anyone_steal();
    Edit second = bob.take_over(*tables, first.guard.id(), "urgent", edit_of({"1"}).items).value();
    BOOST_TEST(*second.items.at(0).item->find("text")->get_if<std::string>() == "ann's");
    const auto late = first.guard.save(*tables, save_of({"1"}, "late"));
    BOOST_TEST_REQUIRE(outcome(late) == "transaction_cancelled");
    const CancellationReason& reason = late.error().reasons.at(0);
    BOOST_TEST((reason.code == ErrorCode::stale_token));
    BOOST_TEST_REQUIRE(reason.ended.has_value());
    BOOST_TEST(reason.ended->by == "bob");
    BOOST_TEST(reason.blockers.at(0).principal == "bob");
    BOOST_TEST(outcome(second.guard.save_and_release(*tables, save_of({"1"}, "bob's"))) == "done");
    BOOST_TEST(text_of(*this, "1") == "bob's");
}

// The grant does not cover the requested items.
BOOST_AUTO_TEST_CASE(is_released_if_its_items_cannot_be_read) {
    let_anyone_steal();
    const Edit first = ann.begin_edit(*tables, edit_of({"1"})).value();
    const auto wrong = bob.take_over(*tables, first.guard.id(), "urgent", edit_of({"2"}).items);
    BOOST_TEST(outcome(wrong) == "resource_in_use");
    BOOST_TEST(editors_of(*this, "1") == "");
}

BOOST_AUTO_TEST_CASE(requires_bound_tables_and_complete_keys) {
    EditRequest request = edit_of({"1"});
    request.items[0].table = "lines";
    BOOST_TEST(outcome(ann.begin_edit(*tables, request)) == "invalid_argument");
    request = edit_of({"1"});
    request.items[0].key = AttributeMap{{"name", "1"}};
    BOOST_TEST(outcome(ann.begin_edit(*tables, request)) == "invalid_argument");
    BOOST_TEST(outcome(ann.begin_edit(*tables, EditRequest())) == "invalid_argument");
    BOOST_TEST(outcome(database->who_edits("lines", AttributeMap{{"order", "1"}})) ==
               "invalid_argument");
    BOOST_TEST(database->list().value().locks.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
