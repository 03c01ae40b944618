// From a request for tables to its response, without a socket.
#include "service/item_endpoint.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/stores/test_store.hpp"

BOOST_AUTO_TEST_SUITE(a_request_for_tables)

namespace {

using namespace rocklock;

ServiceRequest request_of(std::string operation, std::string body) {
    ServiceRequest request;
    request.target = "/";
    request.operation = "DynamoDB_20120810." + std::move(operation);
    request.content_type = "application/x-amz-json-1.0";
    request.authorization = "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c";
    request.amz_date = "d";
    request.body = std::move(body);
    return request;
}

constexpr auto create =
    R"({"TableName":"things","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"})";
constexpr auto put = R"({"TableName":"things","Item":{"id":{"S":"a"}}})";

struct World {
    Database database =
        Database::open_on(rocklock::testing::make_test_store(system_clock())).value();
    TableService& tables = *database.tables().value();

    ServiceAnswer ask(std::string operation, std::string body) const {
        return answer_table_request(request_of(std::move(operation), std::move(body)), tables,
                                    nullptr, {});
    }
};

std::optional<ServiceAnswer> cached(ServiceRequest request, const World& world) {
    ItemCall call(std::move(request));
    return answer_from_cache(call, world.tables);
}

bool has(const ServiceAnswer& answer, const std::string& text) {
    return answer.body.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_recognised_by_its_target) {
    ServiceRequest request;
    for (const auto* target :
         {"DynamoDB_20120810.GetItem", "DynamoDBStreams_20120810.GetRecords"}) {
        request.operation = target;
        BOOST_TEST(is_table_request(request), target);
    }
    for (const auto* target : {"Rocklock_20261121.Acquire", "GetItem", ""}) {
        request.operation = target;
        BOOST_TEST(!is_table_request(request), target);
    }
}

BOOST_AUTO_TEST_CASE(is_answered_with_the_result_of_the_tables) {
    const World world;
    BOOST_TEST(world.ask("CreateTable", create).status == 200);
    BOOST_TEST(world.ask("PutItem", put).body == "{}");
    BOOST_TEST(
        has(world.ask("Scan", R"({"TableName":"things"})"), R"("Items":[{"id":{"S":"a"}}])"));
}

// Malformed JSON is reported first, then an unknown operation, then a missing signature.
BOOST_AUTO_TEST_CASE(is_judged_in_the_order_of_the_service) {
    const World world;
    ServiceRequest request = request_of("Nope", "{");
    request.authorization.clear();
    const auto answer = [&] {
        return answer_table_request(request, world.tables, nullptr, {}).body;
    };
    BOOST_TEST(answer() == R"({"__type":"com.amazon.coral.service#SerializationException"})");
    request.body = R"({"TableName":5})";
    BOOST_TEST(
        answer().starts_with(R"({"__type":"com.amazon.coral.service#UnknownOperationException",)"
                             R"("message":"The operation 'DynamoDB_20120810.Nope' is unknown: )"));
    request.operation = "DynamoDB_20120810.GetItem";
    BOOST_TEST(answer().find("MissingAuthenticationTokenException") != std::string::npos);
    request.authorization = request_of("", "").authorization;
    BOOST_TEST(answer() == R"({"__type":"com.amazon.coral.service#SerializationException",)"
                           R"("Message":"NUMBER_VALUE cannot be converted to String"})");
    request.body = R"({"TableName":"things"})";
    BOOST_TEST(answer().find("Value null at 'key'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(that_fails_because_of_the_disk_is_a_server_error) {
    rocklock::testing::SimulatedClock clock;
    auto storage = std::make_unique<rocklock::testing::FaultyStorage>(clock);
    auto& disk = *storage;
    DatabaseOptions options;
    options.background = false;
    options.clock = &clock;
    Database database = Database::open_on(std::move(storage), options).value();
    TableService& tables = *database.tables().value();
    BOOST_TEST(
        answer_table_request(request_of("CreateTable", create), tables, nullptr, {}).status == 200);
    disk.fail_nth(rocklock::testing::FaultyStorage::Call::sync, 1);
    int failures = 0;
    const auto answer = answer_table_request(request_of("PutItem", put), tables, nullptr,
                                             [&](const Error& /*error*/) { ++failures; });
    BOOST_TEST(answer.status == 500);
    BOOST_TEST(has(answer, R"("__type":"com.amazonaws.dynamodb.v20120810#InternalServerError")"));
    BOOST_TEST(failures == 1);
}

// All other requests are answered on the slower path, which reports errors in the order of the
// service.
BOOST_AUTO_TEST_CASE(is_answered_directly_if_it_gets_a_small_item,
                     *boost::unit_test::label("unconfirmed")) {
    const World world;
    world.ask("CreateTable", create);
    world.ask("PutItem", put);
    auto request = request_of("GetItem", R"({"TableName":"things","Key":{"id":{"S":"a"}}})");
    const auto answer = cached(request, world);
    BOOST_TEST(answer.value().status == 200);
    BOOST_TEST(answer.value().body == R"({"Item":{"id":{"S":"a"}}})");
    BOOST_TEST(has(world.ask("GetItem", request.body), answer.value().body));
    BOOST_TEST(answer.value().more_headers.find("\r\nx-rocklock-version: ") != std::string::npos);

    // Requests that need further checks are not answered from the cache.
    request.lock_headers = {{"X-Rocklock-Session", "x"}};
    BOOST_TEST(!cached(request, world));
    request.lock_headers.clear();
    request.authorization.clear();
    BOOST_TEST(!cached(request, world));
    request = request_of("GetItem", R"({"TableName":"nothing","Key":{"id":{"S":"a"}}})");
    BOOST_TEST(!cached(request, world));
    request.body = "{";
    BOOST_TEST(!cached(request, world));
    request.body = R"({"TableName":5})";
    BOOST_TEST(!cached(request, world));
    BOOST_TEST(!cached(request_of("PutItem", put), world));
    BOOST_TEST(!cached(request_of("Scan", R"({"TableName":"things"})"), world));
}

// A short GetItem is parsed for the cache, and then answered on a thread.
BOOST_AUTO_TEST_CASE(is_answered_from_another_thread_after_it_was_parsed) {
    World world;
    ItemEndpoint endpoint(world.tables, world.database.service(), {});
    std::promise<ServiceAnswer> promise;
    auto call = std::make_unique<ItemCall>(
        request_of("GetItem", R"({"TableName":"nothing","Key":{"id":{"S":"a"}}})"));
    BOOST_TEST(!endpoint.ask_cache(*call));
    endpoint.ask(std::move(call),
                 [&](ServiceAnswer answer) { promise.set_value(std::move(answer)); });
    BOOST_TEST(has(promise.get_future().get(), "ResourceNotFoundException"));
}

BOOST_AUTO_TEST_CASE(is_answered_from_another_thread) {
    World world;
    ItemEndpoint endpoint(world.tables, world.database.service(), {});
    std::promise<std::pair<int, std::thread::id>> promise;
    endpoint.ask(std::make_unique<ItemCall>(request_of("ListTables", "{}")),
                 [&](const ServiceAnswer& answer) {
                     promise.set_value({answer.status, std::this_thread::get_id()});
                 });
    const auto [status, thread] = promise.get_future().get();
    BOOST_TEST(status == 200);
    BOOST_TEST((thread != std::this_thread::get_id()));
}

// Writes to items in memory, many of them at the same time, some to the same item.
BOOST_AUTO_TEST_CASE(is_answered_when_its_write_is_committed) {
    constexpr int many = 200;
    World world;
    world.ask("CreateTable", create);
    std::atomic<int> done = 0;
    std::atomic<int> first = 0;
    std::atomic<int> unexpected = 0;
    {
        ItemEndpoint endpoint(world.tables, world.database.service(), {});
        for (int i = 0; i < many; ++i) {
            const std::string id = std::to_string(i % 20);
            const auto condition = R"-(,"ConditionExpression":"attribute_not_exists(id)"})-";
            endpoint.ask(std::make_unique<ItemCall>(
                             request_of("PutItem", R"({"TableName":"things","Item":{"id":{"S":")" +
                                                       id + R"("}})" + condition)),
                         [&](const ServiceAnswer& answer) {
                             const bool failed = has(answer, "ConditionalCheckFailedException");
                             if (!failed) {
                                 ++first;
                                 const bool versioned =
                                     answer.more_headers.find("x-rocklock-version: ") !=
                                     std::string::npos;
                                 if (answer.status != 200 || !versioned) ++unexpected;
                             }
                             ++done;
                         });
        }
    }
    BOOST_TEST(done == many);
    BOOST_TEST(first == 20);
    BOOST_TEST(unexpected == 0);
    BOOST_TEST(
        has(world.ask("Scan", R"({"TableName":"things","Select":"COUNT"})"), R"("Count":20)"));
}

BOOST_AUTO_TEST_SUITE_END()
