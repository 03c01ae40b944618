// Sessions and locks without expiry (L2), in a program that embeds the library or uses a daemon.
#include <chrono>
#include <optional>

#include <boost/test/unit_test.hpp>

#include "database/shop.hpp"

namespace rocklock::testing {

using namespace std::chrono_literals;

namespace {

void allow(Shop& shop) {
    LockClass cards;
    cards.pattern = "cards/*";
    cards.no_expiry = true;
    BOOST_TEST_REQUIRE(shop.database->put_class(cards).has_value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_session_without_expiry)

BOOST_AUTO_TEST_CASE(keeps_its_locks_without_renewals_until_its_owner_comes_back) {
    Shop shop;
    allow(shop);
    SessionOptions options = Shop::with_lease(no_expiry);
    options.renew = false;
    std::optional<Session> session = shop.database->open_session("cleo", options).value();
    Guard guard = Shop::lock(*session, "cards/1");
    BOOST_TEST(guard.valid());
    shop.sleep(10min);
    BOOST_TEST(guard.valid());
    BOOST_TEST((guard.remaining() > std::chrono::hours{24 * 365}));
    const GrantId grant = guard.detach().id;
    const SessionCredentials credentials = session->detach();
    session.reset();
    shop.sleep(10min);
    const Holder holder = shop.database->show("cards/1").value().holders.front();
    BOOST_TEST((holder.remaining == no_expiry));
    BOOST_TEST((holder.deadline == no_deadline_wall));
    const SessionView view = shop.database->sessions("cleo").value().front();
    BOOST_TEST((view.lease == no_expiry && view.remaining == no_expiry));
    Session again = shop.database->resume_session(credentials).value();
    BOOST_TEST(again.valid());
    BOOST_TEST(shop.database->service().ask(Release{credentials.id, grant}).has_value());
}

BOOST_AUTO_TEST_CASE(is_renewed_as_others_by_default) {
    Shop shop;
    allow(shop);
    Session session = shop.database->open_session("cleo", Shop::with_lease(no_expiry)).value();
    const Guard guard = Shop::lock(session, "cards/1");
    const auto renewed = session.renew();
    BOOST_TEST_REQUIRE(renewed.has_value());
    BOOST_TEST((renewed->lease == no_expiry && renewed->deadline == no_deadline));
    shop.sleep(10min);
    BOOST_TEST(session.valid());
    BOOST_TEST((session.acquire({lock_of("orders/1", Mode::write)}).error().code ==
                ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_CASE(needs_a_class_that_allows_it) {
    Shop shop;
    const auto refused = shop.database->open_session("cleo", Shop::with_lease(no_expiry));
    BOOST_TEST((refused.error().code == ErrorCode::invalid_argument));
    LockClass both;
    both.pattern = "cards/*";
    both.no_expiry = true;
    both.max_hold = 1h;
    BOOST_TEST((shop.database->put_class(both).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
