#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

std::string create_error(Tables& tables, const CreateTable& request) {
    const auto text = error_of(tables->create_table(request));
    constexpr std::string_view code = "invalid_argument: ";
    constexpr std::string_view parameters = "One or more parameter values were invalid: ";
    std::string_view rest = text;
    if (rest.starts_with(code)) rest.remove_prefix(code.size());
    if (rest.starts_with(parameters)) rest.remove_prefix(parameters.size());
    return std::string(rest);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_table, Tables)

BOOST_AUTO_TEST_CASE(is_described_as_it_was_created) {
    auto wanted = table_of("orders", "pk S", "sk N");
    add_index(wanted, "gidx", "g B", "sk N");
    SecondaryIndex local;
    local.name = "lidx";
    local.key = {{"pk", KeyType::hash}, {"g", KeyType::range}};
    local.projection = IndexProjection{ProjectionType::include, std::vector<std::string>{"v"}};
    wanted.local_indexes = {local};
    wanted.deletion_protection = true;
    service->create_table(wanted).value();
    for (int round = 0; round < 2; ++round) {
        const auto found = service->describe_table("orders").value();
        BOOST_TEST(found.name == "orders");
        BOOST_TEST(found.id.size() == 36U);
        BOOST_TEST((found.key == wanted.key));
        BOOST_TEST(found.attributes.size() == 3U);
        BOOST_TEST((found.billing == BillingMode::pay_per_request));
        BOOST_TEST(found.deletion_protection);
        BOOST_TEST((found.local_indexes.at(0).key == local.key));
        BOOST_TEST((found.local_indexes.at(0).projection == *local.projection));
        BOOST_TEST(found.global_indexes.at(0).name == "gidx");
        BOOST_TEST((found.global_indexes.at(0).status == IndexStatus::active));
        reopen();
    }
}

BOOST_AUTO_TEST_CASE(is_created_once) {
    service->create_table(table_of("orders", "pk S")).value();
    BOOST_TEST(error_of(service->create_table(table_of("orders", "pk S"))) ==
               "resource_in_use: Table already exists: orders");
}

BOOST_AUTO_TEST_CASE(loses_its_items_when_it_is_deleted) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    const auto first = service->create_table(wanted).value();
    service->write_item(put("orders", {{"pk", "a"}, {"g", "x"}})).value();
    BOOST_TEST(service->delete_table("orders").value().id == first.id);
    BOOST_TEST(error_of(service->describe_table("orders")) ==
               "resource_not_found: Requested resource not found: Table: orders not found");
    BOOST_TEST(error_of(service->delete_table("orders")) ==
               "resource_not_found: Requested resource not found: Table: orders not found");
    BOOST_TEST(rows(Family::items) + rows(Family::index) == 0U);
    const auto second = service->create_table(wanted).value();
    BOOST_TEST(second.id != first.id);
    BOOST_TEST(!service->get_item(get("orders", {{"pk", "a"}})).value().item);
}

BOOST_AUTO_TEST_CASE(is_not_deleted_while_it_is_protected) {
    auto wanted = table_of("orders", "pk S");
    wanted.deletion_protection = true;
    service->create_table(wanted).value();
    BOOST_TEST(error_of(service->delete_table("orders")) ==
               "invalid_argument: Resource cannot be deleted as it is currently protected against "
               "deletion. Disable deletion protection first.");
    UpdateTable change;
    change.table = "orders";
    change.deletion_protection = false;
    BOOST_TEST(!service->update_table(change).value().deletion_protection);
    service->delete_table("orders").value();
}

BOOST_AUTO_TEST_CASE(is_listed_by_name_page_by_page) {
    for (const auto* name : {"bbb", "aaa", "Zzz", "ccc"}) {
        service->create_table(table_of(name, "pk S")).value();
    }
    using Names = std::vector<std::string>;
    BOOST_TEST((service->list_tables({}).value().names == Names{"Zzz", "aaa", "bbb", "ccc"}));
    auto page = service->list_tables({"", 3}).value();
    BOOST_TEST((page.names == Names{"Zzz", "aaa", "bbb"}));
    BOOST_TEST(page.last.value() == "bbb");
    page = service->list_tables({"bbbb", 3}).value();
    BOOST_TEST((page.names == Names{"ccc"}));
    BOOST_TEST(!page.last);
    // The limit equals the number of tables.
    BOOST_TEST(!service->list_tables({"", 4}).value().last);
    BOOST_TEST(error_of(service->list_tables({"", 101})) ==
               "invalid_argument: 1 validation error detected: Value '101' at 'limit' failed to "
               "satisfy constraint: Member must have value less than or equal to 100");
}

