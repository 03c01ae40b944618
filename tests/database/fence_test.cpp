// Writes that present a token, and tables that are bound to resources.
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/sweeps.hpp"

namespace rocklock::testing {

using namespace fences;

BOOST_AUTO_TEST_SUITE(a_write_with_a_token)

BOOST_AUTO_TEST_CASE(is_done_while_its_grant_lives) {
    Shop shop;
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "ann's", guard.proof()))) == "done");
    BOOST_TEST(text_of(shop, "1") == "ann's");
}

BOOST_AUTO_TEST_CASE(is_refused_after_its_lease_with_the_name_of_the_next_holder) {
    Shop shop;
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    shop.bind("orders", "orders/{id}");
    shop.sleep(11s);
    shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
    const Guard next = Shop::lock(shop.bob, "orders/1");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", next.proof()))) == "done");
    const auto late = shop.tables->write_item(order("1", "ann's", guard.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST((late.error().ended->outcome == Outcome::expired));
    BOOST_TEST_REQUIRE(late.error().blockers.size() == 1U);
    BOOST_TEST(late.error().blockers.front().principal == "bob");
    BOOST_TEST(late.error().message ==
               "the grant of token " + std::to_string(number(guard.token())) +
                   " has ended: expired at " + format_time(late.error().ended->at) +
                   "; \"orders/1\" is held by bob now");
    BOOST_TEST(text_of(shop, "1") == "bob's");
}

// An event between the decision and the commit causes the write to be refused (F3).
BOOST_AUTO_TEST_CASE(is_checked_when_it_is_committed, *boost::unit_test::label("embedded")) {
    struct Blow {
        std::string what;
        std::function<void(Shop&, const Guard&)> strike;
        std::string outcome;
    };
    const std::vector<Blow> blows = {
        {"the lease runs out", [](Shop& shop, const Guard&) { shop.sleep(11s); }, "stale_token"},
        {"a release",
         [](Shop& shop, const Guard& guard) {
             std::ignore = shop.database->service().ask(Release{shop.ann.id(), guard.id()});
         },
         "stale_token"},
        {"a break",
         [](Shop& shop, const Guard& guard) {
             BOOST_TEST(shop.database->break_grant(guard.id(), "root", "test").has_value());
         },
         "stale_token"},
        {"a steal",
         [](Shop& shop, const Guard& guard) {
             BOOST_TEST(shop.bob.steal(guard.id(), "test").has_value());
         },
         "stale_token"},
        {"a downgrade",
         [](Shop& shop, const Guard& guard) {
             Convert down;
             down.session = shop.ann.id();
             down.grant = guard.id();
             down.mode = Mode::read;
             BOOST_TEST(shop.database->service().ask(down).has_value());
         },
         "lock_required"},
        {"the lease is over, and another came",
         [](Shop& shop, const Guard&) {
             shop.sleep(11s);
             shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
             Shop::lock(shop.bob, "orders/1").detach();
         },
         "stale_token"},
        {"a renewal", [](Shop& shop, const Guard&) { BOOST_TEST(shop.ann.renew().has_value()); },
         "done"},
    };
    for (const auto& blow : blows) {
        BOOST_TEST_CONTEXT(blow.what) {
            Shop shop;
            LockClass stolen;
            stolen.pattern = "orders/*";
            stolen.steal = StealPolicy::anyone;
            BOOST_TEST_REQUIRE(shop.database->put_class(stolen).has_value());
            BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "old")).has_value());
            shop.bind("orders", "orders/{id}");
            Guard guard = Shop::lock(shop.ann, "orders/1");
            bool struck = false;
            shop.storage->meanwhile([&] {
                struck = true;
                blow.strike(shop, guard);
            });
            const auto written = shop.tables->write_item(order("1", "new", guard.proof()));
            BOOST_TEST(struck);
            BOOST_TEST(outcome(written) == blow.outcome);
            BOOST_TEST(text_of(shop, "1") == (blow.outcome == "done" ? "new" : "old"));
            guard.detach();
        }
    }
}

BOOST_AUTO_TEST_CASE(recognises_a_token_that_an_upgrade_replaced) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard guard = Shop::lock(shop.ann, "orders/1", Mode::read);
    const LockProof before = guard.proof();
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "read", before))) == "lock_required");
    BOOST_TEST_REQUIRE(guard.convert(Mode::write).has_value());
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "new", guard.proof()))) == "done");
    const auto late = shop.tables->write_item(order("1", "old", before));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST((late.error().ended->outcome == Outcome::converted));
}

