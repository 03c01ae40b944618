// The limits of a user's drafts.
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "database/drafts/draft_shop.hpp"
#include "database/orders.hpp"
#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

constexpr std::uint32_t first_user = 1000;
constexpr std::uint32_t second_user = 1001;

struct LimitedShop : Shop {
    explicit LimitedShop(const UserLimits& limits) : Shop(0, limits) {
        drafts::keep_drafts_of_orders(*this);
    }

    // Ann locks the order, Bob steals the lock, and Ann's write is refused.
    Error refused_write(const std::string& id, UserId user, const std::string& text = "late") {
        Guard loser = lock(ann, "orders/" + id);
        Guard thief = bob.steal(loser.id(), "urgent").value();
        LockProof proof = loser.proof();
        proof.user = user;
        return tables->write_item(order(id, text, proof)).error();
    }
    UserTableUsage usage_of(UserId user) const {
        for (const auto& usage : tables->user_usage()) {
            if (usage.uid == user) return usage;
        }
        return {user, 0, 0};
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_drafts_of_a_user, *boost::unit_test::label("embedded"))

// All sessions of this test have the uid 0.
BOOST_AUTO_TEST_CASE(are_those_of_the_sessions_that_it_opened) {
    LimitedShop shop({});
    BOOST_TEST(shop.refused_write("1", first_user).drafts == 1U);
    DraftsRequest request{"ann"};
    request.only_of = first_user;
    BOOST_TEST(shop.tables->list_drafts(request).value().drafts.empty());
    request.only_of = 0;
    const auto drafts = shop.tables->list_drafts(request).value().drafts;
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    const DraftId draft = drafts.front().id;
    const auto not_found = [](const auto& result) {
        return !result && result.error().code == ErrorCode::resource_not_found;
    };
    BOOST_TEST(not_found(shop.tables->take_draft("ann", draft, first_user)));
    BOOST_TEST(not_found(shop.tables->discard_draft("ann", draft, first_user)));
    const Guard guard = shop.lock(shop.ann, "orders/1");
    WriteItem save = order("1", "saved", guard.proof());
    save.from_draft = draft;
    save.proof->owner = first_user;
    BOOST_TEST(not_found(shop.tables->write_item(save)));
    TransactWrite all;
    all.actions = {order("1", "saved", guard.proof())};
    all.actions.front().proof->owner = first_user;
    all.from_drafts = {draft};
    BOOST_TEST(not_found(shop.tables->transact_write(all)));
    save.proof->owner = 0;
    BOOST_TEST(shop.tables->write_item(save).has_value());
    BOOST_TEST(shop.tables->list_drafts({"ann"}).value().drafts.empty());
}

// A draft of an earlier version has no owner, so only a reader without a limit sees it.
BOOST_AUTO_TEST_CASE(are_not_those_without_an_owner) {
    LimitedShop shop({});
    BOOST_TEST(shop.refused_write("1", first_user).drafts == 1U);
    Storage& storage = shop.database->storage();
    Batch old;
    {
        const auto snapshot = storage.snapshot();
        const auto cursor = snapshot->scan(Family::meta, "draft ", "draft!");
        BOOST_TEST_REQUIRE(cursor->valid());
        const std::string_view value = cursor->value();
        old.writes.push_back({Family::meta, std::string(cursor->key()),
                              std::string(value.substr(0, value.size() - 4))});
    }
    BOOST_TEST_REQUIRE(storage.commit(std::move(old), Durability::written).has_value());
    DraftsRequest request{"ann"};
    request.only_of = 0;
    BOOST_TEST(shop.tables->list_drafts(request).value().drafts.empty());
    BOOST_TEST(shop.tables->list_drafts({"ann"}).value().drafts.size() == 1U);
}

// A user that names the principal of another user does not displace the drafts of that user.
BOOST_AUTO_TEST_CASE(are_not_displaced_by_those_of_another_user) {
    LimitedShop shop({});
    BOOST_TEST(shop.refused_write("first", first_user).drafts == 1U);
    for (std::uint32_t i = 0; i <= limits::drafts_per_principal; ++i) {
        BOOST_TEST_REQUIRE(shop.refused_write(std::to_string(i), second_user).drafts == 1U);
    }
    DraftsRequest request{"ann"};
    const auto page = shop.tables->list_drafts(request).value();
    BOOST_TEST(page.drafts.size() == limits::drafts_per_principal);
    BOOST_TEST(number(page.next) != 0U);
    BOOST_TEST(*page.drafts.front().write.item.find("id")->get_if<std::string>() == "first");
    BOOST_TEST(*page.drafts[1].write.item.find("id")->get_if<std::string>() == "1");
}

BOOST_AUTO_TEST_CASE(are_at_most_as_many_as_its_limit) {
    LimitedShop shop({.drafts = 2});
    BOOST_TEST(shop.refused_write("1", first_user).drafts == 1U);
    BOOST_TEST(shop.refused_write("2", first_user).drafts == 1U);
    const Error third = shop.refused_write("3", first_user);
    BOOST_TEST((third.code == ErrorCode::stale_token));
    BOOST_TEST(third.drafts == 0U);
    BOOST_TEST(third.message.find(
                   "it was not kept as a draft: user 1000 has 2 drafts, and the limit is 2") !=
                   std::string::npos,
               third.message);
    BOOST_TEST(shop.refused_write("4", second_user).drafts == 1U);
    const auto drafts = shop.tables->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(drafts.size() == 3U);
    // If a draft is discarded, there is room for another one.
    BOOST_TEST_REQUIRE(shop.tables->discard_draft("ann", drafts.front().id).has_value());
    BOOST_TEST(shop.refused_write("3", first_user).drafts == 1U);
    BOOST_TEST(shop.usage_of(first_user).drafts == 2U);
}

BOOST_AUTO_TEST_CASE(are_counted_in_the_bytes_of_its_tables) {
    LimitedShop shop({.table_bytes = 10'000});
    BOOST_TEST(shop.refused_write("1", first_user, std::string(5'000, 'x')).drafts == 1U);
    BOOST_TEST(shop.usage_of(first_user).table_bytes > 5'000U);
    BOOST_TEST(shop.refused_write("2", first_user, std::string(5'000, 'x')).drafts == 0U);
    const auto drafts = shop.tables->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    BOOST_TEST_REQUIRE(shop.tables->take_draft("ann", drafts.front().id).has_value());
    BOOST_TEST(shop.usage_of(first_user).table_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(are_the_same_after_a_restart) {
    LimitedShop shop({.drafts = 10});
    BOOST_TEST(shop.refused_write("1", first_user).drafts == 1U);
    BOOST_TEST(shop.refused_write("2", first_user).drafts == 1U);
    const auto before = shop.usage_of(first_user);
    TableOptions options;
    options.user_limits.drafts = 10;
    const auto again = open_tables(*shop.storage, shop.clock, options).value();
    BOOST_TEST_REQUIRE(again->user_usage().size() == 1U);
    BOOST_TEST((again->user_usage().front() == before));
}

BOOST_AUTO_TEST_CASE(are_counted_in_total_with_and_without_limits) {
    for (const UserLimits& limits : {UserLimits{}, UserLimits{.drafts = 10}}) {
        LimitedShop shop(limits);
        BOOST_TEST(shop.tables->draft_count() == 0U);
        BOOST_TEST(shop.refused_write("1", first_user).drafts == 1U);
        BOOST_TEST(shop.refused_write("2", second_user).drafts == 1U);
        BOOST_TEST(shop.tables->draft_count() == 2U);
        TableOptions options;
        options.user_limits = limits;
        BOOST_TEST(open_tables(*shop.storage, shop.clock, options).value()->draft_count() == 2U);
        const auto drafts = shop.tables->list_drafts({"ann"}).value().drafts;
        BOOST_TEST_REQUIRE(drafts.size() == 2U);
        BOOST_TEST_REQUIRE(shop.tables->discard_draft("ann", drafts.front().id).has_value());
        BOOST_TEST(shop.tables->draft_count() == 1U);
    }
}

// The maximum per principal applies to each user. Users of two hosts with the same uid are two
// users.
BOOST_AUTO_TEST_CASE(are_deleted_separately_for_users_of_two_nodes) {
    LimitedShop shop({.drafts = 10});
    BOOST_TEST(shop.refused_write("1", user_of_node(1, first_user)).drafts == 1U);
    BOOST_TEST(shop.refused_write("2", user_of_node(2, first_user)).drafts == 1U);
    BOOST_TEST(shop.refused_write("3", user_of_node(2, first_user)).drafts == 1U);
    Retention retention;
    retention.max_principal_drafts = 1;
    BOOST_TEST_REQUIRE(shop.database->set_retention(retention).has_value());
    while (shop.tables->sweep_expired({}).value().next.count() == 0) continue;
    const auto drafts = shop.tables->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(drafts.size() == 2U);
    BOOST_TEST(shop.usage_of(user_of_node(1, first_user)).drafts == 1U);
    BOOST_TEST(shop.usage_of(user_of_node(2, first_user)).drafts == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
