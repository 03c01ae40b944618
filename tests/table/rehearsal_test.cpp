// Fault injection: faults occur where they are requested and nowhere else.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Rehearsed : Tables {
    Rehearsed() {
        auto wanted = table_of("orders", "pk S");
        add_index(wanted, "gidx", "g S");
        service->create_table(wanted).value();
    }

    void rehearse(const Rehearsal& rehearsal) {
        TableOptions options;
        options.rehearsal = rehearsal;
        service.reset();
        service = open_tables(*storage, clock, options).value();
    }
    // 'T' for throttled, 'C' for a transaction conflict, '?' for any other error.
    char outcome(const Error& error) {
        if (error.code == ErrorCode::throttled) return 'T';
        return error.code == ErrorCode::transaction_conflict ? 'C' : '?';
    }
    std::string outcomes(int writes) {
        std::string text;
        for (int i = 0; i < writes; ++i) {
            const auto written = service->write_item(put("orders", {{"pk", "a"}}));
            text += written ? '.' : outcome(written.error());
        }
        return text;
    }
    Query of_index() {
        Query query;
        query.table = "orders";
        query.options.index = "gidx";
        query.expressions.key_condition = "g = :g";
        query.expressions.placeholders.values = {{{":g", "x"}}};
        return query;
    }
    std::size_t in_index() { return service->query(of_index()).value().count; }
    std::size_t in_index_scanned() {
        Scan scan;
        scan.table = "orders";
        scan.options.index = "gidx";
        return service->scan(scan).value().count;
    }
    void write(const std::string& key) {
        service->write_item(put("orders", {{"pk", key}, {"g", "x"}})).value();
    }
};