BOOST_AUTO_TEST_CASE(refuses_the_token_of_another_session_or_resource) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    const Guard anns = Shop::lock(shop.ann, "orders/1");
    const Guard other = Shop::lock(shop.ann, "orders/2");
    const LockProof stolen{shop.bob.id(), anns.token()};
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", stolen))) == "lock_required");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "x", other.proof()))) == "lock_required");
    const LockProof made_up{shop.ann.id(), Token{12345}};
    const auto unknown = shop.tables->write_item(order("1", "x", made_up));
    BOOST_TEST_REQUIRE(outcome(unknown) == "stale_token");
    BOOST_TEST(unknown.error().message ==
               "the grant of token 12345 is unknown: it never existed, or it ended long ago");
    BOOST_TEST(text_of(shop, "1") == "none");
}

BOOST_AUTO_TEST_CASE(is_also_checked_for_a_table_that_is_not_bound) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "anything");
    const LockProof proof = guard.proof();
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "new", proof))) == "done");
    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "late", proof))) == "stale_token");
    // For an unbound table, a proof without a token is ignored.
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "plain", session_of(shop.ann)))) ==
               "done");
}

// F8: the write presents a token and an expected version, and both must hold.
BOOST_AUTO_TEST_CASE(may_have_a_version_too) {
    Shop shop;
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    WriteItem first = order("1", "first", guard.proof());
    first.expected_version = 0;
    const auto written = shop.tables->write_item(first);
    BOOST_TEST_REQUIRE(written.has_value());
    BOOST_TEST(outcome(shop.tables->write_item(first)) == "condition_failed");
    WriteItem second = order("1", "second", guard.proof());
    second.expected_version = written->version;
    BOOST_TEST(outcome(shop.tables->write_item(second)) == "done");
    const auto late = shop.tables->write_item(second);
    BOOST_TEST_REQUIRE(outcome(late) == "condition_failed");
    BOOST_TEST_REQUIRE(late.error().last_write.has_value());
    BOOST_TEST(late.error().message.find("The conditional request failed: the item has version ") ==
               0U);
    BOOST_TEST(late.error().message.ends_with("; written by " + late.error().last_write->by +
                                              " at " + format_time(late.error().last_write->at)));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_bound_table)

// The conflict matrix applies to writes of items (F4, invariant S2).
BOOST_AUTO_TEST_CASE(refuses_a_write_without_a_lock) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    const auto plain = shop.tables->write_item(order("1", "plain"));
    BOOST_TEST_REQUIRE(outcome(plain) == "lock_required");
    BOOST_TEST(plain.error().message ==
               "a write requires a lock on \"orders/1\" in mode write or exclusive, and the "
               "request has none: acquire the lock, and send its session");
    WriteItem update = order("1", "");
    update.kind = Kind::update;
    update.item = AttributeMap{{"id", "1"}};
    BOOST_TEST(outcome(shop.tables->write_item(update)) == "lock_required");
    WriteItem remove = update;
    remove.kind = Kind::remove;
    BOOST_TEST(outcome(shop.tables->write_item(remove)) == "lock_required");

    const Guard guard = Shop::lock(shop.ann, "orders/1");
    const auto by_other = shop.tables->write_item(order("1", "bob's", session_of(shop.bob)));
    BOOST_TEST_REQUIRE(outcome(by_other) == "lock_required");
    BOOST_TEST_REQUIRE(by_other.error().blockers.size() == 1U);
    BOOST_TEST(by_other.error().blockers.front().principal == "ann");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "ann's", session_of(shop.ann)))) ==
               "done");
}

BOOST_AUTO_TEST_CASE(accepts_a_write_under_a_lock_of_a_parent) {
    Shop shop;
    shop.bind("lines", "orders/{order}/lines/{line}");
    LockRequest whole = lock_of("orders/1", Mode::write);
    whole.subtree = true;
    const Guard guard = shop.ann.acquire({whole}).value();
    BOOST_TEST(outcome(shop.tables->write_item(line("1", 7, guard.proof()))) == "done");
    BOOST_TEST(outcome(shop.tables->write_item(line("2", 7, guard.proof()))) == "lock_required");
}

BOOST_AUTO_TEST_CASE(can_have_one_resource_for_all_items) {
    Shop shop;
    shop.bind("lines", "master data");
    const Guard guard = Shop::lock(shop.ann, "master data");
    BOOST_TEST(outcome(shop.tables->write_item(line("1", 1, guard.proof()))) == "done");
    BOOST_TEST(outcome(shop.tables->write_item(line("2", 1))) == "lock_required");
}

