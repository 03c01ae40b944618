// The contract of etcd::Client: watches, and the errors of a cluster that does not serve.
#include <string>
#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "etcd/every_client.hpp"

namespace rocklock::testing {

using namespace etcd_contract;
using namespace std::chrono_literals;

namespace {

// Calls all operations of the client. Checks that those that can have an effect fail with `write`,
// and the other ones with `read`.
void check_failures(const Connected& etcd, ErrorCode write, ErrorCode read) {
    constexpr std::chrono::milliseconds timeout(300);
    etcd::Client& client = etcd.subject->client();
    BOOST_TEST(fails(client.txn({{}, {etcd.put("a", "1")}, {}}, timeout), write));
    BOOST_TEST(fails(client.range(etcd.get("a"), timeout), read));
    BOOST_TEST(fails(client.compact(1, timeout), write));
    BOOST_TEST(fails(client.grant_lease(60s, timeout), write));
    BOOST_TEST(fails(client.keep_alive(1, timeout), write));
    BOOST_TEST(fails(client.revoke_lease(1, timeout), write));
    BOOST_TEST(fails(client.status(timeout), read));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_watch_of_etcd)

BOOST_DATA_TEST_CASE(reports_changes_since_its_first_revision, every_kind, kind) {
    const Connected etcd(kind);
    etcd.write({etcd.put("a", "1")});
    etcd.write({etcd.put("a", "2"), etcd.put("b", "2")});
    etcd.write({etcd.erase("a")});
    const auto watch = etcd.watch("a", "z", etcd.start + 2);
    BOOST_TEST(etcd.changes(*watch, 3) == "a=2@+2 b=2@+2 -a@+3");
    etcd.write({etcd.put("c", "4")});
    BOOST_TEST(etcd.changes(*watch, 1) == "c=4@+4");
    BOOST_TEST(!watch->next(0ms).value());
}

BOOST_DATA_TEST_CASE(reports_only_its_keys, every_kind, kind) {
    const Connected etcd(kind);
    const auto range = etcd.watch("b", "d", etcd.start + 1);
    const auto one = etcd.watch("b", "", etcd.start + 1);
    etcd.write({etcd.put("a", "1"), etcd.put("b", "1"), etcd.put("c", "1"), etcd.put("d", "1")});
    etcd.write({etcd.put("bb", "2")});
    etcd.write({etcd.erase("a", "z")});
    BOOST_TEST(etcd.changes(*range, 6) == "b=1@+1 c=1@+1 bb=2@+2 -b@+3 -bb@+3 -c@+3");
    BOOST_TEST(etcd.changes(*one, 2) == "b=1@+1 -b@+3");
}

BOOST_DATA_TEST_CASE(reports_the_members_of_a_key, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(60s, Connected::timeout).value().id;
    const auto watch = etcd.watch("a", "", etcd.start + 1);
    etcd.write({etcd.put("a", "1")});
    etcd.write({etcd.put("a", "2", lease)});
    etcd->revoke_lease(lease, Connected::timeout).value();
    std::vector<etcd::WatchEvent> events;
    while (events.size() < 3) {
        const auto response = watch->next(Connected::timeout).value();
        BOOST_REQUIRE(response.has_value());
        BOOST_TEST(response->header.cluster_id != 0U);
        for (const auto& event : response->events) {
            BOOST_TEST(response->header.revision >= event.kv.mod_revision);
            events.push_back(event);
        }
    }
    BOOST_TEST(events[1].kv.key == etcd.key("a"));
    BOOST_TEST(events[1].kv.value == "2");
    BOOST_TEST(events[1].kv.create_revision == etcd.start + 1);
    BOOST_TEST(events[1].kv.mod_revision == etcd.start + 2);
    BOOST_TEST(events[1].kv.lease == lease);
    BOOST_TEST(events[2].deleted);
    BOOST_TEST(events[2].kv.key == etcd.key("a"));
    BOOST_TEST(events[2].kv.value.empty());
    BOOST_TEST(events[2].kv.mod_revision == etcd.start + 3);
}

BOOST_DATA_TEST_CASE(does_not_divide_a_revision, every_kind, kind) {
    const Connected etcd(kind);
    const auto live = etcd.watch("k", "l", etcd.start + 1);
    std::vector<etcd::Operation> puts;
    for (int i = 0; i < 128; ++i) {
        puts.push_back(etcd.put("k" + std::to_string(i), std::string(10'000, 'x')));
    }
    etcd.write(puts);
    const auto late = etcd.watch("k", "l", etcd.start + 1);
    for (auto* watch : {live.get(), late.get()}) {
        const auto response = watch->next(Connected::timeout).value();
        BOOST_REQUIRE(response.has_value());
        BOOST_TEST(response->events.size() == 128U);
    }
}

BOOST_DATA_TEST_CASE(can_begin_in_the_future, every_kind, kind) {
    const Connected etcd(kind);
    const auto watch = etcd.watch("a", "", etcd.start + 3);
    for (int i = 1; i <= 4; ++i) etcd.write({etcd.put("a", std::to_string(i))});
    BOOST_TEST(etcd.changes(*watch, 2) == "a=3@+3 a=4@+4");
}

BOOST_DATA_TEST_CASE(fails_if_its_first_revision_has_been_compacted, every_kind, kind) {
    const Connected etcd(kind);
    for (int i = 1; i <= 3; ++i) etcd.write({etcd.put("a", std::to_string(i))});
    etcd->compact(etcd.start + 2, Connected::timeout).value();
    const auto compacted = etcd.watch("a", "", etcd.start + 1);
    BOOST_TEST(fails(compacted->next(Connected::timeout), ErrorCode::precondition_failed));
    BOOST_TEST(fails(compacted->next(Connected::timeout), ErrorCode::precondition_failed));
    const auto watch = etcd.watch("a", "", etcd.start + 2);
    BOOST_TEST(etcd.changes(*watch, 2) == "a=2@+2 a=3@+3");
}

BOOST_DATA_TEST_CASE(reports_the_end_of_a_lease, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(2s, Connected::timeout).value().id;
    etcd.write({etcd.put("a", "1", lease), etcd.put("b", "1", lease)});
    const auto watch = etcd.watch("a", "z", etcd.start + 2);
    // The watch must not depend on another request that ends the lease.
    std::optional<etcd::WatchResponse> response;
    BOOST_TEST(etcd.eventually([&] {
        response = watch->next(0ms).value();
        return response.has_value();
    }));
    BOOST_REQUIRE(response.has_value());
    BOOST_REQUIRE(response->events.size() == 2U);
    BOOST_TEST(response->events[1].deleted);
    BOOST_TEST(response->events[1].kv.key == etcd.key("b"));
    BOOST_TEST(response->events[1].kv.mod_revision == etcd.start + 2);
}

BOOST_DATA_TEST_CASE(waits_for_a_change, every_kind, kind) {
    const Connected etcd(kind);
    const auto watch = etcd.watch("a", "", etcd.start + 1);
    std::thread writer([&] { etcd.write({etcd.put("a", "1")}); });
    BOOST_TEST(etcd.changes(*watch, 1) == "a=1@+1");
    writer.join();
    BOOST_TEST(!watch->next(10ms).value());
}

BOOST_DATA_TEST_CASE(ends_when_it_is_cancelled, every_kind, kind) {
    const Connected etcd(kind);
    const auto watch = etcd.watch("a", "", etcd.start + 1);
    std::thread canceller([&] { watch->cancel(); });
    // Longer than a test may take: cancel() must end the call.
    BOOST_TEST(fails(watch->next(600s), ErrorCode::closing));
    canceller.join();
    watch->cancel();
    BOOST_TEST(fails(watch->next(0ms), ErrorCode::closing));
}

BOOST_DATA_TEST_CASE(fails_when_its_stream_ends, every_kind, kind) {
    const Connected etcd(kind);
    const auto watch = etcd.watch("a", "", etcd.start + 1);
    etcd.write({etcd.put("a", "1")});
    BOOST_TEST(etcd.changes(*watch, 1) == "a=1@+1");
    if (!etcd.subject->end_streams()) return;
    BOOST_TEST(fails(watch->next(Connected::timeout), ErrorCode::unreachable));
    BOOST_TEST(fails(watch->next(Connected::timeout), ErrorCode::unreachable));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_cluster_of_etcd)

BOOST_DATA_TEST_CASE(is_unreachable_if_it_accepts_no_connection, every_kind, kind) {
    const Connected etcd(kind);
    if (!etcd.subject->refuse_connections()) return;
    // The first request can be sent over the old connection.
    BOOST_TEST(!etcd->status(Connected::timeout));
    check_failures(etcd, ErrorCode::unreachable, ErrorCode::unreachable);
}

BOOST_DATA_TEST_CASE(leaves_the_effect_unknown_if_it_does_not_answer, every_kind, kind) {
    const Connected etcd(kind);
    if (!etcd.subject->stall()) return;
    check_failures(etcd, ErrorCode::indeterminate, ErrorCode::unreachable);
}

BOOST_DATA_TEST_CASE(denies_access, every_kind, kind) {
    const Connected etcd(kind);
    if (!etcd.subject->deny_access()) return;
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("a", "1")}, {}}), ErrorCode::access_denied));
    BOOST_TEST(fails(etcd.range(etcd.get("a")), ErrorCode::access_denied));
}

BOOST_DATA_TEST_CASE(refuses_writes_if_its_quota_is_exceeded, every_kind, kind) {
    const Connected etcd(kind, {.quota_bytes = 4 << 20});
    Result<etcd::TxnResponse> written = etcd.txn({});
    int count = 0;
    // etcd determines the size of its database only every 100 ms.
    for (; written && count < 1000; ++count) {
        written = etcd.txn({{}, {etcd.put("a", std::string(100'000, 'x'))}, {}});
    }
    BOOST_TEST(count > 10);
    BOOST_TEST(fails(written, ErrorCode::no_space, "database space exceeded"));
    // The refusal remains, also for a small value, and for a branch that would not be executed.
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("b", "1")}, {}}), ErrorCode::no_space));
    BOOST_TEST(fails(etcd.txn({{}, {}, {etcd.put("b", "1")}}), ErrorCode::no_space));
    BOOST_TEST(etcd.value("a").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
