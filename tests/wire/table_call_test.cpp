// JSON requests for tables: malformed requests, invalid members and the form of the responses.
// golden_test.cpp tests the results of the operations.
#include "wire/table_call.hpp"

#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/stores/test_store.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {
namespace {

struct World {
    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = testing::make_test_store(clock);
    std::unique_ptr<TableService> tables = open_tables(*storage, clock).value();

    // Returns the body of the response, whether the request succeeds or fails.
    std::string ask(std::string_view operation, std::string_view request) const {
        const auto body = TableBody::parse(request);
        if (!body) return write_table_error(body.error());
        auto call = read_table_call(*find_table_operation(operation), *body);
        if (!call) return write_table_error(call.error());
        const auto answer = (*call)(*tables, {});
        return answer ? answer->body : write_table_error(answer.error());
    }
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

constexpr std::string_view with_indexes =
    R"({"TableName":"things","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[
        {"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
        {"AttributeName":"l","AttributeType":"N"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "LocalSecondaryIndexes":[{"IndexName":"by-l","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}]}]})";

}  // namespace

BOOST_AUTO_TEST_SUITE(a_request_as_json)

BOOST_AUTO_TEST_CASE(that_is_not_an_object_is_malformed) {
    for (const auto* text :
         {"", "{", "hello", "[]", "\"x\"", "5", "null", "{} x", "{\"a\":\"\xff\"}"}) {
        const auto body = TableBody::parse(text);
        BOOST_TEST_REQUIRE(!body, text);
        BOOST_TEST(write_table_error(body.error()) ==
                   R"({"__type":"com.amazon.coral.service#SerializationException"})");
    }
    BOOST_TEST(TableBody::parse(" \n{ } ").has_value());
}

BOOST_AUTO_TEST_CASE(with_members_of_other_kinds_is_malformed) {
    const World world;
    for (const auto* text :
         {R"({"TableName":5,"Key":{}})", R"({"TableName":[],"Key":{}})",
          R"({"TableName":"abc","Key":"x"})", R"({"TableName":"abc","Key":{},"ConsistentRead":1})",
          R"({"TableName":"abc","Key":{},"ExpressionAttributeNames":[]})",
          R"({"TableName":"abc","Key":{},"AttributesToGet":{}})",
          R"({"TableName":"abc","Key":{"a":{"N":5}}})"}) {
        BOOST_TEST(has(world.ask("GetItem", text), "SerializationException"), text);
    }
    BOOST_TEST(has(world.ask("Scan", R"({"TableName":"abc","Limit":"5"})"),
                   R"("Message":"STRING_VALUE cannot be converted to Integer")"));
    // This error has priority over errors about the values of members.
    BOOST_TEST(has(world.ask("Scan", R"({"Limit":{}})"), "SerializationException"));
}

BOOST_AUTO_TEST_CASE(has_its_faults_reported_together) {
    const World world;
    BOOST_TEST(has(world.ask("PutItem", R"({"TableName":"a;","ReturnValues":"x"})"),
                   "4 validation errors detected: Value 'a;' at 'tableName' failed to satisfy "
                   "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; "
                   "Value 'a;' at 'tableName' failed to satisfy constraint: Member must have "
                   "length greater than or equal to 3; Value null at 'item' failed to satisfy "
                   "constraint: Member must not be null; Value 'x' at 'returnValues' failed to "
                   "satisfy constraint: Member must satisfy enum value set: [ALL_NEW, "
                   "UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"));
    // At most ten errors are reported.
    BOOST_TEST(has(world.ask("TransactWriteItems",
                             R"({"TransactItems":[{"Put":{}},{"Put":{}},{"Put":{}},{"Put":{}},
                                {"Put":{}},{"Put":{}}]})"),
                   "10 validation errors detected"));
    BOOST_TEST(has(world.ask("CreateTable", "{}"), "3 validation errors detected"));
}

BOOST_AUTO_TEST_CASE(reports_the_path_of_a_member) {
    const World world;
    BOOST_TEST(has(world.ask("CreateTable",
                             R"({"TableName":"abc","AttributeDefinitions":[{"AttributeName":"a",
                                "AttributeType":"X"}],"KeySchema":[{"AttributeName":"a"}]})"),
                   "2 validation errors detected: Value 'X' at "
                   "'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: "
                   "Member must satisfy enum value set: [B, N, S]; Value null at "
                   "'keySchema.1.member.keyType' failed to satisfy constraint: Member must not be "
                   "null"));
}

BOOST_AUTO_TEST_CASE(may_have_null_and_unknown_members) {
    const World world;
    BOOST_TEST(world.ask("ListTables", R"({"Limit":null,"Other":[1,{}]})") ==
               R"({"TableNames":[]})");
}

BOOST_AUTO_TEST_CASE(names_no_projected_attribute_twice_and_none_by_256_characters) {
    const World world;
    const auto made = [&](const std::string& names) {
        return world.ask(
            "CreateTable",
            R"({"TableName":"abc","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[
                            {"AttributeName":"a","AttributeType":"S"}],
                            "KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],
                            "GlobalSecondaryIndexes":[{"IndexName":"by-a","KeySchema":
                            [{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":
                            "INCLUDE","NonKeyAttributes":[)" +
                names + "]}}]}");
    };
    BOOST_TEST(has(made(R"("b","c","b")"),
                   "One or more parameter values were invalid: Duplicate element in "
                   "NonKeyAttributes: b"));
    BOOST_TEST(has(made('"' + std::string(256, 'x') + '"'),
                   "at 'projection.nonKeyAttributes' failed to "
                   "satisfy constraint: Member must satisfy constraint: [Member must have length "
                   "less than or equal to 255, Member must have length greater than or equal to "
                   "1]"));
    BOOST_TEST(has(made(R"("")"), "length greater than or equal to 1"));
    BOOST_TEST(has(made('"' + std::string(255, 'x') + '"'), "TableDescription"));
}

BOOST_AUTO_TEST_CASE(refuses_a_repeated_tag) {
    const World world;
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), "TableDescription"));
    BOOST_TEST(has(world.ask("TagResource",
                             R"({"ResourceArn":"arn:aws:dynamodb:local:000000000000:table/things",
                                "Tags":[{"Key":"a","Value":"1"},{"Key":"a","Value":"2"}]})"),
                   "Duplicate Tag Keys provided as input: Duplicate Tag Key found a"));
}

BOOST_AUTO_TEST_CASE(for_streams_is_refused) {
    const World world;
    std::string request(with_indexes);
    request.insert(1,
                   R"("StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},)");
    BOOST_TEST(has(world.ask("CreateTable", request),
                   "StreamSpecification: streams are not supported; omit this member"));
    request = with_indexes;
    request.insert(1, R"("StreamSpecification":{"StreamEnabled":false},)");
    BOOST_TEST(has(world.ask("CreateTable", request), "TableDescription"));
    // There is no stream that could be disabled.
    BOOST_TEST(has(world.ask("UpdateTable", R"({"TableName":"things",
                                               "StreamSpecification":{"StreamEnabled":false}})"),
                   "StreamSpecification: streams are not supported; omit this member"));
}