BOOST_AUTO_TEST_CASE(refuses_whole_batches_and_transactions) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    BatchWrite batch;
    batch.writes = {order("1", "new", guard.proof()), order("2", "new", guard.proof())};
    const auto refused = shop.tables->batch_write(batch);
    BOOST_TEST(outcome(refused) == "lock_required");
    BOOST_TEST(text_of(shop, "1") == "none");

    TransactWrite transaction;
    transaction.actions = batch.writes;
    const auto cancelled = shop.tables->transact_write(transaction);
    BOOST_TEST_REQUIRE(outcome(cancelled) == "transaction_cancelled");
    BOOST_TEST(cancelled.error().message ==
               "Transaction cancelled, please refer cancellation reasons for specific reasons "
               "[None, LockRequired]");
    BOOST_TEST((cancelled.error().reasons[1].code == ErrorCode::lock_required));
    BOOST_TEST(text_of(shop, "1") == "none");

    const Guard both = Shop::lock(shop.ann, "orders/2");
    transaction.actions[1].proof = both.proof();
    BOOST_TEST(outcome(shop.tables->transact_write(transaction)) == "done");
    BOOST_TEST(text_of(shop, "2") == "new");
}

// The modes apply to the items, too: `write` admits plain reads, and `exclusive` refuses them (M3).
// F5 and invariant S2: a read is refused while another session holds the item in `exclusive`.
BOOST_AUTO_TEST_CASE(admits_plain_reads_unless_the_lock_is_exclusive) {
    Shop shop;
    BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "text")).has_value());
    BOOST_TEST_REQUIRE(shop.tables->write_item(order("2", "other")).has_value());
    BOOST_TEST_REQUIRE(shop.tables->write_item(line("1", 1)).has_value());
    BOOST_TEST_REQUIRE(shop.tables->write_item(line("2", 1)).has_value());
    shop.bind("orders", "orders/{id}");
    shop.bind("lines", "orders/{order}");
    Guard guard = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST(text_of(shop, "1") == "text");
    BOOST_TEST_REQUIRE(guard.convert(Mode::exclusive).has_value());

    BOOST_TEST(text_of(shop, "1") == "locked");
    BOOST_TEST(text_of(shop, "1", session_of(shop.bob)) == "locked");
    BOOST_TEST(text_of(shop, "1", guard.proof()) == "text");
    BOOST_TEST(text_of(shop, "2") == "other");

    Scan scan;
    scan.table = "orders";
    const auto scanned = shop.tables->scan(scan);
    BOOST_TEST_REQUIRE(outcome(scanned) == "locked");
    BOOST_TEST(scanned.error().message ==
               "\"orders/1\" is held in mode exclusive by ann: read the item after that lock has "
               "ended, or send the session that holds it");
    BOOST_TEST(scanned.error().blockers.front().principal == "ann");
    scan.options.proof = guard.proof();
    BOOST_TEST(outcome(shop.tables->scan(scan)) == "done");

    // Also through an index, with a filter, and if only the count is requested.
    Query query;
    query.table = "lines";
    query.options.index = "by-article";
    query.options.select = Select::count;
    query.expressions.key_condition = "article = :a";
    query.expressions.filter = "#l > :n";
    query.expressions.placeholders.names.emplace().push_back({"#l", "line"});
    query.expressions.placeholders.values =
        std::vector<ValuePlaceholder>{{":a", "nails"}, {":n", AttributeValue(Number(5))}};
    BOOST_TEST(outcome(shop.tables->query(query)) == "locked");

    BatchGet batch;
    batch.tables = {{"orders", {AttributeMap{{"id", "2"}}, AttributeMap{{"id", "1"}}}, false, {}}};
    BOOST_TEST(outcome(shop.tables->batch_get(batch)) == "locked");
    TransactGet gets;
    gets.gets.resize(1);
    gets.gets[0].table = "orders";
    gets.gets[0].key = AttributeMap{{"id", "1"}};
    BOOST_TEST(outcome(shop.tables->transact_get(gets)) == "locked");
    TransactWrite checked;
    checked.actions.resize(1);
    checked.actions[0].kind = Kind::check;
    checked.actions[0].table = "orders";
    checked.actions[0].item = AttributeMap{{"id", "1"}};
    checked.actions[0].expressions.condition = "attribute_exists(id)";
    const auto cancelled = shop.tables->transact_write(checked);
    BOOST_TEST_REQUIRE(outcome(cancelled) == "transaction_cancelled");
    BOOST_TEST((cancelled.error().reasons[0].code == ErrorCode::locked));

    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(text_of(shop, "1") == "text");
    BOOST_TEST(outcome(shop.tables->query(query)) == "done");
    BOOST_TEST(outcome(shop.tables->transact_write(checked)) == "done");
}

