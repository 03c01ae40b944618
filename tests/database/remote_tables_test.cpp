// The tables of a daemon over a connection: lost connections, other owners, and saves that release
// their locks. The other tests of tables run over a connection too (database_over_a_socket).
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/orders.hpp"
#include "database/scripted_daemon.hpp"
#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

using namespace scripted;

struct ConnectedTables : Connected {
    ConnectedTables() {
        create_orders(tables);
        bind_orders(tables);
    }

    Result<GetAnswer> get(const std::string& id) const {
        GetItem request;
        request.table = "orders";
        request.key = AttributeMap{{"id", id}};
        return tables.get_item(request);
    }

    TableService& tables = *database.tables().value();
    Session ann = database.open_session("ann").value();
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_tables_of_a_daemon, ConnectedTables)

BOOST_AUTO_TEST_CASE(are_read_and_written_as_those_of_an_own_store) {
    Guard guard = ann.acquire("orders/1").value();
    const auto written = tables.write_item(order("1", "ann's", guard.proof()));
    BOOST_TEST_REQUIRE(outcome(written) == "done");
    const auto here = get("1").value();
    BOOST_TEST((here.item == order("1", "ann's").item));
    BOOST_TEST(here.version == written->version);
    BOOST_TEST(here.last_write.value().by == "ann");
    BOOST_TEST(outcome(tables.write_item(order("1", "no lock"))) == "lock_required");
    BOOST_TEST(tables.list_tables({}).value().names == std::vector<std::string>{"orders"},
               boost::test_tools::per_element());
    const auto described = tables.describe_table("orders").value();
    BOOST_TEST(described.arn == store.tables().value()->describe_table("orders").value().arn);
    BOOST_TEST(described.item_count == 1U);
    BOOST_TEST(outcome(tables.describe_table("none")) == "resource_not_found");
}

// A stale holder cannot write over a connection either.
BOOST_AUTO_TEST_CASE(refuse_a_write_after_the_lock_was_lost) {
    Guard guard = ann.acquire("orders/1").value();
    BOOST_TEST(store.break_grant(guard.id(), "root", "test").has_value());
    const auto late = tables.write_item(order("1", "late", guard.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST((late.error().ended->outcome == Outcome::broken));
    BOOST_TEST(!get("1").value().item);
}

BOOST_AUTO_TEST_CASE(continue_after_a_lost_connection) {
    Guard guard = ann.acquire("orders/1").value();
    BOOST_TEST(outcome(tables.write_item(order("1", "first", guard.proof()))) == "done");
    server->drop_connections();
    // The idle connection is found closed, so the write is sent on a new one.
    BOOST_TEST(outcome(tables.write_item(order("1", "second", guard.proof()))) == "done");
    BOOST_TEST((get("1").value().item == order("1", "second").item));
}

BOOST_AUTO_TEST_CASE(are_unreachable_without_a_daemon) {
    ConnectOptions options;
    options.patience = 1s;
    Database impatient = Database::connect(server->path(), options).value();
    TableService& remote = *impatient.tables().value();
    server.reset();
    const auto start = std::chrono::steady_clock::now();
    BOOST_TEST(outcome(remote.write_item(order("1", "text"))) == "unreachable");
    const auto took = std::chrono::steady_clock::now() - start;
    BOOST_TEST((took > 500ms && took < 30s));
}

BOOST_AUTO_TEST_CASE(accept_the_proofs_of_its_own_sessions_only) {
    Session bob = store.open_session("bob").value();
    Guard guard = bob.acquire("orders/1").value();
    const auto foreign = tables.write_item(order("1", "ann's", guard.proof()));
    BOOST_TEST(outcome(foreign) == "not_owner");
    // A resumed session is an own one.
    Session resumed = database.resume_session(bob.credentials()).value();
    BOOST_TEST(outcome(tables.write_item(order("1", "bob's", guard.proof()))) == "done");
    resumed.detach();
}

BOOST_AUTO_TEST_CASE(release_a_lock_with_a_save_and_report_no_loss) {
    std::atomic<int> lost{0};
    ann.on_lost([&](const LostNotice&) { ++lost; });
    for (int i = 0; i < 20; ++i) {
        Guard guard = ann.acquire("orders/1").value();
        WriteItem save = order("1", std::to_string(i), guard.proof());
        save.after = AfterSave::release;
        BOOST_TEST_REQUIRE(outcome(tables.write_item(save)) == "done");
        BOOST_TEST(!guard.valid());
        BOOST_TEST(store.show("orders/1").value().holders.empty());
        BOOST_TEST(ann.renew().has_value());
    }
    BOOST_TEST(lost == 0);
}

// The release of the destructor uses another connection than the read after it.
BOOST_AUTO_TEST_CASE(are_read_after_the_releases_that_precede_the_read) {
    const Session bob = database.open_session("bob").value();
    for (int i = 0; i < 200; ++i) {
        { const Guard guard = ann.acquire({lock_of("orders/1", Mode::exclusive)}).value(); }
        GetItem request;
        request.table = "orders";
        request.key = AttributeMap{{"id", "1"}};
        request.proof = LockProof{bob.id(), {}};
        BOOST_TEST_REQUIRE(outcome(tables.get_item(request)) == "done");
    }
}

BOOST_AUTO_TEST_CASE(refuse_every_call_after_a_close) {
    BOOST_TEST(database.close().has_value());
    BOOST_TEST(outcome(get("1")) == "closing");
    BOOST_TEST(outcome(tables.write_item(order("1", "text"))) == "closing");
}

BOOST_AUTO_TEST_CASE(are_swept_by_the_daemon) {
    BOOST_TEST(outcome(tables.sweep_expired({})) == "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