BatchGet keys(int count) {
    BatchGet batch;
    auto& table = batch.tables.emplace_back();
    table.table = "orders";
    for (int i = 0; i < count; ++i) table.keys.push_back({{"pk", std::to_string(i)}});
    return batch;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(a_rehearsal, Rehearsed)

BOOST_AUTO_TEST_CASE(is_off_by_default) {
    BOOST_TEST(!Rehearsal().is_on());
    BOOST_TEST(outcomes(100) == std::string(100, '.'));
}

BOOST_AUTO_TEST_CASE(refuses_a_percentage_and_the_same_requests_with_the_same_seed) {
    Rehearsal rehearsal;
    rehearsal.throttle_percent = 20;
    rehearsal.conflict_percent = 10;
    rehearsal.seed = 7;
    rehearse(rehearsal);
    const std::string first = outcomes(1'000);
    const auto throttled = std::count(first.begin(), first.end(), 'T');
    const auto conflicts = std::count(first.begin(), first.end(), 'C');
    BOOST_TEST(throttled > 150);
    BOOST_TEST(throttled < 250);
    BOOST_TEST(conflicts > 50);
    BOOST_TEST(conflicts < 120);
    rehearse(rehearsal);
    BOOST_TEST(outcomes(1'000) == first);
    rehearsal.seed = 8;
    rehearse(rehearsal);
    BOOST_TEST(outcomes(1'000) != first);
}

BOOST_AUTO_TEST_CASE(throttles_only_requests_for_data) {
    Rehearsal rehearsal;
    rehearsal.throttle_percent = 100;
    rehearse(rehearsal);
    const std::string text =
        "throttled: The level of configured provisioned throughput for the table was exceeded. "
        "Consider increasing your provisioning level with the UpdateTable API.";
    BOOST_TEST(error_of(service->write_item(put("orders", {{"pk", "a"}}))) == text);
    BOOST_TEST(error_of(service->get_item(get("orders", {{"pk", "a"}}))) == text);
    BOOST_TEST(error_of(service->query(of_index())) == text);
    Scan scan;
    scan.table = "orders";
    BOOST_TEST(error_of(service->scan(scan)) == text);
    BatchWrite batch;
    batch.writes = {put("orders", {{"pk", "a"}})};
    BOOST_TEST(error_of(service->batch_write(batch)) == text);
    BOOST_TEST(error_of(service->batch_get(keys(3))) == text);
    TransactWrite transaction;
    transaction.actions = {put("orders", {{"pk", "a"}})};
    const auto refused = service->transact_write(transaction).error();
    BOOST_TEST(refused.message ==
               "Transaction cancelled, please refer cancellation reasons for specific reasons "
               "[ProvisionedThroughputExceeded]");
    BOOST_TEST((refused.reasons.at(0).code == ErrorCode::throttled));
    BOOST_TEST(rows(Family::items) == 0U);
    service->describe_table("orders").value();
    service->tag_resource({service->describe_table("orders").value().arn, {{"x", ""}}}).value();
    service->sweep_expired({}).value();
}

// As in DynamoDB, the caller must request the rest again. It is an error only if no part was
// processed.
BOOST_AUTO_TEST_CASE(leaves_parts_of_batches_unprocessed) {
    Rehearsal rehearsal;
    rehearsal.throttle_percent = 30;
    rehearse(rehearsal);
    BatchWrite batch;
    for (int i = 0; i < 25; ++i) batch.writes.push_back(put("orders", {{"pk", std::to_string(i)}}));
    std::size_t rounds = 0;
    for (; !batch.writes.empty(); ++rounds) {
        const auto answer = service->batch_write(batch);
        if (answer) batch.writes = answer->unprocessed;
    }
    BOOST_TEST(rounds > 1U);
    BOOST_TEST(rows(Family::items) == 25U);
    BatchGet wanted = keys(25);
    std::size_t found = 0;
    for (rounds = 0; !wanted.tables.empty(); ++rounds) {
        const auto answer = service->batch_get(wanted);
        if (!answer) continue;
        BOOST_TEST(answer->tables.size() == 1U);
        found += answer->tables.at(0).items.size();
        wanted.tables = answer->unprocessed;
    }
    BOOST_TEST(rounds > 1U);
    BOOST_TEST(found == 25U);
    // Requests that exceed a limit are still refused.
    batch.writes.assign(26, put("orders", {{"pk", "a"}}));
    BOOST_TEST((service->batch_write(batch).error().code == ErrorCode::invalid_argument));
    BOOST_TEST((service->batch_get(keys(101)).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_CASE(reports_conflicts_with_transactions) {
    Rehearsal rehearsal;
    rehearsal.conflict_percent = 100;
    rehearse(rehearsal);
    BOOST_TEST(error_of(service->write_item(put("orders", {{"pk", "a"}}))) ==
               "transaction_conflict: Transaction is ongoing for the item");
    TransactWrite transaction;
    transaction.actions = {put("orders", {{"pk", "a"}}), put("orders", {{"pk", "b"}})};
    transaction.token = "token";
    const auto refused = service->transact_write(transaction).error();
    BOOST_TEST(refused.message ==
               "Transaction cancelled, please refer cancellation reasons for specific reasons "
               "[TransactionConflict, TransactionConflict]");
    BOOST_TEST(refused.reasons.at(1).message == "Transaction is ongoing for the item");
    TransactGet gets;
    gets.gets = {get("orders", {{"pk", "a"}})};
    BOOST_TEST((service->transact_get(gets).error().code == ErrorCode::transaction_cancelled));
    // Plain reads never report a conflict, and the token was not used up.
    service->get_item(get("orders", {{"pk", "a"}})).value();
    service->query(of_index()).value();
    rehearse({});
    service->transact_write(transaction).value();
    BOOST_TEST(rows(Family::items) == 2U);
}

BOOST_AUTO_TEST_CASE(shows_an_earlier_state_of_global_indexes) {
    Rehearsal rehearsal;
    rehearsal.index_lag = seconds(5);
    rehearse(rehearsal);
    write("a");
    BOOST_TEST(in_index() == 0U);
    BOOST_TEST(in_index_scanned() == 0U);
    BOOST_TEST(service->get_item(get("orders", {{"pk", "a"}})).value().item.has_value());
    Scan scan;
    scan.table = "orders";
    BOOST_TEST(service->scan(scan).value().count == 1U);
    clock.advance(milliseconds(4'999));
    BOOST_TEST(in_index() == 0U);
    write("b");
    clock.advance(milliseconds(1));
    BOOST_TEST(in_index() == 1U);
    clock.advance(milliseconds(4'998));
    BOOST_TEST(in_index() == 1U);
    clock.advance(milliseconds(1));
    BOOST_TEST(in_index() == 2U);
    service->write_item(proof::remove("orders", {{"pk", "a"}})).value();
    BOOST_TEST(in_index() == 2U);
    clock.advance(seconds(5));
    BOOST_TEST(in_index() == 1U);
}

// However frequent the writes are, the shown state is never younger than the lag, and older by at
// most a sixteenth of the lag.
BOOST_AUTO_TEST_CASE(shows_exactly_the_state_of_the_lag) {
    Rehearsal rehearsal;
    rehearsal.index_lag = milliseconds(1'600);
    rehearse(rehearsal);
    std::vector<BootTime> written;
    for (int i = 0; i < 500; ++i) {
        clock.advance(milliseconds(i % 7 == 0 ? 90 : 9));
        write(std::to_string(i));
        written.push_back(clock.now().boot);
        const BootTime now = clock.now().boot;
        const auto older = [&](milliseconds age) {
            return static_cast<std::size_t>(std::count_if(
                written.begin(), written.end(), [&](BootTime at) { return now - at >= age; }));
        };
        const std::size_t seen = in_index();
        BOOST_TEST_REQUIRE(seen <= older(milliseconds(1'600)));
        BOOST_TEST_REQUIRE(seen >= older(milliseconds(1'700)));
    }
}

BOOST_AUTO_TEST_CASE(delays_the_removal_of_expired_items_and_changes_of_time_to_live) {
    Rehearsal rehearsal;
    rehearsal.time_to_live_lag = seconds(100);
    rehearsal.time_to_live_pause = seconds(50);
    rehearse(rehearsal);
    const auto arn = service->describe_table("orders").value().arn;
    service->update_time_to_live({"orders", "expires", true}).value();
    for (const auto& name : {std::string("orders"), arn}) {
        BOOST_TEST(error_of(service->update_time_to_live({name, "expires", false})) ==
                   "invalid_argument: Time to live has been modified multiple times within a fixed "
                   "interval");
    }
    const auto now = std::chrono::floor<seconds>(clock.now().wall.time_since_epoch()).count();
    service->write_item(put("orders", {{"pk", "a"}, {"expires", number(now - 1)}})).value();
    BOOST_TEST(service->sweep_expired({}).value().removed == 0U);
    clock.advance(seconds(100));
    BOOST_TEST(service->sweep_expired({}).value().removed == 1U);
    service->update_time_to_live({arn, "expires", false}).value();
}

BOOST_AUTO_TEST_CASE(of_more_than_100_percent_is_refused) {
    TableOptions options;
    options.rehearsal.throttle_percent = 101;
    BOOST_TEST((open_tables(*storage, clock, options).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
