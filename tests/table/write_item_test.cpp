#include <string>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

struct WithOrders : Tables {
    WithOrders() { service->create_table(table_of("orders", "pk S")).value(); }

    std::optional<Item> item(const char* key) {
        return service->get_item(get("orders", {{"pk", key}})).value().item;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(an_item, WithOrders)

BOOST_AUTO_TEST_CASE(is_read_as_it_was_put) {
    const Item whole{{"pk", "a"}, {"n", number(1)}, {"m", AttributeMap{{"x", "y"}}}};
    service->write_item(put("orders", whole)).value();
    BOOST_TEST((item("a") == whole));
    BOOST_TEST(!item("b"));
}

BOOST_AUTO_TEST_CASE(is_cached_as_it_is_read_unless_it_is_large,
                     *boost::unit_test::label("unconfirmed")) {
    const auto cached = [this](const GetItem& request) {
        return service->get_cached_item(request);
    };
    auto request = get("orders", {{"pk", "a"}});
    BOOST_TEST(!cached(request)->value().item);
    const Item whole{{"pk", "a"}, {"n", number(1)}, {"m", number(2)}};
    service->write_item(put("orders", whole)).value();
    BOOST_TEST((cached(request)->value().item == whole));
    BOOST_TEST(cached(request)->value().version == service->get_item(request).value().version);
    request.expressions.projection = "m";
    BOOST_TEST((cached(request)->value().item == Item{{"m", number(2)}}));
    request.key = {{"other", "a"}};
    BOOST_TEST(error_of(*cached(request)) == error_of(service->get_item(request)));
    BOOST_TEST(error_of(*cached(get("none", {{"pk", "a"}}))) != "");
    service->write_item(put("orders", {{"pk", "b"}, {"text", std::string(100'000, 'x')}})).value();
    BOOST_TEST(!cached(get("orders", {{"pk", "b"}})));
}

BOOST_AUTO_TEST_CASE(is_replaced_as_a_whole_by_another_put) {
    service->write_item(put("orders", {{"pk", "a"}, {"n", number(1)}})).value();
    auto write = put("orders", {{"pk", "a"}, {"m", number(2)}});
    write.return_values = ReturnValues::all_old;
    const auto answer = service->write_item(write).value();
    BOOST_TEST((answer.attributes == Item{{"pk", "a"}, {"n", number(1)}}));
    BOOST_TEST((item("a") == Item{{"pk", "a"}, {"m", number(2)}}));
}

BOOST_AUTO_TEST_CASE(is_absent_after_a_delete_and_may_be_deleted_again) {
    service->write_item(put("orders", {{"pk", "a"}})).value();
    auto write = remove("orders", {{"pk", "a"}});
    write.return_values = ReturnValues::all_old;
    BOOST_TEST((service->write_item(write).value().attributes == Item{{"pk", "a"}}));
    BOOST_TEST(!item("a"));
    BOOST_TEST(!service->write_item(write).value().attributes);
    BOOST_TEST(rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(is_created_by_an_update_unless_that_only_removes) {
    auto write = update("orders", {{"pk", "a"}}, "SET n = :n", {{":n", number(5)}});
    write.return_values = ReturnValues::all_new;
    BOOST_TEST(
        (service->write_item(write).value().attributes == Item{{"pk", "a"}, {"n", number(5)}}));
    auto taking = update("orders", {{"pk", "b"}}, "REMOVE n, x.y");
    taking.return_values = ReturnValues::all_new;
    const auto answer = service->write_item(taking).value();
    BOOST_TEST(!answer.attributes);
    BOOST_TEST(answer.version == 0U);
    BOOST_TEST(!item("b"));
}

BOOST_AUTO_TEST_CASE(returns_the_updated_attributes_before_and_after) {
    service
        ->write_item(
            put("orders", {{"pk", "a"}, {"m", AttributeMap{{"x", number(1)}, {"y", number(2)}}}}))
        .value();
    auto write = update("orders", {{"pk", "a"}}, "SET m.x = m.x + :n, z = :n", {{":n", number(5)}});
    write.return_values = ReturnValues::updated_old;
    BOOST_TEST((service->write_item(write).value().attributes ==
                Item{{"m", AttributeMap{{"x", number(1)}}}}));
    write.return_values = ReturnValues::updated_new;
    BOOST_TEST((service->write_item(write).value().attributes ==
                Item{{"m", AttributeMap{{"x", number(11)}}}, {"z", number(5)}}));
}

BOOST_AUTO_TEST_CASE(is_unchanged_if_its_condition_fails_and_returned_in_the_error_if_requested) {
    service->write_item(put("orders", {{"pk", "a"}, {"n", number(1)}})).value();
    auto write = provided(put("orders", {{"pk", "a"}}), "attribute_not_exists(pk)");
    auto refused = service->write_item(write);
    BOOST_TEST(error_of(refused) == "condition_failed: The conditional request failed");
    BOOST_TEST(!refused.error().item);
    write.return_item_on_failure = true;
    refused = service->write_item(write);
    BOOST_TEST((*refused.error().item == Item{{"pk", "a"}, {"n", number(1)}}));
    BOOST_TEST(item("a")->contains("n"));
    // If the item does not exist, the error contains no item.
    write = provided(remove("orders", {{"pk", "b"}}), "n = :n", {{":n", number(1)}});
    write.return_item_on_failure = true;
    refused = service->write_item(write);
    BOOST_TEST((refused.error().code == ErrorCode::condition_failed));
    BOOST_TEST(!refused.error().item);
}

BOOST_AUTO_TEST_CASE(has_a_greater_version_after_each_write_even_after_it_was_deleted) {
    std::uint64_t last = 0;
    for (int i = 0; i < 3; ++i) {
        const auto version = service->write_item(put("orders", {{"pk", "a"}})).value().version;
        BOOST_TEST(version > last);
        BOOST_TEST(service->get_item(get("orders", {{"pk", "a"}})).value().version == version);
        last = version;
        service->write_item(remove("orders", {{"pk", "a"}})).value();
        reopen();
    }
    // A JSON number can represent it exactly.
    BOOST_TEST(last < (1ULL << 53));
}

BOOST_AUTO_TEST_CASE(is_identified_by_numbers_in_any_notation) {
    service->create_table(table_of("numbers", "n N")).value();
    service->write_item(put("numbers", {{"n", Number::parse("1.0").value()}})).value();
    service->write_item(put("numbers", {{"n", Number::parse("10e-1").value()}})).value();
    BOOST_TEST(rows(Family::items) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_write, WithOrders)

BOOST_AUTO_TEST_CASE(is_refused_in_the_words_of_the_service) {
    const auto refusal = [this](const WriteItem& write) {
        const auto text = error_of(service->write_item(write));
        BOOST_TEST(text.starts_with("invalid_argument: "));
        return text.substr(text.find(' ') + 1);
    };
    BOOST_TEST(refusal(put("orders", {{"n", number(1)}})) ==
               "One or more parameter values were invalid: Missing the key pk in the item");
    BOOST_TEST(refusal(put("orders", {{"pk", number(1)}})) ==
               "One or more parameter values were invalid: Type mismatch for key pk expected: S "
               "actual: N");
    BOOST_TEST(refusal(remove("orders", {{"pk", "a"}, {"x", "y"}})) ==
               "The provided key element does not match the schema");
    BOOST_TEST(refusal(update("orders", {{"pk", "a"}}, "SET pk = :v", {{":v", "b"}})) ==
               "One or more parameter values were invalid: Cannot update attribute pk. This "
               "attribute is part of the key");
    BOOST_TEST(refusal(put("orders", {{"pk", "a"}, {"s", std::string(409'600, 'x')}})) ==
               "Item size has exceeded the maximum allowed size");
    BOOST_TEST(refusal(update("orders", {{"pk", "a"}}, "SET s = :v",
                              {{":v", std::string(409'600, 'x')}})) ==
               "Item size to update has exceeded the maximum allowed size");
    auto write = put("orders", {{"pk", "a"}});
    write.return_values = ReturnValues::all_new;
    BOOST_TEST(refusal(write) == "ReturnValues can only be ALL_OLD or NONE");
    BOOST_TEST(rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(reports_faults_of_the_request_before_a_missing_table) {
    const auto write = update("nowhere", {{"x", "y"}}, "SET a = :missing");
    BOOST_TEST((service->write_item(write).error().code == ErrorCode::invalid_argument));
    BOOST_TEST(error_of(service->write_item(put("nowhere", {{"x", "y"}}))) ==
               "resource_not_found: Requested resource not found");
    BOOST_TEST(error_of(service->get_item(get("nowhere", {{"x", "y"}}))) ==
               "resource_not_found: Requested resource not found");
}

BOOST_AUTO_TEST_CASE(reports_the_capacity_that_it_would_have_consumed) {
    auto write = put("orders", {{"pk", "a"}, {"s", std::string(2000, 'x')}});
    write.return_capacity = ReturnCapacity::indexes;
    auto consumed = service->write_item(write).value().consumed.value();
    BOOST_TEST(consumed.units == 2.0);
    BOOST_TEST(consumed.table_units.value() == 2.0);
    write = remove("orders", {{"pk", "a"}});
    write.return_capacity = ReturnCapacity::total;
    consumed = service->write_item(write).value().consumed.value();
    // The larger of the sizes before and after the write counts.
    BOOST_TEST(consumed.units == 2.0);
    BOOST_TEST(!consumed.table_units);
    auto read = get("orders", {{"pk", "a"}});
    BOOST_TEST(!service->get_item(read).value().consumed);
    read.return_capacity = ReturnCapacity::total;
    BOOST_TEST(service->get_item(read).value().consumed.value().units == 0.5);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(an_index, Tables)

BOOST_AUTO_TEST_CASE(has_an_entry_only_for_items_with_its_key) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "by-customer", "customer S", "day N");
    service->create_table(wanted).value();
    const auto entries = [this] { return rows(Family::index); };
    service->write_item(put("orders", {{"pk", "a"}, {"customer", "ann"}})).value();
    BOOST_TEST(entries() == 0U);
    service->write_item(put("orders", {{"pk", "a"}, {"customer", "ann"}, {"day", number(1)}}))
        .value();
    BOOST_TEST(entries() == 1U);
    // Another item with the same key in the index.
    service->write_item(put("orders", {{"pk", "b"}, {"customer", "ann"}, {"day", number(1)}}))
        .value();
    BOOST_TEST(entries() == 2U);
    const Item key{{"pk", "a"}};
    service->write_item(update("orders", key, "SET customer = :c", {{":c", "bob"}})).value();
    BOOST_TEST(entries() == 2U);
    service->write_item(update("orders", key, "REMOVE customer")).value();
    BOOST_TEST(entries() == 1U);
    service->write_item(remove("orders", {{"pk", "b"}})).value();
    BOOST_TEST(entries() == 0U);
}

BOOST_AUTO_TEST_CASE(refuses_items_whose_attribute_can_not_be_its_key) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    service->create_table(wanted).value();
    BOOST_TEST(error_of(service->write_item(put("orders", {{"pk", "a"}, {"g", number(1)}}))) ==
               "invalid_argument: One or more parameter values were invalid: Type mismatch for "
               "Index Key g Expected: S Actual: N IndexName: gidx");
    const auto text = error_of(service->write_item(put("orders", {{"pk", "a"}, {"g", ""}})));
    BOOST_TEST(
        text.ends_with("cannot contain an empty string value. IndexName: gidx, IndexKey: g"));
    BOOST_TEST(error_of(service->write_item(
                   update("orders", {{"pk", "a"}}, "SET g = :g", {{":g", number(5)}}))) ==
               "invalid_argument: One or more parameter values were invalid: Type mismatch for "
               "Index Key g Expected: S Actual: N IndexName: gidx");
    BOOST_TEST(error_of(service->write_item(
                   update("orders", {{"pk", "a"}}, "SET g.x = :g", {{":g", number(5)}}))) ==
               "invalid_argument: Key attributes must be scalars; list random access '[]' and map "
               "lookup '.' are not allowed: IndexKey: g");
    BOOST_TEST(rows(Family::items) == 0U);
}

// This also applies to updates that only read the key.
BOOST_AUTO_TEST_CASE(has_a_key_that_updates_cannot_enter) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    service->create_table(wanted).value();
    const auto error = [this](std::string expression) {
        return error_of(
            service->write_item(update("orders", {{"pk", "a"}}, std::move(expression))));
    };
    const std::string scalars =
        "invalid_argument: Key attributes must be scalars; list random access '[]' and map lookup "
        "'.' are not allowed: ";
    BOOST_TEST(error("SET a = if_not_exists(g.x, b)") == scalars + "IndexKey: g");
    BOOST_TEST(error("SET a = pk[0]") == scalars + "Key: pk");
}

BOOST_AUTO_TEST_CASE(consumes_capacity_if_its_entry_changes) {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    wanted.global_indexes->back().projection = IndexProjection{ProjectionType::keys_only, {}};
    service->create_table(wanted).value();
    auto write = put("orders", {{"pk", "a"}, {"g", "x"}});
    write.return_capacity = ReturnCapacity::indexes;
    auto consumed = service->write_item(write).value().consumed.value();
    BOOST_TEST(consumed.units == 2.0);
    BOOST_TEST(consumed.global_indexes.at("gidx") == 1.0);
    // A change of an attribute that the index does not contain.
    write.item.set("v", number(1));
    consumed = service->write_item(write).value().consumed.value();
    BOOST_TEST(consumed.units == 1.0);
    BOOST_TEST(consumed.global_indexes.empty());
    // One index entry is deleted and one is added.
    write.item.set("g", "y");
    consumed = service->write_item(write).value().consumed.value();
    BOOST_TEST(consumed.global_indexes.at("gidx") == 2.0);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