BOOST_AUTO_TEST_CASE(with_a_member_that_is_not_implemented_is_refused) {
    const World world;
    const auto refused = [](std::string_view name) { return std::string(name) + ": "; };
    for (const std::string member : {"GlobalTableSettingsReplicationMode", "GlobalTableSourceArn",
                                     "ResourcePolicy", "VectorIndexes"}) {
        std::string request(with_indexes);
        request.insert(1, '"' + member + R"(":"x",)");
        const auto answer = world.ask("CreateTable", request);
        BOOST_TEST(has(answer, "ValidationException"), answer);
        BOOST_TEST(has(answer, refused(member)), answer);
        BOOST_TEST(has(answer, "not supported; omit this member"), answer);
    }
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), "TableDescription"));
    for (const std::string member :
         {"DisassociationProtectionEnabled", "GlobalTableSettingsReplicationMode",
          "GlobalTableWitnessUpdates", "MultiRegionConsistency", "ReplicaUpdates",
          "VectorIndexUpdates"}) {
        for (const std::string beside : {"", R"(,"DeletionProtectionEnabled":true)"}) {
            const auto answer = world.ask(
                "UpdateTable", R"({"TableName":"things",")" + member + R"(":[{}])" + beside + "}");
            BOOST_TEST(has(answer, "ValidationException"), answer);
            BOOST_TEST(has(answer, refused(member)), answer);
            BOOST_TEST(has(answer, "not supported; omit this member"), answer);
        }
    }
    BOOST_TEST(has(world.ask("DescribeTable", R"({"TableName":"things"})"),
                   R"("DeletionProtectionEnabled":false)"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_answer_as_json)

BOOST_AUTO_TEST_CASE(reports_capacity_and_collections_on_request) {
    const World world;
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), R"("IndexName":"by-l")"));
    BOOST_TEST(world.ask("PutItem", R"({"TableName":"things","ReturnConsumedCapacity":"INDEXES",
                                       "ReturnItemCollectionMetrics":"SIZE","Item":{"pk":{"S":"a"},
                                       "sk":{"S":"b"},"l":{"N":"1"}}})") ==
               R"({"ConsumedCapacity":{"TableName":"things","CapacityUnits":2.0,)"
               R"("Table":{"CapacityUnits":1.0},"LocalSecondaryIndexes":{"by-l":)"
               R"({"CapacityUnits":1.0}}},"ItemCollectionMetrics":{"ItemCollectionKey":)"
               R"({"pk":{"S":"a"}},"SizeEstimateRangeGB":[0.0,1.0]}})");
    BOOST_TEST(world.ask("GetItem", R"({"TableName":"things","ReturnConsumedCapacity":"TOTAL",
                                       "Key":{"pk":{"S":"x"},"sk":{"S":"b"}}})") ==
               R"({"ConsumedCapacity":{"TableName":"things","CapacityUnits":0.5}})");
    BOOST_TEST(has(world.ask("BatchWriteItem",
                             R"({"ReturnItemCollectionMetrics":"SIZE","RequestItems":{"things":[
                                {"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}}]}})"),
                   R"("ItemCollectionMetrics":{"things":[{"ItemCollectionKey":{"pk":{"S":"a"}})"));
    BOOST_TEST(has(world.ask("TransactGetItems",
                             R"({"ReturnConsumedCapacity":"TOTAL","TransactItems":[{"Get":{
                                "TableName":"things","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}}]})"),
                   R"("ConsumedCapacity":[{"TableName":"things","CapacityUnits":2.0,)"
                   R"("ReadCapacityUnits":2.0}])"));
}