// The item may be absent because the holder of the lock removed it in an unfinished edit.
BOOST_AUTO_TEST_CASE(is_refused_if_all_items_were_deleted) {
    Shop shop;
    BOOST_TEST_REQUIRE(shop.tables->write_item(line("1", 1)).has_value());
    BOOST_TEST_REQUIRE(shop.tables->write_item(line("2", 1)).has_value());
    shop.bind("orders", "master");
    shop.bind("lines", "orders/{order}");
    const Guard master = Shop::lock(shop.ann, "master", Mode::exclusive);
    Guard guard = Shop::lock(shop.ann, "orders/1", Mode::exclusive);
    WriteItem gone = line("1", 1, guard.proof());
    gone.kind = WriteItem::Kind::remove;
    gone.item = {{"order", "1"}, {"line", AttributeValue(Number(1))}};
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(gone)) == "done");

    const auto query = [&](std::string id, const std::string& more, const LockProof* proof) {
        Query lines;
        lines.table = "lines";
        lines.expressions.key_condition = "#o = :o" + more;
        lines.expressions.placeholders.names.emplace().push_back({"#o", "order"});
        lines.expressions.placeholders.values =
            std::vector<ValuePlaceholder>{{":o", std::move(id)}};
        if (!more.empty()) {
            lines.expressions.placeholders.values->push_back({":l", AttributeValue(Number(1))});
        }
        if (proof != nullptr) lines.options.proof = *proof;
        return outcome(shop.tables->query(lines));
    };
    const LockProof proof = guard.proof();
    BOOST_TEST(query("1", "", nullptr) == "locked");
    BOOST_TEST(query("1", " AND line > :l", nullptr) == "locked");
    BOOST_TEST(query("1", "", &proof) == "done");
    BOOST_TEST(query("2", "", nullptr) == "done");
    BOOST_TEST(query("3", "", nullptr) == "done");

    Scan scan;
    scan.table = "orders";
    BOOST_TEST(outcome(shop.tables->scan(scan)) == "locked");
    scan.options.proof = master.proof();
    BOOST_TEST(outcome(shop.tables->scan(scan)) == "done");

    // With both parts of the key in the binding, a query checks the resources that it selects.
    shop.bind("lines", "orders/{order}/{line}");
    const Guard deep = Shop::lock(shop.bob, "orders/1/1", Mode::exclusive);
    BOOST_TEST(query("1", " AND line = :l", nullptr) == "locked");
    BOOST_TEST(query("3", " AND line = :l", nullptr) == "done");
    BOOST_TEST(guard.release().has_value());
}

// Called by a thread that must not wait for locks.
BOOST_AUTO_TEST_CASE(is_read_without_blocking_unless_a_lock_is_exclusive,
                     *boost::unit_test::label("embedded") *
                         boost::unit_test::label("unconfirmed")) {
    Shop shop;
    BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "text")).has_value());
    const auto cached = [&] {
        GetItem get;
        get.table = "orders";
        get.key = AttributeMap{{"id", "1"}};
        const auto found = shop.tables->get_cached_item(get);
        return found && found->value().item == order("1", "text").item;
    };
    BOOST_TEST(cached());
    shop.bind("orders", "orders/{id}");
    BOOST_TEST(cached());
    Guard guard = Shop::lock(shop.ann, "orders/1", Mode::exclusive);
    BOOST_TEST(!cached());
    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(cached());
    shop.bind("orders", "orders/{id}", true);
    BOOST_TEST(!cached());
}

// Otherwise, a client without a lock could have items deleted.
BOOST_AUTO_TEST_CASE(keeps_its_time_to_live_while_it_is_bound) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    const auto refused = shop.tables->update_time_to_live({"orders", "until", true});
    BOOST_TEST_REQUIRE(outcome(refused) == "invalid_argument");
    BOOST_TEST(refused.error().message.find("unbind the table") != std::string::npos);
    BOOST_TEST(!shop.tables->describe_time_to_live("orders").value().enabled);
}

