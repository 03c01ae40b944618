// Time to live, tags, ARNs and limits: the settings of a table besides its keys and indexes.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

const std::string arn = "arn:aws:dynamodb:local:000000000000:table/orders";
const std::string unknown_arn = "arn:aws:dynamodb:local:000000000000:table/nosuch";
const std::string foreign_arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders";

struct WithTable : Tables {
    WithTable() { service->create_table(table_of("orders", "pk S")).value(); }

    std::string time_to_live(std::string table, std::string attribute, bool enabled) {
        return error_of(
            service->update_time_to_live({std::move(table), std::move(attribute), enabled}));
    }
    Tags all_tags() {
        Tags tags;
        ListTagsOfResource request{arn, {}};
        do {
            const auto page = service->list_tags_of_resource(request).value();
            BOOST_TEST(page.tags.size() <= 10U);
            tags.insert(page.tags.begin(), page.tags.end());
            request.next_token = page.next_token;
        } while (request.next_token);
        return tags;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_time_to_live, WithTable)

BOOST_AUTO_TEST_CASE(is_enabled_and_disabled_and_survives_a_restart) {
    BOOST_TEST(!service->describe_time_to_live("orders").value().enabled);
    const auto answer = service->update_time_to_live({"orders", "expires", true}).value();
    BOOST_TEST(answer.attribute == "expires");
    BOOST_TEST(answer.enabled);
    for (int round = 0; round < 2; ++round) {
        const auto found = service->describe_time_to_live("orders").value();
        BOOST_TEST(found.enabled);
        BOOST_TEST(found.attribute == "expires");
        reopen();
    }
    BOOST_TEST(!service->update_time_to_live({"orders", "expires", false}).value().enabled);
    for (int round = 0; round < 2; ++round) {
        const auto found = service->describe_time_to_live("orders").value();
        BOOST_TEST(!found.enabled);
        BOOST_TEST(found.attribute.empty());
        reopen();
    }
}

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    BOOST_TEST(time_to_live("orders", "expires", false) ==
               "invalid_argument: TimeToLive is already disabled");
    BOOST_TEST(time_to_live("orders", "expires", true).empty());
    BOOST_TEST(time_to_live("orders", "expires", true) ==
               "invalid_argument: TimeToLive is already enabled");
    for (const bool enabled : {true, false}) {
        BOOST_TEST(time_to_live("orders", "other", enabled) ==
                   "invalid_argument: TimeToLive is active on a different AttributeName: current "
                   "AttributeName is expires");
    }
    BOOST_TEST(time_to_live("nosuch", "expires", true) ==
               "resource_not_found: Requested resource not found: Table: nosuch not found");
    BOOST_TEST(error_of(service->describe_time_to_live("nosuch")) ==
               "resource_not_found: Requested resource not found: Table: nosuch not found");
    BOOST_TEST(time_to_live("orders", "", true) ==
               "invalid_argument: 1 validation error detected: Value '' at "
               "'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must "
               "have length greater than or equal to 1");
    const std::string long_name(256, 'x');
    BOOST_TEST(time_to_live("orders", long_name, true).ends_with("less than or equal to 255"));
    BOOST_TEST(time_to_live("orders", long_name.substr(1), false).ends_with("is expires"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_region)

BOOST_AUTO_TEST_CASE(is_in_arns_and_is_lower_case) {
    testing::SimulatedClock clock;
    const auto storage = make_memory_storage(clock);
    TableOptions options;
    for (const std::string& region : {std::string(), std::string("EU"), std::string("a b"),
                                      std::string(64, 'a'), std::string("a:b")}) {
        options.region = region;
        BOOST_TEST(error_of(open_tables(*storage, clock, options)) ==
                   "invalid_argument: the region is '" + region +
                       "': write 1 to 63 lower-case letters, digits and hyphens, as in eu-west-1");
    }
    options.region = "eu-west-1";
    const auto tables = open_tables(*storage, clock, options).value();
    BOOST_TEST(tables->create_table(table_of("orders", "pk S")).value().arn ==
               "arn:aws:dynamodb:eu-west-1:000000000000:table/orders");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_tag, WithTable)

BOOST_AUTO_TEST_CASE(is_set_changed_removed_and_survives_a_restart) {
    service->tag_resource({arn, {{"team", "billing"}, {"stage", "test"}}}).value();
    service->tag_resource({arn, {{"stage", "live"}, {"empty", ""}}}).value();
    BOOST_TEST((all_tags() == Tags{{"empty", ""}, {"stage", "live"}, {"team", "billing"}}));
    // Removing a tag that does not exist is not an error.
    service->untag_resource({arn, {"team", "nosuch"}}).value();
    service->untag_resource({arn, {"team"}}).value();
    BOOST_TEST((all_tags() == Tags{{"empty", ""}, {"stage", "live"}}));
    reopen();
    BOOST_TEST((all_tags() == Tags{{"empty", ""}, {"stage", "live"}}));
}

BOOST_AUTO_TEST_CASE(is_one_of_fifty_at_most_and_listed_page_by_page) {
    Tags tags;
    for (int i = 0; i < 50; ++i) tags["key " + std::to_string(i)] = std::to_string(i);
    service->tag_resource({arn, tags}).value();
    BOOST_TEST((all_tags() == tags));
    BOOST_TEST(error_of(service->tag_resource({arn, {{"one more", ""}}})) ==
               "invalid_argument: Number of Tags exceed the current limit for the provided "
               "ResourceArn");
    // Replacing an existing tag is possible at the limit.
    service->tag_resource({arn, {{"key 7", "seven"}}}).value();
    BOOST_TEST(all_tags().size() == 50U);
    auto wanted = table_of("others", "pk S");
    wanted.tags = tags;
    wanted.tags["one more"] = "";
    BOOST_TEST((service->create_table(wanted).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    const auto tagged = [this](std::string key, std::string value) {
        return error_of(service->tag_resource({arn, {{std::move(key), std::move(value)}}}));
    };
    BOOST_TEST(tagged("aws:x", "") ==
               "invalid_argument: Tag Key cannot be prefixed with aws:, Key: aws:x");
    BOOST_TEST(tagged("hi!", "") == "invalid_argument: The Tag Key provided is invalid, Key: hi!");
    BOOST_TEST(tagged("x", "a\tb") ==
               "invalid_argument: The Tag Value provided is invalid, Value: a\tb");
    BOOST_TEST(tagged("a b_c.d:e/f=g+h-i@j", "a b_c.d:e/f=g+h-i@j").empty());
    BOOST_TEST(tagged("", "") ==
               "invalid_argument: 1 validation error detected: Value '' at 'tags.1.member.key' "
               "failed to satisfy constraint: Member must have length greater than or equal to 1");
    BOOST_TEST(tagged(std::string(129, 'x'), "").ends_with("less than or equal to 128"));
    BOOST_TEST(tagged("x", std::string(257, 'x')).ends_with("less than or equal to 256"));
    // Characters are counted, not bytes.
    std::string umlauts;
    for (int i = 0; i < 128; ++i) umlauts += "\u00e4";
    BOOST_TEST(tagged(umlauts, umlauts + umlauts).empty());
    BOOST_TEST(error_of(service->tag_resource({arn, {}})) ==
               "invalid_argument: Atleast one Tag needs to be provided as Input.");
    BOOST_TEST(error_of(service->untag_resource({arn, {}})) ==
               "invalid_argument: Atleast one Tag Key needs to be provided as Input.");
    BOOST_TEST(error_of(service->list_tags_of_resource({"orders", {}})) ==
               "invalid_argument: Invalid TableArn: Invalid ResourceArn provided as input orders");
    for (const std::string& other : {unknown_arn, foreign_arn}) {
        const std::string text =
            "resource_not_found: Requested resource not found: ResourcArn: " + other + " not found";
        BOOST_TEST(error_of(service->tag_resource({other, {{"x", ""}}})) == text);
        BOOST_TEST(error_of(service->untag_resource({other, {"x"}})) == text);
        BOOST_TEST(error_of(service->list_tags_of_resource({other, {}})) == text);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(an_arn, WithTable)

BOOST_AUTO_TEST_CASE(is_reported_for_tables_and_indexes) {
    auto wanted = table_of("others", "pk S");
    add_index(wanted, "gidx", "g S");
    TableOptions options;
    options.region = "eu-central-1";
    options.account = "123456789012";
    service.reset();
    service = open_tables(*storage, clock, options).value();
    const auto made = service->create_table(wanted).value();
    BOOST_TEST(made.arn == "arn:aws:dynamodb:eu-central-1:123456789012:table/others");
    BOOST_TEST(made.global_indexes.at(0).arn == made.arn + "/index/gidx");
    BOOST_TEST(service->describe_table(made.arn).value().arn == made.arn);
}

BOOST_AUTO_TEST_CASE(can_replace_the_name_in_every_request) {
    service->write_item(put(arn, {{"pk", "a"}})).value();
    BOOST_TEST(service->get_item(get("orders", {{"pk", "a"}})).value().item.has_value());
    BOOST_TEST(service->get_item(get(arn, {{"pk", "a"}})).value().item.has_value());
    Scan scan;
    scan.table = arn;
    BOOST_TEST(service->scan(scan).value().count == 1U);
    Query query;
    query.table = arn;
    query.expressions.key_condition = "pk = :p";
    query.expressions.placeholders.values = {{{":p", "a"}}};
    BOOST_TEST(service->query(query).value().count == 1U);
    BatchWrite batch;
    batch.writes = {put(arn, {{"pk", "b"}}), put("orders", {{"pk", "c"}})};
    service->batch_write(batch).value();
    // The ARN and the name refer to the same item.
    batch.writes = {put(arn, {{"pk", "b"}}), put("orders", {{"pk", "b"}})};
    BOOST_TEST(error_of(service->batch_write(batch)) ==
               "invalid_argument: Provided list of item keys contains duplicates");
    BatchGet batch_get;
    batch_get.tables.push_back({arn, {{{"pk", "a"}}, {{"pk", "b"}}}, false, {}});
    const auto got = service->batch_get(batch_get).value();
    BOOST_TEST(got.tables.at(0).table == arn);
    BOOST_TEST(got.tables.at(0).items.size() == 2U);
    TransactWrite transaction;
    transaction.actions = {remove(arn, {{"pk", "c"}})};
    transaction.token = "token";
    service->transact_write(transaction).value();
    // With the ARN or the name, it is the same request.
    transaction.actions.at(0).table = "orders";
    service->transact_write(transaction).value();
    BOOST_TEST(service->describe_table(arn).value().item_count == 2U);
    BOOST_TEST(service->describe_table(arn).value().name == "orders");
    BOOST_TEST(service->describe_time_to_live(arn).value().enabled == false);
    UpdateTable change;
    change.table = arn;
    change.deletion_protection = true;
    BOOST_TEST(service->update_table(change).value().deletion_protection);
    auto wanted = table_of("arn:aws:dynamodb:local:000000000000:table/others", "pk S");
    BOOST_TEST(service->create_table(wanted).value().name == "others");
    BOOST_TEST(service->delete_table(wanted.table).value().name == "others");
}

BOOST_AUTO_TEST_CASE(of_another_region_or_account_names_no_table) {
    BOOST_TEST(error_of(service->get_item(get(foreign_arn, {{"pk", "a"}}))) ==
               "resource_not_found: Requested resource not found");
    BOOST_TEST(error_of(service->describe_table(foreign_arn)) ==
               "resource_not_found: Requested resource not found: Table: " + foreign_arn +
                   " not found");
    BOOST_TEST((service->create_table(table_of(foreign_arn, "pk S")).error().code ==
                ErrorCode::invalid_argument));
    for (const char* wrong : {"arn:aws:dynamodb:local:000000000000:table/a",
                              "arn:aws:dynamodb:local:000000000000:stream/orders",
                              "arn:aws:dynamodb:local:x:table/orders", "arn:aws:s3:::orders"}) {
        const auto text = error_of(service->describe_table(wrong));
        BOOST_TEST(text.ends_with("pattern: [a-zA-Z0-9_.-]+"), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_service, Tables)

BOOST_AUTO_TEST_CASE(reserves_names_for_its_own_tables) {
    BOOST_TEST(error_of(service->create_table(table_of("rocklock.locks", "pk S"))) ==
               "invalid_argument: Table names that begin with 'rocklock.' are reserved: "
               "rocklock.locks");
    service->create_table(table_of("rocklock-locks", "pk S")).value();
}

BOOST_AUTO_TEST_CASE(describes_the_limits_of_an_account) {
    const auto limits = service->describe_limits();
    BOOST_TEST(limits.account_read_units == 80'000);
    BOOST_TEST(limits.account_write_units == 80'000);
    BOOST_TEST(limits.table_read_units == 40'000);
    BOOST_TEST(limits.table_write_units == 40'000);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