// A repeated transaction is charged for reading its items, at twice the cost of single reads.
BOOST_AUTO_TEST_CASE(to_a_repeated_transaction_reports_the_capacity_of_its_reads) {
    const World world;
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), "TableDescription"));
    const std::string request =
        R"({"ClientRequestToken":"t","ReturnConsumedCapacity":"INDEXES","TransactItems":[
            {"Put":{"TableName":"things","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"l":{"N":"1"},"t":{"S":")" +
        std::string(5'000, 'x') +
        R"("}}}},
            {"Delete":{"TableName":"things","Key":{"pk":{"S":"a"},"sk":{"S":"c"}}}}]})";
    BOOST_TEST(has(world.ask("TransactWriteItems", request),
                   R"("CapacityUnits":22.0,"WriteCapacityUnits":22.0)"));
    BOOST_TEST(world.ask("TransactWriteItems", request) ==
               R"({"ConsumedCapacity":[{"TableName":"things","CapacityUnits":6.0,)"
               R"("ReadCapacityUnits":6.0,"Table":{"CapacityUnits":6.0,)"
               R"("ReadCapacityUnits":6.0}}]})");
}

BOOST_AUTO_TEST_CASE(of_a_table_on_demand_has_the_time_of_the_change) {
    World world;
    world.clock.set_wall(rocklock::WallTime(std::chrono::milliseconds(1'700'000'000'500)));
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), "TableDescription"));
    const std::string since = R"("BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST",)"
                              R"("LastUpdateToPayPerRequestDateTime":)";
    BOOST_TEST(
        has(world.ask("DescribeTable", R"({"TableName":"things"})"), since + "1700000000.5}"));
    world.clock.advance(std::chrono::seconds(10));
    BOOST_TEST(has(world.ask("UpdateTable", R"({"TableName":"things","BillingMode":"PROVISIONED",
                             "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}})"),
                   R"("BillingModeSummary":{"BillingMode":"PROVISIONED",)"
                   R"("LastUpdateToPayPerRequestDateTime":1700000000.5})"));
    BOOST_TEST(
        has(world.ask("UpdateTable", R"({"TableName":"things","BillingMode":"PAY_PER_REQUEST"})"),
            since + "1700000010.5}"));
}