BOOST_AUTO_TEST_CASE(changes_its_throughput_and_its_billing) {
    auto wanted = table_of("orders", "pk S");
    wanted.billing = BillingMode::provisioned;
    wanted.throughput = ProvisionedThroughput{5, 3};
    service->create_table(wanted).value();
    UpdateTable change;
    change.table = "orders";
    BOOST_TEST(error_of(service->update_table(change))
                   .starts_with("invalid_argument: At least one of ProvisionedThroughput"));
    change.throughput = ProvisionedThroughput{7, 2};
    BOOST_TEST((service->update_table(change).value().throughput == change.throughput));
    BOOST_TEST((service->update_table(change).error().code == ErrorCode::invalid_argument));
    change.throughput.reset();
    change.billing = BillingMode::pay_per_request;
    const auto answer = service->update_table(change).value();
    BOOST_TEST((answer.billing == BillingMode::pay_per_request));
    BOOST_TEST((answer.throughput == ProvisionedThroughput{}));
}

BOOST_AUTO_TEST_CASE(has_one_thing_changed_by_a_call) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    service->create_table(wanted).value();
    UpdateTable change;
    change.table = "orders";
    change.throughput = ProvisionedThroughput{5, 3};
    BOOST_TEST(error_of(service->update_table(change)) ==
               "invalid_argument: One or more parameter values were invalid: Neither "
               "ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
               "PAY_PER_REQUEST");
    change.billing = BillingMode::provisioned;
    BOOST_TEST(error_of(service->update_table(change)) ==
               "invalid_argument: One or more parameter values were invalid: "
               "ProvisionedThroughput must be specified for index: gidx");
    change.deletion_protection = true;
    BOOST_TEST(error_of(service->update_table(change))
                   .starts_with("invalid_argument: One or more parameter values were invalid: Only "
                                "one of these can be changed by one call"));
    BOOST_TEST((service->describe_table("orders").value().billing == BillingMode::pay_per_request));
    change.deletion_protection.reset();
    SecondaryIndex index;
    index.name = "gidx";
    index.throughput = ProvisionedThroughput{2, 1};
    change.global_index_updates.emplace().push_back({{}, index, {}});
    const auto answer = service->update_table(change).value();
    BOOST_TEST((answer.throughput == ProvisionedThroughput{5, 3}));
    BOOST_TEST((answer.global_indexes.at(0).throughput == ProvisionedThroughput{2, 1}));
    change.billing.reset();
    change.throughput.reset();
    BOOST_TEST(error_of(service->update_table(change))
                   .starts_with("invalid_argument: The provisioned throughput for the index gidx "
                                "will not change."));
    change = {};
    change.table = "orders";
    change.billing = BillingMode::provisioned;
    BOOST_TEST(error_of(service->update_table(change)) ==
               "invalid_argument: One or more parameter values were invalid: "
               "ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
    change.billing.reset();
    change.deletion_protection = true;
    change.attributes = {{"pk", AttributeType::string}, {"unused", AttributeType::string}};
    BOOST_TEST(error_of(service->update_table(change))
                   .starts_with("invalid_argument: One or more parameter values were invalid: Some "
                                "AttributeDefinitions are not used."));
}

BOOST_AUTO_TEST_CASE(describes_its_class) {
    auto wanted = table_of("orders", "pk S");
    BOOST_TEST(!service->create_table(wanted).value().table_class.has_value());
    UpdateTable change;
    change.table = "orders";
    change.table_class = TableClass::standard_infrequent_access;
    service->update_table(change).value();
    reopen();
    BOOST_TEST((service->describe_table("orders").value().table_class ==
                TableClass::standard_infrequent_access));
}

BOOST_AUTO_TEST_CASE(has_no_throughput_on_demand) {
    auto wanted = table_of("orders", "pk S");
    wanted.throughput = ProvisionedThroughput{5, 3};
    const std::string invalid = "invalid_argument: One or more parameter values were invalid: ";
    BOOST_TEST(error_of(service->create_table(wanted)) ==
               invalid +
                   "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
                   "BillingMode is PAY_PER_REQUEST");
    wanted.throughput.reset();
    add_index(wanted, "gidx", "g S");
    wanted.global_indexes->back().throughput = ProvisionedThroughput{5, 3};
    BOOST_TEST(error_of(service->create_table(wanted)) ==
               invalid +
                   "ProvisionedThroughput should not be specified for index: gidx when "
                   "BillingMode is PAY_PER_REQUEST");
    wanted.global_indexes.reset();
    wanted.attributes.pop_back();
    BOOST_TEST((service->create_table(wanted).value().throughput == ProvisionedThroughput{}));
    UpdateTable change;
    change.table = "orders";
    change.attributes = {{"g", AttributeType::string}, {"pk", AttributeType::string}};
    SecondaryIndex index;
    index.name = "gidx";
    index.key = {{"g", KeyType::hash}};
    index.projection = IndexProjection{ProjectionType::all, {}};
    index.throughput = ProvisionedThroughput{5, 3};
    change.global_index_updates.emplace().push_back({index, {}, {}});
    BOOST_TEST(error_of(service->update_table(change)) ==
               invalid +
                   "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for "
                   "index: gidx when BillingMode is PAY_PER_REQUEST");
}