// Needed for policies under which a read without a lock is an error.
BOOST_AUTO_TEST_CASE(can_be_strict_about_reads) {
    Shop shop;
    BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "text")).has_value());
    shop.bind("orders", "orders/{id}", true);
    BOOST_TEST(text_of(shop, "1") == "text");
    LockClass exclusive;
    exclusive.pattern = "orders/*";
    exclusive.policy = Policy::exclusive_read;
    BOOST_TEST_REQUIRE(shop.database->put_class(exclusive).has_value());
    BOOST_TEST(text_of(shop, "1") == "lock_required");
    const Guard guard = shop.ann.acquire("orders/1").value();
    BOOST_TEST(text_of(shop, "1", guard.proof()) == "text");
    BOOST_TEST(text_of(shop, "1") == "locked");
    // A session may read the item if it holds any lock on it.
    for (const Mode mode : {Mode::read, Mode::write}) {
        const Guard other = Shop::lock(shop.bob, "orders/2", mode);
        BOOST_TEST(text_of(shop, "2") == "lock_required");
        BOOST_TEST(text_of(shop, "2", session_of(shop.ann)) == "lock_required");
        BOOST_TEST(text_of(shop, "2", session_of(shop.bob)) == "none");
    }
}

BOOST_AUTO_TEST_CASE(derives_its_resources_from_its_key) {
    Shop shop;
    struct Case {
        std::string resource;
        std::string message;
    };
    for (const auto& [resource, message] : std::vector<Case>{
             {"", "The template of resources is empty: give a name"},
             {"orders/{", "The template of resources \"orders/{\" has an unmatched brace"},
             {"orders/}", "The template of resources \"orders/}\" has an unmatched brace"},
             {"orders/{text}",
              "The template of resources \"orders/{text}\" names \"text\", which is not an "
              "attribute of the table's key: the key is id"},
         }) {
        const auto bound = shop.tables->bind_table({"orders", resource, false});
        BOOST_TEST_REQUIRE(!bound);
        BOOST_TEST((bound.error().code == ErrorCode::invalid_argument));
        BOOST_TEST(bound.error().message == message);
    }
    BOOST_TEST(shop.tables->list_bindings().value().empty());
    BOOST_TEST(outcome(shop.tables->bind_table({"nothing", "x", false})) == "resource_not_found");
    BOOST_TEST(outcome(shop.tables->unbind_table("orders")) == "invalid_argument");

    shop.bind("orders", "orders/{id}");
    BOOST_TEST((shop.tables->list_bindings().value() ==
                std::vector<TableBinding>{{"orders", "orders/{id}", false}}));
    BOOST_TEST(outcome(shop.tables->delete_table("orders")) == "resource_in_use");
    BOOST_TEST(outcome(shop.tables->unbind_table("orders")) == "done");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "plain"))) == "done");
    BOOST_TEST(outcome(shop.tables->delete_table("orders")) == "done");
}

// A write that was decided before the table was bound is decided again.
BOOST_AUTO_TEST_CASE(is_bound_before_any_write_that_is_not_committed_yet,
                     *boost::unit_test::label("embedded")) {
    Shop shop;
    shop.storage->meanwhile([&] { shop.bind("orders", "orders/{id}"); });
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "plain"))) == "lock_required");
    BOOST_TEST(text_of(shop, "1") == "none");
}

BOOST_AUTO_TEST_CASE(stays_bound_when_the_store_is_opened_again,
                     *boost::unit_test::label("embedded")) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "store";
    LockProof proof;
    SessionCredentials credentials;
    {
        Database database = Database::open(path).value();
        TableService& tables = *database.tables().value();
        create_orders(tables);
        bind_orders(tables, true);
        Session session = database.open_session("ann").value();
        Guard guard = session.acquire("orders/1").value();
        proof = guard.proof();
        guard.detach();
        credentials = session.detach();
    }
    Database database = Database::open(path).value();
    TableService& tables = *database.tables().value();
    BOOST_TEST((tables.list_bindings().value() ==
                std::vector<TableBinding>{{"orders", "orders/{id}", true}}));
    BOOST_TEST(outcome(tables.write_item(order("1", "plain"))) == "lock_required");
    BOOST_TEST(outcome(tables.write_item(order("1", "locked", proof))) == "done");
    Session session = database.resume_session(credentials).value();
    BOOST_TEST(outcome(tables.write_item(order("1", "resumed", proof))) == "done");
    BOOST_TEST(session.close().has_value());
    BOOST_TEST(outcome(tables.write_item(order("1", "closed", proof))) == "stale_token");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