// These settings of tables and indexes are stored and returned; they have no other effect.
BOOST_AUTO_TEST_CASE(returns_limits_warm_throughput_and_encryption_as_requested) {
    World world;
    const std::string invalid = "One or more parameter values were invalid: ";
    std::string request(with_indexes);
    request.insert(1, R"("SSESpecification":{"Enabled":true,"SSEType":"KMS","KMSMasterKeyId":"k1"},
        "OnDemandThroughput":{"MaxReadRequestUnits":100},
        "WarmThroughput":{"ReadUnitsPerSecond":13000},
        "GlobalSecondaryIndexes":[{"IndexName":"by-sk","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"sk","KeyType":"HASH"}],
        "OnDemandThroughput":{"MaxWriteRequestUnits":7},
        "WarmThroughput":{"WriteUnitsPerSecond":4001}}],)");
    BOOST_TEST(has(world.ask("CreateTable", request), "TableDescription"));
    world.tables.reset();
    world.tables = open_tables(*world.storage, world.clock).value();
    const auto described = [&] { return world.ask("DescribeTable", R"({"TableName":"things"})"); };
    for (
        const auto* part :
        {R"("OnDemandThroughput":{"MaxReadRequestUnits":100,"MaxWriteRequestUnits":-1},)",
         R"("WarmThroughput":{"ReadUnitsPerSecond":13000,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"})",
         R"("SSEDescription":{"Status":"ENABLED","SSEType":"KMS",)"
         R"("KMSMasterKeyArn":"arn:aws:kms:local:000000000000:key/k1"})",
         R"("WarmThroughput":{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4001,"Status":"ACTIVE"},)"
         R"("OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":7})"}) {
        BOOST_TEST(has(described(), part), part);
    }
    const auto changed = [&](const std::string& members) {
        return world.ask("UpdateTable", R"({"TableName":"things",)" + members + "}");
    };
    BOOST_TEST(
        has(changed(R"("OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":5})"),
            R"("OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":5})"));
    BOOST_TEST(has(changed(R"("OnDemandThroughput":{"MaxReadRequestUnits":0})"),
                   invalid + "Requested MaxReadRequestUnits for OnDemandThroughput for table is "
                             "outside of valid range"));
    BOOST_TEST(has(changed(R"("WarmThroughput":{"WriteUnitsPerSecond":5000})"),
                   R"("ReadUnitsPerSecond":13000,"WriteUnitsPerSecond":5000)"));
    BOOST_TEST(has(changed(R"("WarmThroughput":{"ReadUnitsPerSecond":12999})"),
                   invalid + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower "
                             "than current WarmThroughput, decreasing WarmThroughput is not "
                             "supported"));
    BOOST_TEST(has(changed(R"("GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-sk",
                              "OnDemandThroughput":{"MaxReadRequestUnits":9}}}])"),
                   R"("OnDemandThroughput":{"MaxReadRequestUnits":9,"MaxWriteRequestUnits":7})"));
    BOOST_TEST(
        has(changed(R"("SSESpecification":{"Enabled":true,"SSEType":"KMS","KMSMasterKeyId":"k1"})"),
            invalid + "Table is already encrypted with given KMSMasterKeyId"));
    BOOST_TEST(!has(changed(R"("SSESpecification":{"Enabled":false})"), "SSEDescription"));
    BOOST_TEST(has(changed(R"("SSESpecification":{})"),
                   invalid + "Table is already encrypted by default"));
    BOOST_TEST(has(changed(R"("SSESpecification":{"Enabled":true})"),
                   "arn:aws:kms:local:000000000000:alias/aws/dynamodb"));
    BOOST_TEST(has(changed(R"("BillingMode":"PROVISIONED","ProvisionedThroughput":
                              {"ReadCapacityUnits":1,"WriteCapacityUnits":1},
                              "GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-sk",
                              "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}}])"),
                   R"("ReadUnitsPerSecond":13000,"WriteUnitsPerSecond":5000)"));
    BOOST_TEST(!has(described(), "OnDemandThroughput"));
    BOOST_TEST(has(changed(R"("OnDemandThroughput":{"MaxWriteRequestUnits":5})"),
                   invalid + "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when "
                             "the table BillingMode is PROVISIONED"));
}

