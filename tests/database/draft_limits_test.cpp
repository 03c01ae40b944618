// The limits of a user's drafts.
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "database/orders.hpp"
#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

constexpr std::uint32_t first_user = 1000;
constexpr std::uint32_t second_user = 1001;

struct LimitedShop : Shop {
    explicit LimitedShop(const UserLimits& limits) : Shop(0, limits) {
        bind("orders", "orders/{id}");
        LockClass kept;
        kept.pattern = "orders/*";
        kept.steal = StealPolicy::anyone;
        kept.drafts = true;
        BOOST_TEST_REQUIRE(database->put_class(kept).has_value());
    }

    // Ann locks the order, Bob steals the lock, and Ann's write is refused.
    Error refused_write(const std::string& id, std::uint32_t user,
                        const std::string& text = "late") {
        Guard loser = lock(ann, "orders/" + id);
        Guard thief = bob.steal(loser.id(), "urgent").value();
        LockProof proof = loser.proof();
        proof.user = user;
        return tables->write_item(order(id, text, proof)).error();
    }
    UserTableUsage usage_of(std::uint32_t user) const {
        for (const auto& usage : tables->user_usage()) {
            if (usage.uid == user) return usage;
        }
        return {user, 0, 0};
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_drafts_of_a_user, *boost::unit_test::label("embedded"))

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
