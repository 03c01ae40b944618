// The contents of the tables that show the lock table.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/lock_tables_requests.hpp"

namespace rocklock::testing {

using namespace lock_tables;

// ---- Contents ----

BOOST_AUTO_TEST_SUITE(the_table_of_locks)

BOOST_AUTO_TEST_CASE(has_the_members_of_a_holder) {
    Shop shop;
    AcquireOptions options;
    options.note = "typing";
    options.metadata = {{"host", "desk"}};
    const Guard guard = shop.ann.acquire({lock_of("orders/1")}, options).value();
    const auto item = item_at(shop, "rocklock.locks", lock_key("orders/1", guard.id()));
    BOOST_TEST_REQUIRE(item.has_value());
    const std::vector<std::string> names{
        "AcquiredAt", "Deadline",    "Grant",    "Metadata", "Mode",  "Note", "Pid",
        "Principal",  "RemainingMs", "Resource", "Session",  "Token", "Uid"};
    BOOST_TEST(names_of(*item) == names, boost::test_tools::per_element());
    const Holder holder = shop.database->show("orders/1").value().holders.at(0);
    BOOST_TEST(text_at(*item, "Resource") == "orders/1");
    BOOST_TEST(text_at(*item, "Mode") == "write");
    BOOST_TEST(text_at(*item, "Grant") == std::to_string(number(guard.id())));
    BOOST_TEST(text_at(*item, "Token") == std::to_string(number(guard.token())));
    BOOST_TEST(text_at(*item, "Principal") == "ann");
    BOOST_TEST(text_at(*item, "Session") == to_string(shop.ann.id()));
    BOOST_TEST(text_at(*item, "Uid") == std::to_string(holder.uid));
    BOOST_TEST(text_at(*item, "Pid") == std::to_string(holder.pid));
    BOOST_TEST(text_at(*item, "RemainingMs") == "10000");
    BOOST_TEST(text_at(*item, "Note") == "typing");
    BOOST_TEST(text_at(*item, "AcquiredAt").ends_with("Z"));
    BOOST_TEST((text_at(*item, "Deadline") > text_at(*item, "AcquiredAt")));
    BOOST_TEST((*item->find("Metadata") == AttributeValue(AttributeMap{{"host", "desk"}})));
}

BOOST_AUTO_TEST_CASE(shows_the_cause_of_a_dependant_and_its_subtree) {
    Shop shop;
    LockClass parents;
    parents.pattern = "tables/orders";
    parents.dependants = {{"tables/customers", Mode::read}};
    shop.database->put_class(parents).value();
    LockClass pool;
    pool.pattern = "pool";
    pool.permits = 3;
    shop.database->put_class(pool).value();
    LockRequest below = lock_of("tables/orders");
    below.subtree = true;
    LockRequest two = lock_of("pool");
    two.permits = 2;
    const Guard guard = shop.ann.acquire({below, two}).value();
    const auto asked = item_at(shop, "rocklock.locks", lock_key("tables/orders", guard.id()));
    const auto along = item_at(shop, "rocklock.locks", lock_key("tables/customers", guard.id()));
    const auto permits = item_at(shop, "rocklock.locks", lock_key("pool", guard.id()));
    BOOST_TEST_REQUIRE((asked && along && permits));
    BOOST_TEST((*asked->find("Subtree") == AttributeValue(true)));
    BOOST_TEST(text_at(*along, "Cause") == "tables/orders");
    BOOST_TEST(text_at(*along, "Mode") == "read");
    BOOST_TEST(text_at(*permits, "Permits") == "2");
}

BOOST_AUTO_TEST_CASE(shows_no_secrets) {
    Shop shop(some_events);
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    const std::string secret = to_string(shop.ann.credentials().secret);
    for (const auto& table : {"rocklock.locks", "rocklock.sessions", "rocklock.history"}) {
        const auto items = scanned(shop, table);
        BOOST_TEST(!items.empty());
        for (const Item& item : items) {
            BOOST_TEST(!item.contains("Secret"));
            for (const Attribute& attribute : item) {
                BOOST_TEST((attribute.value != AttributeValue(secret)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(shows_the_current_state) {
    Shop shop;
    const auto held = [&] { return all_at(scanned(shop, "rocklock.locks"), "Principal"); };
    BOOST_TEST(held().empty());
    Guard guard = Shop::lock(shop.ann, "orders/1", Mode::read);
    BOOST_TEST(held() == std::vector<std::string>{"ann"}, boost::test_tools::per_element());
    const auto mode = [&] {
        const auto item = item_at(shop, "rocklock.locks", lock_key("orders/1", guard.id()));
        return item ? text_at(*item, "Mode") : "none";
    };
    BOOST_TEST(mode() == "read");
    guard.convert(Mode::exclusive).value();
    BOOST_TEST(mode() == "exclusive");
    const GrantId id = guard.id();
    guard.release().value();
    BOOST_TEST(held().empty());
    BOOST_TEST(!item_at(shop, "rocklock.locks", lock_key("orders/1", id)).has_value());
}

// The expired lock has not been removed yet, but is not shown.
BOOST_AUTO_TEST_CASE(has_no_expired_locks) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    shop.sleep(9s);
    BOOST_TEST(scanned(shop, "rocklock.locks").size() == 1U);
    shop.sleep(2s);
    BOOST_TEST(scanned(shop, "rocklock.locks").empty());
    BOOST_TEST(shop.tables->query(query_of("rocklock.locks", "orders/1")).value().count == 0U);
    BOOST_TEST(!item_at(shop, "rocklock.locks", lock_key("orders/1", guard.id())).has_value());
    BOOST_TEST(scanned(shop, "rocklock.sessions").empty());
    guard.detach();
}

BOOST_AUTO_TEST_CASE(has_the_grants_of_one_resource_in_their_order) {
    Shop shop;
    std::vector<Session> sessions;
    std::vector<Guard> guards;
    std::vector<std::string> grants;
    for (int i = 0; i < 7; ++i) {
        sessions.push_back(shop.database->open_session("reader").value());
        guards.push_back(Shop::lock(sessions.back(), "orders/1", Mode::read));
        grants.push_back(std::to_string(number(guards.back().id())));
    }
    const Guard other = Shop::lock(shop.bob, "orders/11");
    Query query = query_of("rocklock.locks", "orders/1");
    const auto ask = [&](const Query& request) { return shop.tables->query(request); };
    BOOST_TEST(all_at(ask(query).value().items, "Grant") == grants,
               boost::test_tools::per_element());
    BOOST_TEST(all_at(all_pages(query, 2, ask), "Grant") == grants,
               boost::test_tools::per_element());
    query.forward = false;
    std::reverse(grants.begin(), grants.end());
    BOOST_TEST(all_at(all_pages(query, 3, ask), "Grant") == grants,
               boost::test_tools::per_element());
    query.expressions.key_condition = "#r = :r AND #g BETWEEN :a AND :b";
    query.expressions.placeholders.names->push_back({"#g", "Grant"});
    query.expressions.placeholders.values->push_back(
        {":a", AttributeValue(Number(number(guards[2].id())))});
    query.expressions.placeholders.values->push_back(
        {":b", AttributeValue(Number(number(guards[4].id())))});
    const std::vector<std::string> middle(grants.begin() + 2, grants.begin() + 5);
    BOOST_TEST(all_at(ask(query).value().items, "Grant") == middle,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(has_pages_and_segments) {
    Shop shop;
    std::vector<Guard> guards;
    std::set<std::string> resources;
    for (int i = 0; i < 60; ++i) {
        // Some names are prefixes of others.
        const std::string resource = "orders/" + std::to_string(i);
        resources.insert(resource);
        guards.push_back(Shop::lock(shop.ann, resource));
    }
    const auto ask = [&](const Scan& request) { return shop.tables->scan(request); };
    const auto in_one = all_at(scanned(shop, "rocklock.locks"), "Resource");
    BOOST_TEST(std::set<std::string>(in_one.begin(), in_one.end()) == resources,
               boost::test_tools::per_element());
    BOOST_TEST(in_one.size() == resources.size());
    for (const std::int64_t limit : {1, 7, 59, 60, 61}) {
        const auto pages = all_pages(scan_of("rocklock.locks"), limit, ask);
        BOOST_TEST(all_at(pages, "Resource") == in_one, boost::test_tools::per_element());
    }
    std::vector<std::string> in_segments;
    for (std::int64_t segment = 0; segment < 5; ++segment) {
        Scan scan = scan_of("rocklock.locks");
        scan.segment = segment;
        scan.total_segments = 5;
        const auto part = all_at(all_pages(scan, 4, ask), "Resource");
        BOOST_TEST((!part.empty() && part.size() < resources.size()));
        in_segments.insert(in_segments.end(), part.begin(), part.end());
    }
    BOOST_TEST(in_segments == in_one, boost::test_tools::per_element());
}

// More locks than one step scans, and more than fit on a page.
BOOST_AUTO_TEST_CASE(is_whole_when_it_is_large) {
    Shop shop;
    std::vector<Guard> guards;
    for (int set = 0; set < 50; ++set) {
        std::vector<LockRequest> locks;
        for (int i = 0; i < 100; ++i) {
            locks.push_back(lock_of("orders/" + std::to_string(set * 100 + i)));
        }
        guards.push_back(shop.ann.acquire(locks).value());
    }
    const auto ask = [&](const Scan& request) { return shop.tables->scan(request); };
    const Page first = ask(scan_of("rocklock.locks")).value();
    BOOST_TEST((first.scanned > 0 && first.scanned <= 2'000 && first.last_key));
    const auto names = all_at(all_pages(scan_of("rocklock.locks"), 1'500, ask), "Resource");
    BOOST_TEST(names.size() == 5'000U);
    BOOST_TEST(std::set<std::string>(names.begin(), names.end()).size() == 5'000U);
}

BOOST_AUTO_TEST_CASE(is_filtered_and_projected_like_other_tables) {
    Shop shop;
    const Guard anns = Shop::lock(shop.ann, "orders/1");
    const Guard bobs = Shop::lock(shop.bob, "orders/2");
    Scan scan = scan_of("rocklock.locks");
    scan.expressions.filter = "#p = :p AND #m <> :m AND #l > :l";
    scan.expressions.projection = "#r, #g";
    scan.expressions.placeholders.names = {{"#p", "Principal"},
                                           {"#m", "Mode"},
                                           {"#l", "RemainingMs"},
                                           {"#r", "Resource"},
                                           {"#g", "Grant"}};
    scan.expressions.placeholders.values = {{":p", AttributeValue("bob")},
                                            {":m", AttributeValue("read")},
                                            {":l", AttributeValue(Number(1'000))}};
    scan.options.return_capacity = ReturnCapacity::total;
    const Page page = shop.tables->scan(scan).value();
    BOOST_TEST(page.scanned == 2U);
    BOOST_TEST_REQUIRE(page.count == 1U);
    BOOST_TEST((page.items.at(0) == Item(lock_key("orders/2", bobs.id()))));
    BOOST_TEST_REQUIRE(page.consumed.has_value());
    BOOST_TEST(page.consumed->table == "rocklock.locks");
    BOOST_TEST(page.consumed->units == 0.5);
    scan.expressions.projection.reset();
    scan.expressions.placeholders.names->resize(3);
    scan.options.select = Select::count;
    BOOST_TEST(shop.tables->scan(scan).value().count == 1U);
    scan.options.index = "by-principal";
    BOOST_TEST(outcome(shop.tables->scan(scan)) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(returns_no_items_for_impossible_keys) {
    Shop shop;
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    const auto found = [&](AttributeValue grant) {
        const AttributeMap key{{"Resource", "orders/1"}, {"Grant", std::move(grant)}};
        return item_at(shop, "rocklock.locks", key).has_value();
    };
    const auto id = number(guard.id());
    BOOST_TEST(found(AttributeValue(Number(id))));
    BOOST_TEST(!found(AttributeValue(Number(id + 1))));
    BOOST_TEST(!found(AttributeValue(Number(0))));
    BOOST_TEST(!found(AttributeValue(Number(-1))));
    BOOST_TEST(!found(AttributeValue(Number::parse("1.5").value())));
    BOOST_TEST(!found(AttributeValue(Number::parse("1e100").value())));
    BOOST_TEST(!item_at(shop, "rocklock.locks", lock_key("orders/2", guard.id())).has_value());
    BOOST_TEST(!item_at(shop, "rocklock.sessions", {{"Session", "no session"}}).has_value());
    // The key must have the attributes of the table's key.
    const AttributeMap strange{{"Resource", "orders/1"}};
    BOOST_TEST(outcome(shop.tables->get_item(get_of("rocklock.locks", strange))) ==
               "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_table_of_sessions)

BOOST_AUTO_TEST_CASE(has_the_members_of_a_session) {
    Shop shop;
    SessionOptions options = Shop::with_lease(20s);
    options.note = "at the desk";
    Session cleo = shop.database->open_session("cleo", options).value();
    const Guard guard = Shop::lock(cleo, "orders/1");
    const auto item =
        item_at(shop, "rocklock.sessions", {{"Session", AttributeValue(to_string(cleo.id()))}});
    BOOST_TEST_REQUIRE(item.has_value());
    const std::vector<std::string> names{"Bound",     "Deadline",    "Grants",   "LeaseMs",
                                         "Metadata",  "Note",        "OpenedAt", "Pid",
                                         "Principal", "RemainingMs", "Session",  "Uid"};
    BOOST_TEST(names_of(*item) == names, boost::test_tools::per_element());
    BOOST_TEST(text_at(*item, "Principal") == "cleo");
    BOOST_TEST(text_at(*item, "Bound") == "none");
    BOOST_TEST(text_at(*item, "LeaseMs") == "20000");
    BOOST_TEST(text_at(*item, "Note") == "at the desk");
    BOOST_TEST(text_at(*item, "Grants") == "1");
    const auto ask = [&](const Scan& request) { return shop.tables->scan(request); };
    auto principals = all_at(all_pages(scan_of("rocklock.sessions"), 1, ask), "Principal");
    std::sort(principals.begin(), principals.end());
    BOOST_TEST(principals == (std::vector<std::string>{"ann", "bob", "cleo"}),
               boost::test_tools::per_element());
    cleo.close().value();
    BOOST_TEST(scanned(shop, "rocklock.sessions").size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_table_of_classes)

BOOST_AUTO_TEST_CASE(has_the_members_of_a_class) {
    Shop shop;
    BOOST_TEST(scanned(shop, "rocklock.classes").empty());
    LockClass orders;
    orders.pattern = "orders/*";
    orders.policy = Policy::read_write;
    orders.max_hold = 5min;
    orders.dependants = {{"stock", Mode::read}};
    shop.database->put_class(orders).value();
    LockClass other;
    other.pattern = "other";
    shop.database->put_class(other).value();
    const auto item = item_at(shop, "rocklock.classes", {{"Pattern", "orders/*"}});
    BOOST_TEST_REQUIRE(item.has_value());
    BOOST_TEST(text_at(*item, "Policy") == "read_write");
    BOOST_TEST(text_at(*item, "MaxHoldMs") == "300000");
    BOOST_TEST(text_at(*item, "LeaseMs") == "30000");
    BOOST_TEST(text_at(*item, "Steal") == "never");
    AttributeList dependants;
    dependants.emplace_back(AttributeMap{{"Resource", "stock"}, {"Mode", "read"}});
    BOOST_TEST((*item->find("Dependants") == AttributeValue(dependants)));
    const auto ask = [&](const Scan& request) { return shop.tables->scan(request); };
    BOOST_TEST(all_pages(scan_of("rocklock.classes"), 1, ask).size() == 2U);
    shop.database->delete_class("orders/*").value();
    BOOST_TEST(
        all_at(scanned(shop, "rocklock.classes"), "Pattern") == std::vector<std::string>{"other"},
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_table_of_the_history)

BOOST_AUTO_TEST_CASE(has_the_events_of_a_resource_in_their_order) {
    Shop shop(some_events);
    const Guard other = Shop::lock(shop.bob, "orders/2");
    Guard guard = Shop::lock(shop.ann, "orders/1", Mode::read);
    guard.convert(Mode::write).value();
    const GrantId id = guard.id();
    guard.release().value();
    Query query = query_of("rocklock.history", "orders/1");
    const auto ask = [&](const Query& request) { return shop.tables->query(request); };
    const auto items = ask(query).value().items;
    std::vector<std::string> types{"granted", "converted", "released"};
    BOOST_TEST(all_at(items, "Type") == types, boost::test_tools::per_element());
    const auto watched = shop.database->service().watch({"orders/1", 0, 10, 0ms}).value().events;
    BOOST_TEST_REQUIRE(watched.size() == items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string sequence = std::to_string(watched[i].sequence);
        BOOST_TEST(text_at(items[i], "Sequence") == sequence);
        BOOST_TEST(text_at(items[i], "Grant") == std::to_string(number(id)));
        const auto alone = item_at(
            shop, "rocklock.history",
            {{"Resource", "orders/1"}, {"Sequence", AttributeValue(Number(watched[i].sequence))}});
        BOOST_TEST((alone == items[i]));
    }
    const std::vector<std::string> names{"At",       "Grant",    "Mode",  "Principal",
                                         "Resource", "Sequence", "Token", "Type"};
    BOOST_TEST(names_of(items.front()) == names, boost::test_tools::per_element());
    query.forward = false;
    std::reverse(types.begin(), types.end());
    BOOST_TEST(all_at(all_pages(query, 1, ask), "Type") == types, boost::test_tools::per_element());
    // The event belongs to a different resource.
    const auto foreign = shop.database->service().watch({"orders/2", 0, 1, 0ms}).value().events;
    const AttributeMap mixed{{"Resource", "orders/1"},
                             {"Sequence", AttributeValue(Number(foreign.at(0).sequence))}};
    BOOST_TEST(!item_at(shop, "rocklock.history", mixed).has_value());
    BOOST_TEST(scanned(shop, "rocklock.history").size() == 4U);
}

BOOST_AUTO_TEST_CASE(has_as_many_as_are_kept) {
    Shop shop(3'000);
    for (int i = 0; i < 2'000; ++i) {
        Shop::lock(shop.ann, "orders/" + std::to_string(i % 7)).release().value();
    }
    const auto ask = [&](const Scan& request) { return shop.tables->scan(request); };
    BOOST_TEST(all_pages(scan_of("rocklock.history"), 700, ask).size() == 3'000U);
}

BOOST_AUTO_TEST_CASE(reports_that_no_events_are_kept) {
    Shop shop;
    const auto page = shop.tables->scan(scan_of("rocklock.history"));
    BOOST_TEST_REQUIRE(outcome(page) == "invalid_argument");
    BOOST_TEST(page.error().message ==
               "this lock manager keeps no events: open the store with events_kept");
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Several tables together ----

BOOST_AUTO_TEST_SUITE(the_tables_of_the_lock_table)

BOOST_AUTO_TEST_CASE(are_read_together_with_others) {
    Shop shop(some_events);
    BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "old")).has_value());
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    LockClass orders;
    orders.pattern = "orders/*";
    shop.database->put_class(orders).value();
    const auto event = shop.database->service().watch({"orders/1", 0, 1, 0ms}).value().events.at(0);
    const std::vector<GetItem> gets{
        get_of("rocklock.locks", lock_key("orders/1", guard.id())),
        get_of("orders", {{"id", "1"}}),
        get_of("rocklock.sessions", {{"Session", AttributeValue(to_string(shop.ann.id()))}}),
        get_of("rocklock.classes", {{"Pattern", "orders/*"}}),
        get_of("rocklock.history",
               {{"Resource", "orders/1"}, {"Sequence", AttributeValue(Number(event.sequence))}}),
        get_of("rocklock.locks", lock_key("orders/2", guard.id())),
    };
    TransactGet together;
    together.gets = gets;
    const auto items = shop.tables->transact_get(together).value().items;
    BOOST_TEST_REQUIRE(items.size() == 6U);
    for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(items[i].has_value());
    BOOST_TEST(!items[5].has_value());
    BOOST_TEST(text_at(*items[1], "text") == "old");
    BOOST_TEST(text_at(*items[4], "Type") == "granted");
    BatchGet batch;
    for (std::size_t i = 0; i < 5; ++i) {
        BatchGet::Keys keys;
        keys.table = gets[i].table;
        keys.keys = {gets[i].key};
        batch.tables.push_back(keys);
    }
    const auto answer = shop.tables->batch_get(batch).value();
    BOOST_TEST_REQUIRE(answer.tables.size() == 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(answer.tables[i].items.size() == 1U);
        BOOST_TEST((answer.tables[i].items.at(0) == *items[i]));
    }
}

BOOST_AUTO_TEST_CASE(are_described_but_not_listed) {
    Shop shop;
    const auto locks = shop.tables->describe_table("rocklock.locks").value();
    BOOST_TEST(locks.arn == "arn:aws:dynamodb:local:000000000000:table/rocklock.locks");
    BOOST_TEST_REQUIRE(locks.key.size() == 2U);
    BOOST_TEST(locks.key[0].attribute == "Resource");
    BOOST_TEST(locks.key[1].attribute == "Grant");
    BOOST_TEST(shop.tables->describe_table("rocklock.sessions").value().key.size() == 1U);
    BOOST_TEST(outcome(shop.tables->describe_table("rocklock.waits")) == "resource_not_found");
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    const auto by_arn = item_at(shop, locks.arn, lock_key("orders/1", guard.id()));
    BOOST_TEST(by_arn.has_value());
    BOOST_TEST(
        shop.tables->list_tables({}).value().names == (std::vector<std::string>{"lines", "orders"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cannot_be_written) {
    Shop shop(some_events);
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    const auto before = scanned(shop, "rocklock.locks");
    const std::string text =
        "Table rocklock.locks shows the data of the lock manager and is read-only";
    const auto refused = [&](const auto& result) {
        BOOST_TEST_REQUIRE(outcome(result) == "invalid_argument");
        BOOST_TEST(result.error().message == text);
    };
    WriteItem write;
    write.table = "rocklock.locks";
    write.item = lock_key("orders/1", guard.id());
    write.proof = guard.proof();
    for (const Kind kind : {Kind::put, Kind::update, Kind::remove}) {
        write.kind = kind;
        refused(shop.tables->write_item(write));
        BOOST_TEST((shop.tables->begin_write(write) == nullptr));
        TransactWrite transaction;
        transaction.actions = {order("1", "new"), write};
        if (kind == Kind::update) transaction.actions[1].expressions.update = "REMOVE Note";
        refused(shop.tables->transact_write(transaction));
    }
    BatchWrite batch;
    batch.writes = {order("1", "new"), write};
    refused(shop.tables->batch_write(batch));
    BOOST_TEST(text_of(shop, "1") == "none");
    refused(shop.tables->delete_table("rocklock.locks"));
    UpdateTable update;
    update.table = "rocklock.locks";
    update.deletion_protection = false;
    refused(shop.tables->update_table(update));
    refused(shop.tables->update_time_to_live({"rocklock.locks", "RemainingMs", true}));
    TagResource tag;
    tag.resource = "arn:aws:dynamodb:local:000000000000:table/rocklock.locks";
    tag.tags = {{"a", "b"}};
    refused(shop.tables->tag_resource(tag));
    BOOST_TEST(outcome(shop.tables->bind_table({"rocklock.locks", "x", false})) ==
               "invalid_argument");
    CreateTable create;
    create.table = "rocklock.sessions";
    create.attributes = {{"Session", AttributeType::string}};
    create.key = {{"Session", KeyType::hash}};
    create.billing = BillingMode::pay_per_request;
    BOOST_TEST(outcome(shop.tables->create_table(create)) == "invalid_argument");
    BOOST_TEST((scanned(shop, "rocklock.locks") == before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