BOOST_AUTO_TEST_CASE(of_an_unsupported_encryption_reports_why) {
    const World world;
    const auto made = [&](const std::string& members) {
        std::string request(with_indexes);
        request.insert(1, R"("SSESpecification":{)" + members + "},");
        return world.ask("CreateTable", request);
    };
    BOOST_TEST(
        has(made(R"("Enabled":true,"SSEType":"AES256")"), "SSEType AES256 is not supported"));
    BOOST_TEST(has(made(R"("SSEType":"KMS")"), "SSEType can not be specified if Enabled is false"));
    BOOST_TEST(has(made(R"("Enabled":true,"KMSMasterKeyId":"k")"),
                   "SSEType KMS is required if KMSMasterKeyId is specified"));
    BOOST_TEST(!has(made(R"("Enabled":false)"), "SSEDescription"));
}

BOOST_AUTO_TEST_CASE(to_a_request_for_backups_of_a_missing_table_has_a_special_error) {
    const World world;
    BOOST_TEST(world.ask("DescribeContinuousBackups", R"({"TableName":"nosuch"})") ==
               R"({"__type":"com.amazonaws.dynamodb.v20120810#TableNotFoundException",)"
               R"("message":"Table not found: nosuch"})");
    BOOST_TEST(has(world.ask("CreateTable", with_indexes), "TableDescription"));
    BOOST_TEST(has(world.ask("DescribeContinuousBackups", R"({"TableName":"things"})"),
                   R"("ContinuousBackupsStatus":"ENABLED")"));
}

BOOST_AUTO_TEST_CASE(that_only_counts_has_no_items) {
    const World world;
    world.ask("CreateTable", with_indexes);
    BOOST_TEST(world.ask("Scan", R"({"TableName":"things","Select":"COUNT"})") ==
               R"({"Count":0,"ScannedCount":0})");
    BOOST_TEST(world.ask("Scan", R"({"TableName":"things"})") ==
               R"({"Items":[],"Count":0,"ScannedCount":0})");
}

BOOST_AUTO_TEST_CASE(of_a_cancelled_transaction_has_a_reason_for_each_action) {
    Error error(ErrorCode::transaction_cancelled, "Transaction cancelled");
    error.reasons.resize(4);
    error.reasons[1] = {ErrorCode::condition_failed, "no", {}};
    error.reasons[2] = {ErrorCode::transaction_conflict, "busy", {}};
    error.reasons[3] = {ErrorCode::throttled, "slow", {}};
    BOOST_TEST(write_table_error(error) ==
               R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",)"
               R"("Message":"Transaction cancelled","CancellationReasons":[{"Code":"None"},)"
               R"({"Code":"ConditionalCheckFailed","Message":"no"},)"
               R"({"Code":"TransactionConflict","Message":"busy"},)"
               R"({"Code":"ProvisionedThroughputExceeded","Message":"slow"}]})");
}

BOOST_AUTO_TEST_CASE(reports_the_number_of_kept_drafts) {
    Error stale(ErrorCode::stale_token, "why");
    stale.drafts = 1;
    BOOST_TEST(write_table_error(stale) ==
               R"({"__type":"rocklock#StaleTokenException","message":"why","Drafts":1})");
    Error cancelled(ErrorCode::transaction_cancelled, "why");
    cancelled.drafts = 2;
    cancelled.reasons.resize(1);
    BOOST_TEST(
        has(write_table_error(cancelled), R"("Message":"why","Drafts":2,"CancellationReasons":[)"));
    cancelled.drafts = 0;
    BOOST_TEST(!has(write_table_error(cancelled), "Drafts"));
}

BOOST_AUTO_TEST_CASE(of_an_error_has_its_name_and_its_status) {
    const auto is = [](ErrorCode code, int status, std::string_view start) {
        const Error error(code, "why");
        BOOST_TEST(table_error_status(error) == status, start);
        BOOST_TEST(has(write_table_error(error), start), start);
    };
    is(ErrorCode::throttled, 400, "v20120810#ProvisionedThroughputExceededException\",\"message\"");
    is(ErrorCode::transaction_conflict, 400, "v20120810#TransactionConflictException\"");
    is(ErrorCode::parameter_mismatch, 400,
       "v20120810#IdempotentParameterMismatchException\",\"Message\"");
    is(ErrorCode::io_error, 500, "v20120810#InternalServerError\"");
    is(ErrorCode::closing, 500, "v20120810#InternalServerError\"");
}

BOOST_AUTO_TEST_CASE(has_numbers_with_a_point) {
    JsonWriter json;
    json.begin_array();
    for (const double value : {0.5, 2.0, 1764000000.125, 40000.0}) json.number(value);
    json.end_array();
    BOOST_TEST(json.text() == "[0.5,2.0,1764000000.125,40000.0]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
