#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

struct WithTwoTables : Tables {
    WithTwoTables() {
        service->create_table(table_of("orders", "pk S")).value();
        service->create_table(table_of("locks", "pk S")).value();
    }

    std::optional<Item> item(const char* table, const char* key) {
        return service->get_item(get(table, {{"pk", key}})).value().item;
    }
};

WriteItem check(std::string table, Item key, std::string condition) {
    WriteItem action = provided(remove(std::move(table), std::move(key)), std::move(condition));
    action.kind = WriteItem::Kind::check;
    return action;
}

// Returns the reasons at the end of the message: "[None, ConditionalCheckFailed]".
std::string reasons_of(const Result<TransactWriteAnswer>& answer) {
    if (answer) return "";
    const std::string& text = answer.error().message;
    return text.find('[') == std::string::npos ? text : text.substr(text.find('['));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_transaction, WithTwoTables)

// The limit applies to the size of the request, not of the resulting items.
BOOST_AUTO_TEST_CASE(has_at_most_4_mb) {
    const std::string text(390U << 10, 'x');
    constexpr int too_many = 11;
    const std::string too_large = "invalid_argument: Transaction payload size cannot exceed 4MB";
    TransactWrite grow;
    TransactWrite whole;
    TransactGet read;
    for (int i = 0; i < too_many; ++i) {
        const std::string key = std::to_string(i);
        grow.actions.push_back(update("orders", {{"pk", key}}, "SET t = :t", {{":t", text}}));
        whole.actions.push_back(put("orders", {{"pk", key}, {"t", text}}));
        read.gets.push_back(get("orders", {{"pk", key}}));
    }
    BOOST_TEST(error_of(service->transact_write(grow)).starts_with(too_large));
    BOOST_TEST(error_of(service->transact_write(whole)).starts_with(too_large));
    BOOST_TEST(!item("orders", "0"));
    for (const WriteItem& action : grow.actions) service->write_item(action).value();
    BOOST_TEST(error_of(service->transact_get(read)).starts_with(too_large));
    read.gets.pop_back();
    BOOST_TEST(service->transact_get(read).value().items.size() == 10U);
    for (auto* request : {&grow, &whole}) {
        request->actions.pop_back();
        BOOST_TEST(error_of(service->transact_write(*request)) == "");
    }
}

