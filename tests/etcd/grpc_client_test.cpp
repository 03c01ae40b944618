// The operations of one member, its limits, TLS and users.
#include <chrono>
#include <string>

#include <boost/test/unit_test.hpp>

#include "etcd/real_etcd.hpp"
#include "storage/etcd/client/load_client.hpp"

namespace rocklock::etcd {

BOOST_AUTO_TEST_SUITE(a_client_of_etcd, *boost::unit_test::precondition(testing::has_etcd))

namespace {

using namespace std::chrono_literals;
using boost::unit_test::precondition;
using testing::has_etcd;
using testing::RealEtcd;

// On a busy machine a write to the disk can take seconds.
constexpr auto timeout = 20s;

Txn put(const std::string& key, const std::string& value, LeaseId lease = 0) {
    Txn txn;
    txn.success.emplace_back(Put{key, value, lease});
    return txn;
}

// One member for all cases that do not change its settings. Each case uses keys of its own.
struct OneMember {
    static RealEtcd& server() {
        static RealEtcd etcd;
        return etcd;
    }
    std::unique_ptr<Client> client = server().client();

    Revision write(const std::string& key, const std::string& value, LeaseId lease = 0) {
        return client->txn(put(key, value, lease), timeout).value().header.revision;
    }
    RangeResponse read(const Range& range) { return client->range(range, timeout).value(); }
};

template <typename T>
void check_error(const Result<T>& result, ErrorCode code) {
    BOOST_REQUIRE(!result);
    BOOST_TEST((result.error().code == code), to_string(result.error().code)
                                                  << ": " << result.error().message);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(reports_the_status_of_a_member, OneMember) {
    const auto status = client->status(timeout).value();
    BOOST_TEST(status.version.starts_with("3."));
    BOOST_TEST(status.db_bytes > 0);
    BOOST_TEST(status.db_bytes_in_use > 0);
    BOOST_TEST(status.header.cluster_id != 0U);
    BOOST_TEST(status.header.member_id != 0U);
}

BOOST_FIXTURE_TEST_CASE(writes_and_reads_keys, OneMember) {
    const std::string bytes("\0\xff\n", 3);
    const Revision first = write("keys/a" + bytes, "1" + bytes);
    const Revision second = write("keys/b", "");
    BOOST_TEST(second == first + 1);

    const auto all = read({.key = "keys/", .end = "keys0"});
    BOOST_REQUIRE(all.kvs.size() == 2U);
    BOOST_TEST(all.kvs[0].key == "keys/a" + bytes);
    BOOST_TEST(all.kvs[0].value == "1" + bytes);
    BOOST_TEST(all.kvs[0].create_revision == first);
    BOOST_TEST(all.kvs[0].mod_revision == first);
    BOOST_TEST(all.kvs[0].lease == 0);
    BOOST_TEST(all.kvs[1].value == "");
    BOOST_TEST(!all.more);
    BOOST_TEST(all.header.revision >= second);

    const auto limited = read({.key = "keys/", .end = "keys0", .limit = 1});
    BOOST_TEST(limited.kvs.size() == 1U);
    BOOST_TEST(limited.more);
    const auto old = read({.key = "keys/", .end = "keys0", .revision = first});
    BOOST_TEST(old.kvs.size() == 1U);
    BOOST_TEST(read({.key = "keys/b", .serializable = true}).kvs.size() == 1U);
    BOOST_TEST(read({.key = "keys/c"}).kvs.empty());
}

BOOST_FIXTURE_TEST_CASE(executes_the_branch_that_the_conditions_select, OneMember) {
    Txn txn = put("branch/a", "1");
    txn.compares = {{"branch/a", Revision{0}}};
    txn.failure.emplace_back(Range{.key = "branch/a"});
    const auto created = client->txn(txn, timeout).value();
    BOOST_TEST(created.succeeded);
    BOOST_TEST(created.ranges.empty());

    const auto refused = client->txn(txn, timeout).value();
    BOOST_TEST(!refused.succeeded);
    BOOST_REQUIRE(refused.ranges.size() == 1U);
    BOOST_REQUIRE(refused.ranges[0].kvs.size() == 1U);
    BOOST_TEST(refused.ranges[0].kvs[0].create_revision == created.header.revision);
    BOOST_TEST(refused.ranges[0].header.cluster_id == refused.header.cluster_id);
    BOOST_TEST(refused.header.revision == created.header.revision);

    Txn exchange;
    exchange.compares = {{"branch/a", created.header.revision}, {"branch/a", std::string("1")}};
    exchange.success.emplace_back(DeleteRange{.key = "branch/", .end = "branch0"});
    exchange.success.emplace_back(Range{.key = "branch/", .end = "branch0"});
    const auto deleted = client->txn(exchange, timeout).value();
    BOOST_TEST(deleted.succeeded);
    BOOST_REQUIRE(deleted.ranges.size() == 1U);
    BOOST_TEST(deleted.ranges[0].kvs.empty());
    BOOST_TEST(!client->txn(exchange, timeout).value().succeeded);
}

BOOST_FIXTURE_TEST_CASE(reports_that_a_revision_has_been_compacted, OneMember) {
    const Revision first = write("compacted/a", "1");
    const Revision last = write("compacted/a", "2");
    BOOST_TEST(client->compact(last, timeout).has_value());
    check_error(client->range({.key = "compacted/a", .revision = first}, timeout),
                ErrorCode::precondition_failed);
    check_error(client->compact(first, timeout), ErrorCode::precondition_failed);
    check_error(client->range({.key = "compacted/a", .revision = last + 1000}, timeout),
                ErrorCode::io_error);
    BOOST_TEST(read({.key = "compacted/a", .revision = last}).kvs.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(grants_renews_and_revokes_a_lease, OneMember) {
    const Lease lease = client->grant_lease(30s, timeout).value();
    BOOST_TEST(lease.id != 0);
    BOOST_TEST((lease.ttl >= 30s));
    write("lease/a", "1", lease.id);
    BOOST_TEST(read({.key = "lease/a"}).kvs.at(0).lease == lease.id);
    BOOST_TEST((client->keep_alive(lease.id, timeout).value() == lease.ttl));

    BOOST_TEST(client->revoke_lease(lease.id, timeout).has_value());
    BOOST_TEST(read({.key = "lease/a"}).kvs.empty());
    check_error(client->revoke_lease(lease.id, timeout), ErrorCode::resource_not_found);
    check_error(client->keep_alive(lease.id, timeout), ErrorCode::resource_not_found);
    check_error(client->txn(put("lease/a", "1", lease.id), timeout), ErrorCode::resource_not_found);
    BOOST_TEST(read({.key = "lease/a"}).kvs.empty());
}

BOOST_FIXTURE_TEST_CASE(reports_that_a_request_exceeds_a_limit, OneMember) {
    Txn txn;
    for (int i = 0; i < 129; ++i) txn.success.emplace_back(Put{"many/" + std::to_string(i), "", 0});
    check_error(client->txn(txn, timeout), ErrorCode::invalid_argument);
    txn.success.pop_back();
    txn.compares = {{"many/a", Revision{0}}};
    BOOST_TEST(client->txn(txn, timeout).value().succeeded);

    check_error(client->txn(put("large", std::string(1'600'000, 'x')), timeout),
                ErrorCode::invalid_argument);
    // Refused by the server's gRPC library.
    check_error(client->txn(put("large", std::string(5'000'000, 'x')), timeout),
                ErrorCode::invalid_argument);

    Txn twice = put("twice", "1");
    twice.success.emplace_back(Put{"twice", "2", 0});
    check_error(client->txn(twice, timeout), ErrorCode::invalid_argument);
    check_error(client->grant_lease(std::chrono::hours(24 * 365 * 1000), timeout),
                ErrorCode::invalid_argument);
    // The connection is still usable.
    BOOST_TEST(client->txn(put("large", std::string(1'500'000, 'x')), timeout).has_value());
}

BOOST_FIXTURE_TEST_CASE(receives_responses_of_any_size, OneMember) {
    for (int i = 0; i < 8; ++i) write("size/" + std::to_string(i), std::string(1'500'000, 'x'));
    const auto response = read({.key = "size/", .end = "size0"});
    BOOST_REQUIRE(response.kvs.size() == 8U);
    BOOST_TEST(response.kvs[7].value.size() == 1'500'000U);
}

BOOST_AUTO_TEST_CASE(reports_that_the_database_has_exceeded_its_quota) {
    RealEtcd etcd({.arguments = {"--quota-backend-bytes", "1000000"}});
    const auto client = etcd.client();
    // etcd compares the size with the quota only from time to time.
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    auto written = client->txn(put("quota/0", ""), timeout);
    while (written && std::chrono::steady_clock::now() < deadline) {
        written = client->txn(put("quota/1", std::string(100'000, 'x')), timeout);
    }
    check_error(written, ErrorCode::no_space);
    // Keys can still be read and deleted.
    Txn remove;
    remove.success.emplace_back(DeleteRange{.key = "quota/", .end = "quota0"});
    BOOST_TEST(client->range({.key = "quota/0"}, timeout).has_value());
    BOOST_TEST(client->txn(remove, timeout).has_value());
}

BOOST_AUTO_TEST_CASE(uses_tls_with_a_client_certificate) {
    RealEtcd etcd({.tls = true});
    BOOST_TEST(etcd.client()->txn(put("a", "1"), timeout).has_value());

    auto options = etcd.client_options();
    options.ca_file.clear();
    const auto distrustful = load_client(options).value()->status(2s);
    check_error(distrustful, ErrorCode::unreachable);
    BOOST_TEST(distrustful.error().message.find("check that etcd-ca contains") != std::string::npos,
               distrustful.error().message);

    options = etcd.client_options();
    options.cert_file.clear();
    options.key_file.clear();
    check_error(load_client(options).value()->status(2s), ErrorCode::unreachable);

    options.tls = false;
    check_error(load_client(options).value()->status(2s), ErrorCode::unreachable);

    options = etcd.client_options();
    options.cert_file = etcd.file("expired.pem");
    const auto expired = load_client(options).value()->status(2s);
    check_error(expired, ErrorCode::unreachable);
    BOOST_TEST(
        expired.error().message.find(options.cert_file + " expired at 20") != std::string::npos,
        expired.error().message);
}

BOOST_AUTO_TEST_CASE(authenticates_a_user) {
    RealEtcd etcd;
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"user", "add", "root:root"},
             {"user", "grant-role", "root", "root"},
             {"user", "add", "writer:secret"},
             {"role", "add", "writer"},
             {"role", "grant-permission", "writer", "--prefix=true", "readwrite", "allowed/"},
             {"user", "grant-role", "writer", "writer"},
         }) {
        etcd.control(command);
    }
    // Before authentication is enabled, a client with a user is served, too.
    auto options = etcd.client_options();
    options.user = "writer";
    options.password = "secret";
    const auto client = load_client(options).value();
    BOOST_TEST(client->txn(put("forbidden", "1"), timeout).has_value());
    etcd.control({"auth", "enable"});

    BOOST_TEST(client->txn(put("allowed/a", "1"), timeout).has_value());
    check_error(client->txn(put("forbidden", "2"), timeout), ErrorCode::access_denied);
    auto watch = client->watch("forbidden", "", 1).value();
    // The token of the client is not new, so a second attempt with a new one is necessary.
    check_error(watch->next(timeout), ErrorCode::unreachable);
    watch = client->watch("forbidden", "", 1).value();
    check_error(watch->next(timeout), ErrorCode::access_denied);
    watch = client->watch("allowed/a", "", 1).value();
    BOOST_TEST(watch->next(timeout).value().has_value());

    check_error(etcd.client()->txn(put("allowed/a", "2"), timeout), ErrorCode::access_denied);
    options.password = "wrong";
    check_error(load_client(options).value()->range({.key = "allowed/a"}, timeout),
                ErrorCode::access_denied);

    // A member that is restarted has forgotten all tokens.
    etcd.kill();
    etcd.start();
    etcd.await_ready();
    RealEtcd::await_connection(*client);
    BOOST_TEST(client->range({.key = "allowed/a"}, timeout).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
