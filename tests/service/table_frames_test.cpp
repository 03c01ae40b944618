// The requests of the C++ client for tables: secrets, users and principals.
#include "service/table_frames.hpp"

#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "service/principal_rule.hpp"
#include "support/stores/test_store.hpp"
#include "wire/table_frame.hpp"

namespace rocklock::testing {
namespace {

// Not a user of any machine.
constexpr std::uint32_t stranger = 3'999'999'999;

struct Served {
    Served() {
        CreateTable orders;
        orders.table = "orders";
        orders.attributes = {{"id", AttributeType::string}};
        orders.key = {{"id", KeyType::hash}};
        orders.billing = BillingMode::pay_per_request;
        BOOST_TEST_REQUIRE(tables.create_table(orders).has_value());
    }

    ServiceAnswer ask(TableFrame frame, std::string operation = "PutItem") {
        ServiceRequest request;
        request.operation = std::string(table_frame_target).append(operation);
        request.content_type = table_frame_type;
        request.uid = stranger;
        request.body = write_table_frame(frame);
        return answer_table_frame(request, tables, &database.service(), &rule, {});
    }
    static TypedWrite put(std::string by, std::optional<LockProof> proof = {}) {
        WriteItem write;
        write.table = "orders";
        write.item = AttributeMap{{"id", "1"}};
        write.by = std::move(by);
        write.proof = proof;
        return {write};
    }

    Database database = Database::open_on(make_test_store(system_clock())).value();
    TableService& tables = *database.tables().value();
    RemoteUsers remote_users;
    PrincipalRule rule{PrincipalFromUid::off, remote_users};
};

std::string code_in(const ServiceAnswer& answer) {
    if (answer.status == 200) return "done";
    return std::string(to_string(read_table_refusal(answer.body).code));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_request_of_the_cpp_client, Served)

BOOST_AUTO_TEST_CASE(must_prove_the_sessions_that_it_names) {
    Session ann = database.open_session("ann").value();
    Guard guard = ann.acquire("orders/1").value();
    const auto write = put("", guard.proof());
    BOOST_TEST(code_in(ask({write, {}})) == "invalid_argument");
    BOOST_TEST(code_in(ask({write, {{ann.id(), Secret{}}}})) == "not_owner");
    const SessionSecret own{ann.id(), ann.credentials().secret};
    BOOST_TEST(code_in(ask({write, {own}})) == "done");
    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(code_in(ask({write, {own}})) == "stale_token");
}

BOOST_AUTO_TEST_CASE(may_name_a_principal_unless_a_rule_forbids_it) {
    BOOST_TEST(code_in(ask({put("eve"), {}})) == "done");
    ServiceRequest request;
    request.operation = std::string(table_frame_target).append("PutItem");
    request.uid = stranger;
    request.body = write_table_frame({put("ann"), {}});
    PrincipalRule required(PrincipalFromUid::require, remote_users);
    const auto refused = answer_table_frame(request, tables, &database.service(), &required, {});
    BOOST_TEST(code_in(refused) == "access_denied");
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", "1"}};
    BOOST_TEST(tables.get_item(get).value().last_write.value().by == "eve");
}

BOOST_AUTO_TEST_CASE(of_an_unknown_operation_is_refused) {
    BOOST_TEST(code_in(ask({put(""), {}}, "Explode")) == "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