BOOST_AUTO_TEST_CASE(checks_updates_and_deletes_more_than_4_mb) {
    const std::string text(390U << 10, 'x');
    TransactWrite look;
    TransactWrite change;
    TransactWrite remove_all;
    for (int i = 0; i < 11; ++i) {
        const Item key{{"pk", std::to_string(i)}};
        service->write_item(put("orders", {{"pk", std::to_string(i)}, {"t", text}})).value();
        look.actions.push_back(check("orders", key, "attribute_exists(t)"));
        change.actions.push_back(update("orders", key, "SET n = :n", {{":n", number(1)}}));
        remove_all.actions.push_back(remove("orders", key));
    }
    BOOST_TEST(error_of(service->transact_write(look)) == "");
    BOOST_TEST(error_of(service->transact_write(change)) == "");
    BOOST_TEST(item("orders", "10")->contains("n"));
    BOOST_TEST(error_of(service->transact_write(remove_all)) == "");
    BOOST_TEST(rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(executes_all_of_its_actions) {
    service->write_item(put("orders", {{"pk", "gone"}})).value();
    service->write_item(put("locks", {{"pk", "l"}})).value();
    TransactWrite request;
    request.actions = {
        put("orders", {{"pk", "a"}, {"n", number(1)}}),
        update("orders", {{"pk", "b"}}, "SET n = :n", {{":n", number(2)}}),
        remove("orders", {{"pk", "gone"}}),
        check("locks", {{"pk", "l"}}, "attribute_exists(pk)"),
    };
    request.return_capacity = ReturnCapacity::total;
    const auto answer = service->transact_write(request).value();
    BOOST_TEST((item("orders", "a") == Item{{"pk", "a"}, {"n", number(1)}}));
    BOOST_TEST((item("orders", "b") == Item{{"pk", "b"}, {"n", number(2)}}));
    BOOST_TEST(!item("orders", "gone"));
    BOOST_TEST(item("locks", "l").has_value());
    // A transaction costs twice as much as single requests, and a condition check as much as a
    // write.
    BOOST_TEST(answer.consumed.size() == 2U);
    BOOST_TEST(answer.consumed.at(0).table == "locks");
    BOOST_TEST(answer.consumed.at(0).units == 2.0);
    BOOST_TEST(answer.consumed.at(1).units == 6.0);
}

BOOST_AUTO_TEST_CASE(changes_no_item_if_a_condition_fails_and_reports_every_reason) {
    service->write_item(put("locks", {{"pk", "l"}, {"holder", "ann"}})).value();
    TransactWrite request;
    request.actions = {
        put("orders", {{"pk", "a"}}),
        provided(remove("locks", {{"pk", "l"}}), "holder = :me", {{":me", "bob"}}),
        check("locks", {{"pk", "m"}}, "attribute_exists(pk)"),
    };
    request.actions[1].return_item_on_failure = true;
    const auto refused = service->transact_write(request);
    BOOST_TEST(error_of(refused) ==
               "transaction_cancelled: Transaction cancelled, please refer cancellation reasons "
               "for specific reasons [None, ConditionalCheckFailed, ConditionalCheckFailed]");
    const auto& reasons = refused.error().reasons;
    BOOST_TEST_REQUIRE(reasons.size() == 3U);
    BOOST_TEST(!reasons[0].code);
    BOOST_TEST(reasons[1].message == "The conditional request failed");
    BOOST_TEST((*reasons[1].item == Item{{"pk", "l"}, {"holder", "ann"}}));
    BOOST_TEST(!reasons[2].item);
    BOOST_TEST(!item("orders", "a"));
}

BOOST_AUTO_TEST_CASE(is_cancelled_by_faults_that_need_the_table_or_the_item) {
    TransactWrite request;
    request.actions = {put("orders", {{"pk", "a"}}), put("orders", {{"pk", number(1)}}),
                       remove("orders", {{"x", "y"}})};
    auto refused = service->transact_write(request);
    // Only the first error is reported.
    BOOST_TEST(reasons_of(refused) == "[None, ValidationError, None]");
    BOOST_TEST(refused.error().reasons[1].message ==
               "One or more parameter values were invalid: Type mismatch for key pk expected: S "
               "actual: N");
    request.actions = {put("orders", {{"pk", "a"}}),
                       update("orders", {{"pk", "b"}}, "SET n = n + :n", {{":n", number(1)}})};
    refused = service->transact_write(request);
    BOOST_TEST(reasons_of(refused) == "[None, ValidationError]");
    BOOST_TEST(!item("orders", "a"));
}

BOOST_AUTO_TEST_CASE(is_refused_completely_for_faults_of_the_request) {
    TransactWrite request;
    BOOST_TEST(error_of(service->transact_write(request)) ==
               "invalid_argument: 1 validation error detected: Value '[]' at 'transactItems' "
               "failed to satisfy constraint: Member must have length greater than or equal to 1");
    request.actions = {put("orders", {{"pk", "a"}}),
                       check("orders", {{"pk", "a"}}, "attribute_exists(pk)")};
    BOOST_TEST(reasons_of(service->transact_write(request)) ==
               "Transaction request cannot include multiple operations on one item");
    request.actions = {put("orders", {{"pk", "a"}}), put("orders", {{"pk", ""}})};
    BOOST_TEST(reasons_of(service->transact_write(request)) ==
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty string value. Key: pk");
    request.actions = {put("orders", {{"pk", "a"}}), put("nowhere", {{"pk", "a"}})};
    BOOST_TEST(error_of(service->transact_write(request)) ==
               "resource_not_found: Requested resource not found");
    request.actions = {update("orders", {{"pk", "a"}}, "SET n = :n", {{":n", number(1)}})};
    request.actions[0].expressions.update.reset();
    BOOST_TEST(reasons_of(service->transact_write(request))
                   .ends_with("Value null at 'transactItems.1.member.update.updateExpression' "
                              "failed to satisfy constraint: Member must not be null"));
    BOOST_TEST(rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(is_done_once_for_one_token_within_ten_minutes) {
    TransactWrite request;
    request.token = "token-1";
    request.actions = {update("orders", {{"pk", "a"}}, "ADD n :one", {{":one", number(1)}})};
    const auto counted = [this] {
        return item("orders", "a")->find("n")->get_if<Number>()->to_int64().value();
    };
    service->transact_write(request).value();
    service->transact_write(request).value();
    reopen();
    service->transact_write(request).value();
    BOOST_TEST(counted() == 1);
    auto other = request;
    other.actions[0].expressions.placeholders.values->at(0).value = number(2);
    BOOST_TEST((service->transact_write(other).error().code == ErrorCode::parameter_mismatch));
    clock.advance(std::chrono::minutes(11));
    service->transact_write(other).value();
    BOOST_TEST(counted() == 3);
}

BOOST_AUTO_TEST_CASE(may_be_sent_again_with_its_token_when_it_was_cancelled) {
    TransactWrite request;
    request.token = "token-1";
    request.actions = {check("locks", {{"pk", "l"}}, "attribute_exists(pk)")};
    BOOST_TEST(reasons_of(service->transact_write(request)) == "[ConditionalCheckFailed]");
    service->write_item(put("locks", {{"pk", "l"}})).value();
    service->transact_write(request).value();
}

BOOST_AUTO_TEST_CASE(forgets_tokens_that_are_too_old) {
    const auto records = rows(Family::meta);
    TransactWrite request;
    request.actions = {put("orders", {{"pk", "a"}})};
    for (int i = 0; i < 20; ++i) {
        request.token = "token-" + std::to_string(i);
        service->transact_write(request).value();
        clock.advance(std::chrono::minutes(20));
    }
    // Only the records of the last token remain.
    BOOST_TEST(rows(Family::meta) <= records + 4);
}

// Transactions without a common token or item do not conflict, even if they delete the same expired
// tokens.
BOOST_AUTO_TEST_CASE(needs_one_commit_even_if_others_delete_old_tokens) {
    for (int i = 0; i < 100; ++i) {
        TransactWrite request;
        request.token = "old-" + std::to_string(i);
        request.actions = {put("orders", {{"pk", "a"}})};
        service->transact_write(request).value();
    }
    clock.advance(std::chrono::minutes(11));
    in_threads(8, [&](int thread) {
        for (int i = 0; i < 50; ++i) {
            TransactWrite request;
            request.token = "new-" + std::to_string(thread) + "-" + std::to_string(i);
            request.actions = {put("orders", {{"pk", std::to_string(thread)}})};
            service->transact_write(request).value();
        }
    });
    // The old tokens have been deleted, and the new ones are known.
    TransactWrite again;
    again.token = "new-7-49";
    again.actions = {put("orders", {{"pk", "another"}})};
    BOOST_TEST((service->transact_write(again).error().code == ErrorCode::parameter_mismatch));
    again.token = "old-7";
    BOOST_TEST(service->transact_write(again).has_value());
}

BOOST_AUTO_TEST_CASE(reads_several_items_at_one_moment) {
    service->write_item(put("orders", {{"pk", "a"}, {"n", number(1)}})).value();
    TransactGet request;
    request.gets = {get("orders", {{"pk", "a"}}), get("locks", {{"pk", "a"}})};
    request.gets[0].expressions.projection = "nothing";
    const auto answer = service->transact_get(request).value();
    BOOST_TEST((answer.items.at(0) == Item{}));
    BOOST_TEST(!answer.items.at(1));
    request.gets[1].key = {{"x", "y"}};
    const auto refused = service->transact_get(request);
    BOOST_TEST((refused.error().code == ErrorCode::transaction_cancelled));
    BOOST_TEST(refused.error().reasons.at(1).message ==
               "The provided key element does not match the schema");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_batch, WithTwoTables)

BOOST_AUTO_TEST_CASE(writes_all_or_finds_a_fault_before_it_writes_any) {
    service->write_item(put("locks", {{"pk", "l"}})).value();
    BatchWrite request;
    request.writes = {put("orders", {{"pk", "a"}}), put("orders", {{"pk", "b"}}),
                      remove("locks", {{"pk", "l"}})};
    service->batch_write(request).value();
    BOOST_TEST(rows(Family::items) == 2U);
    request.writes = {put("orders", {{"pk", "c"}}), put("orders", {{"x", "y"}})};
    BOOST_TEST((service->batch_write(request).error().code == ErrorCode::invalid_argument));
    request.writes = {put("orders", {{"pk", "c"}}), remove("orders", {{"pk", "c"}})};
    BOOST_TEST(error_of(service->batch_write(request)) ==
               "invalid_argument: Provided list of item keys contains duplicates");
    request.writes.assign(26, put("orders", {{"pk", "c"}}));
    BOOST_TEST(error_of(service->batch_write(request)) ==
               "invalid_argument: Too many items requested for the BatchWriteItem call");
    BOOST_TEST(rows(Family::items) == 2U);
}

BOOST_AUTO_TEST_CASE(returns_present_items_and_omits_absent_ones) {
    service->write_item(put("orders", {{"pk", "a"}, {"n", number(1)}})).value();
    BatchGet request;
    request.tables.push_back({"orders", {{{"pk", "a"}}, {{"pk", "b"}}}, false, {}});
    request.tables.push_back({"locks", {{{"pk", "a"}}}, false, {}});
    const auto answer = service->batch_get(request).value();
    BOOST_TEST(answer.tables.at(0).items.size() == 1U);
    BOOST_TEST(answer.tables.at(1).items.empty());
    BOOST_TEST(answer.unprocessed.empty());
    request.tables[0].keys[1] = {{"pk", "a"}};
    BOOST_TEST(error_of(service->batch_get(request)) ==
               "invalid_argument: Provided list of item keys contains duplicates");
}

BOOST_AUTO_TEST_CASE(leaves_keys_unprocessed_beyond_16_mb) {
    BatchGet request;
    request.tables.push_back({"orders", {}, false, {}});
    for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(i);
        service->write_item(put("orders", {{"pk", key}, {"s", std::string(400'000, 'x')}})).value();
        request.tables[0].keys.push_back({{"pk", key}});
    }
    const auto answer = service->batch_get(request).value();
    BOOST_TEST(answer.tables.at(0).items.size() == 42U);
    BOOST_TEST(answer.unprocessed.at(0).keys.size() == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