BOOST_AUTO_TEST_CASE(gets_an_index_with_its_present_items_and_loses_it) {
    service->create_table(table_of("orders", "pk S")).value();
    service->write_item(put("orders", {{"pk", "a"}, {"g", "x"}})).value();
    service->write_item(put("orders", {{"pk", "b"}, {"g", "x"}})).value();
    // An item with another type for this attribute has no index entry, and may be changed as
    // before.
    service->write_item(put("orders", {{"pk", "c"}, {"g", number(5)}})).value();
    auto with_index = table_of("orders", "pk S");
    add_index(with_index, "gidx", "g S");
    UpdateTable change;
    change.table = "orders";
    change.attributes = with_index.attributes;
    change.global_index_updates.emplace().push_back({with_index.global_indexes->at(0), {}, {}});
    auto answer = service->update_table(change).value();
    BOOST_TEST((answer.global_indexes.at(0).status == IndexStatus::active));
    BOOST_TEST(answer.attributes.size() == 2U);
    BOOST_TEST(rows(Family::index) == 2U);
    service->write_item(update("orders", {{"pk", "c"}}, "SET v = :v", {{":v", "x"}})).value();
    BOOST_TEST(error_of(service->update_table(change)) ==
               "invalid_argument: Attempting to create an index which already exists");
    change.attributes.clear();
    change.global_index_updates->at(0) = {{}, {}, "nosuch"};
    BOOST_TEST(error_of(service->update_table(change)) ==
               "resource_not_found: Requested resource not found");
    change.global_index_updates->at(0) = {{}, {}, "gidx"};
    answer = service->update_table(change).value();
    // As in DynamoDB, the answer still describes the index.
    BOOST_TEST(answer.global_indexes.at(0).name == "gidx");
    answer = service->describe_table("orders").value();
    BOOST_TEST(answer.global_indexes.empty());
    BOOST_TEST(answer.attributes.size() == 1U);
    BOOST_TEST(rows(Family::index) == 0U);
}

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    auto wanted = table_of("ab", "pk S");
    BOOST_TEST(create_error(*this, wanted) ==
               "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy "
               "constraint: Member must have length greater than or equal to 3");
    wanted = table_of("orders", "pk S");
    wanted.attributes = {{"x", AttributeType::string}};
    BOOST_TEST(create_error(*this, wanted) ==
               "Some index key attributes are not defined in AttributeDefinitions. Keys: [pk], "
               "AttributeDefinitions: [x]");
    wanted = table_of("orders", "pk S", "sk S");
    std::swap(wanted.key[0], wanted.key[1]);
    BOOST_TEST(create_error(*this, wanted) ==
               "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    wanted = table_of("orders", "pk S");
    wanted.attributes.push_back({"x", AttributeType::string});
    BOOST_TEST(create_error(*this, wanted) ==
               "Number of attributes in KeySchema does not exactly match number of attributes "
               "defined in AttributeDefinitions");
    wanted = table_of("orders", "pk S");
    wanted.billing.reset();
    BOOST_TEST(create_error(*this, wanted) ==
               "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode "
               "is PROVISIONED");
    wanted = table_of("orders", "pk S");
    wanted.local_indexes = {{"lidx", wanted.key, IndexProjection{ProjectionType::all, {}}, {}}};
    BOOST_TEST(create_error(*this, wanted) ==
               "Table KeySchema does not have a range key, which is required when specifying a "
               "LocalSecondaryIndex");
    wanted = table_of("orders", "pk S");
    for (int i = 0; i < 21; ++i) add_index(wanted, "index" + std::to_string(i), "g S");
    BOOST_TEST(create_error(*this, wanted) ==
               "GlobalSecondaryIndex count exceeds the per-table limit of 20");
    wanted.global_indexes->resize(2);
    wanted.global_indexes->at(1).name = "index0";
    BOOST_TEST(create_error(*this, wanted) == "Duplicate index name: index0");
    wanted.global_indexes->resize(1);
    wanted.global_indexes->at(0).projection->non_key_attributes = {"v"};
    BOOST_TEST(create_error(*this, wanted) ==
               "ProjectionType is ALL, but NonKeyAttributes is specified");
    BOOST_TEST(service->list_tables({}).value().names.empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
