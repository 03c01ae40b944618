// The contract of etcd::Client: transactions, reads, compaction and leases. The contract of watches
// and of failures is in watch_contract_test.cpp.
#include <string>
#include <utility>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "etcd/every_client.hpp"

namespace rocklock::testing {

using namespace etcd_contract;
using namespace std::chrono_literals;

namespace {

std::vector<etcd::Operation> many_puts(const Connected& etcd, int count) {
    std::vector<etcd::Operation> puts;
    for (int i = 0; i < count; ++i) puts.push_back(etcd.put("k" + std::to_string(i), "v"));
    return puts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_transaction_of_etcd)

BOOST_DATA_TEST_CASE(writes_keys_with_their_revisions, every_kind, kind) {
    const Connected etcd(kind);
    const auto first = etcd.write({etcd.put("a", "1")});
    const auto second = etcd.write({etcd.put("a", "2")});
    BOOST_TEST(first == etcd.start + 1);
    BOOST_TEST(second == etcd.start + 2);
    const auto read = etcd.range(etcd.get("a")).value();
    BOOST_TEST(read.header.revision == second);
    BOOST_REQUIRE(read.kvs.size() == 1U);
    BOOST_TEST(read.kvs[0].key == etcd.key("a"));
    BOOST_TEST(read.kvs[0].value == "2");
    BOOST_TEST(read.kvs[0].create_revision == first);
    BOOST_TEST(read.kvs[0].mod_revision == second);
    BOOST_TEST(read.kvs[0].lease == 0);
}

BOOST_DATA_TEST_CASE(increases_the_revision_by_one, every_kind, kind) {
    const Connected etcd(kind);
    const auto revision = etcd.write({etcd.put("a", "1"), etcd.put("b", "1"), etcd.put("c", "1")});
    BOOST_TEST(revision == etcd.start + 1);
    BOOST_TEST(etcd.revision() == revision);
    const auto read = etcd.range(etcd.get("a", "d")).value();
    BOOST_TEST(read.kvs.size() == 3U);
    for (const auto& kv : read.kvs) {
        BOOST_TEST(kv.create_revision == revision);
        BOOST_TEST(kv.mod_revision == revision);
    }
    BOOST_TEST(etcd.write({etcd.erase("a"), etcd.put("d", "1"), etcd.erase("absent")}) ==
               revision + 1);
}

BOOST_DATA_TEST_CASE(without_a_write_does_not_increase_the_revision, every_kind, kind) {
    const Connected etcd(kind);
    const auto start = etcd.write({etcd.put("a", "1")});
    BOOST_TEST(etcd.write({}) == start);
    BOOST_TEST(etcd.write({etcd.get("a")}) == start);
    BOOST_TEST(etcd.write({etcd.erase("absent"), etcd.erase("x", "z")}) == start);
    BOOST_TEST(etcd.revision() == start);
}

BOOST_DATA_TEST_CASE(executes_one_of_its_branches, every_kind, kind) {
    const Connected etcd(kind);
    const auto created = etcd.write({etcd.put("a", "1")});
    etcd.write({etcd.put("a", "2")});
    const auto runs = [&](std::vector<etcd::Compare> compares) {
        const auto done =
            etcd.txn({std::move(compares), {etcd.put("x", "yes")}, {etcd.put("x", "no")}}).value();
        BOOST_TEST((etcd.value("x") == (done.succeeded ? "yes" : "no")));
        return done.succeeded;
    };
    BOOST_TEST(runs({}));
    BOOST_TEST(runs({etcd.created("a", created)}));
    BOOST_TEST(!runs({etcd.created("a", created + 1)}));
    BOOST_TEST(!runs({etcd.created("a", 0)}));
    BOOST_TEST(runs({etcd.created("absent", 0)}));
    BOOST_TEST(runs({etcd.is("a", "2")}));
    BOOST_TEST(!runs({etcd.is("a", "1")}));
    // An absent key has no value, not even an empty one.
    BOOST_TEST(!runs({etcd.is("absent", "")}));
    BOOST_TEST(runs({etcd.created("a", created), etcd.is("a", "2")}));
    BOOST_TEST(!runs({etcd.created("a", created), etcd.is("a", "1")}));
}

BOOST_DATA_TEST_CASE(compares_a_new_create_revision_after_a_deletion, every_kind, kind) {
    const Connected etcd(kind);
    const auto first = etcd.write({etcd.put("a", "1")});
    etcd.write({etcd.erase("a")});
    const auto second = etcd.write({etcd.put("a", "1")});
    BOOST_TEST(second == first + 2);
    BOOST_TEST(!etcd.txn({{etcd.created("a", first)}, {}, {}}).value().succeeded);
    BOOST_TEST(etcd.txn({{etcd.created("a", second)}, {}, {}}).value().succeeded);
}

BOOST_DATA_TEST_CASE(returns_its_reads_in_their_order, every_kind, kind) {
    const Connected etcd(kind);
    const auto before = etcd.write({etcd.put("a", "1"), etcd.put("b", "1")});
    auto old = etcd.get("a");
    old.revision = before;
    const auto done = etcd.txn({{},
                                {etcd.get("b"), etcd.put("a", "2"), etcd.get("a"), etcd.erase("b"),
                                 etcd.get("a", "c"), etcd.get("absent"), old},
                                {}})
                          .value();
    BOOST_REQUIRE(done.ranges.size() == 5U);
    BOOST_TEST(etcd.text(done.ranges[0].kvs) == "b=1");
    BOOST_TEST(etcd.text(done.ranges[1].kvs) == "a=2");
    BOOST_TEST(etcd.text(done.ranges[2].kvs) == "a=2");
    BOOST_TEST(done.ranges[2].kvs[0].mod_revision == done.header.revision);
    BOOST_TEST(done.ranges[3].kvs.empty());
    BOOST_TEST(etcd.text(done.ranges[4].kvs) == "a=1");
}

BOOST_DATA_TEST_CASE(deletes_keys_and_ranges, every_kind, kind) {
    const Connected etcd(kind);
    etcd.write({etcd.put("a", "1"), etcd.put("b", "1"), etcd.put("c", "1"), etcd.put("d", "1")});
    etcd.write({etcd.erase("a")});
    BOOST_TEST(etcd.text(etcd.range(etcd.get("a", "z")).value().kvs) == "b=1 c=1 d=1");
    etcd.write({etcd.erase("b", "d")});
    BOOST_TEST(etcd.text(etcd.range(etcd.get("a", "z")).value().kvs) == "d=1");
    // Ranges of deletions may overlap.
    BOOST_TEST(etcd.write({etcd.erase("d"), etcd.erase("a", "z")}) == etcd.start + 4);
}

BOOST_DATA_TEST_CASE(has_at_most_128_operations, every_kind, kind) {
    const Connected etcd(kind);
    const auto most = many_puts(etcd, 128);
    const auto more = many_puts(etcd, 129);
    BOOST_TEST(fails(etcd.txn({{}, more, {}}), ErrorCode::invalid_argument,
                     "too many operations in txn request"));
    BOOST_TEST(fails(etcd.txn({{}, {}, more}), ErrorCode::invalid_argument, "too many operations"));
    BOOST_TEST(etcd.revision() == etcd.start);
    // Conditions, and the other branch, are not added.
    const auto compare = etcd.created("k1", 0);
    BOOST_TEST(etcd.txn({{compare, compare}, most, most}).value().succeeded);
}

BOOST_DATA_TEST_CASE(writes_a_key_only_once, every_kind, kind) {
    const Connected etcd(kind);
    const auto refuses = [&](const std::vector<etcd::Operation>& operations) {
        const std::string text = "duplicate key given in txn request";
        BOOST_TEST(fails(etcd.txn({{}, operations, {}}), ErrorCode::invalid_argument, text));
        BOOST_TEST(fails(etcd.txn({{}, {}, operations}), ErrorCode::invalid_argument, text));
    };
    refuses({etcd.put("a", "1"), etcd.put("a", "1")});
    refuses({etcd.put("a", "1"), etcd.erase("a")});
    refuses({etcd.erase("a"), etcd.put("a", "1")});
    refuses({etcd.erase("a", "c"), etcd.put("b", "1")});
    BOOST_TEST(etcd.revision() == etcd.start);
    // The end of a range is not in it, and the branches are independent.
    const auto done =
        etcd.txn({{}, {etcd.erase("a", "c"), etcd.put("c", "1")}, {etcd.erase("c")}}).value();
    BOOST_TEST(done.succeeded);
}

BOOST_DATA_TEST_CASE(has_a_limited_size, every_kind, kind) {
    const Connected etcd(kind);
    constexpr std::size_t limit = 1536U * 1024U;
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("a", std::string(limit, 'x'))}, {}}),
                     ErrorCode::invalid_argument, "request is too large"));
    BOOST_TEST(!etcd.value("a"));
    etcd.write({etcd.put("a", std::string(limit - 1000, 'x'))});
    BOOST_TEST(etcd.value("a")->size() == limit - 1000);
}

BOOST_DATA_TEST_CASE(requires_keys, every_kind, kind) {
    const Connected etcd(kind);
    const std::string text = "key is not provided";
    BOOST_TEST(fails(etcd.txn({{}, {etcd::Put{"", "v"}}, {}}), ErrorCode::invalid_argument, text));
    BOOST_TEST(fails(etcd.txn({{}, {}, {etcd::DeleteRange{}}}), ErrorCode::invalid_argument, text));
    BOOST_TEST(
        fails(etcd.txn({{{"", etcd::Revision(0)}}, {}, {}}), ErrorCode::invalid_argument, text));
    BOOST_TEST(fails(etcd.range({}), ErrorCode::invalid_argument, text));
}

BOOST_DATA_TEST_CASE(that_fails_has_no_effect, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(60s, Connected::timeout).value().id;
    etcd->revoke_lease(lease, Connected::timeout).value();
    auto future = etcd.get("a");
    future.revision = etcd.revision() + 1000;
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("a", "1"), etcd.put("b", "1", lease)}, {}}),
                     ErrorCode::resource_not_found, "requested lease not found"));
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("a", "1"), future}, {}}), ErrorCode::io_error,
                     "required revision is a future revision"));
    BOOST_TEST(!etcd.value("a"));
    BOOST_TEST(etcd.revision() == etcd.start);
    // Only the branch that is executed is examined.
    BOOST_TEST(etcd.txn({{}, {etcd.put("a", "1")}, {etcd.put("b", "1", lease)}}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_read_of_etcd)

BOOST_DATA_TEST_CASE(returns_the_keys_of_a_range_in_order, every_kind, kind) {
    const Connected etcd(kind);
    const std::string zero("b\0", 2);
    etcd.write({etcd.put("c", "3"), etcd.put(zero, "2"), etcd.put("b", "1"), etcd.put("\xff", "4"),
                etcd.put("a", std::string("\0\xff", 2))});
    BOOST_TEST(etcd.text(etcd.range(etcd.get("b", "c")).value().kvs) == "b=1 " + zero + "=2");
    BOOST_TEST(etcd.text(etcd.range(etcd.get("b", "\xff\xff")).value().kvs) ==
               "b=1 " + zero + "=2 c=3 \xff=4");
    BOOST_TEST(etcd.text(etcd.range(etcd.get("b")).value().kvs) == "b=1");
    BOOST_TEST((etcd.value("a") == std::string("\0\xff", 2)));
    BOOST_TEST(etcd.range(etcd.get("d", "e")).value().kvs.empty());
    BOOST_TEST(!etcd.value("absent"));
}

BOOST_DATA_TEST_CASE(returns_at_most_its_limit, every_kind, kind) {
    const Connected etcd(kind);
    etcd.write({etcd.put("a", "1"), etcd.put("b", "2"), etcd.put("c", "3")});
    auto range = etcd.get("a", "z");
    range.limit = 2;
    const auto part = etcd.range(range).value();
    BOOST_TEST(etcd.text(part.kvs) == "a=1 b=2");
    BOOST_TEST(part.more);
    range.limit = 3;
    const auto all = etcd.range(range).value();
    BOOST_TEST(etcd.text(all.kvs) == "a=1 b=2 c=3");
    BOOST_TEST(!all.more);
}

BOOST_DATA_TEST_CASE(can_read_at_an_old_revision, every_kind, kind) {
    const Connected etcd(kind);
    auto range = etcd.get("a", "z");
    range.revision = etcd.write({etcd.put("a", "1"), etcd.put("b", "1")});
    etcd.write({etcd.put("a", "2"), etcd.erase("b"), etcd.put("c", "2")});
    const auto old = etcd.range(range).value();
    BOOST_TEST(etcd.text(old.kvs) == "a=1 b=1");
    BOOST_TEST(old.header.revision == etcd.start + 2);
    range.serializable = true;
    BOOST_TEST(etcd.text(etcd.range(range).value().kvs) == "a=1 b=1");
    range.revision = etcd.start + 1000;
    BOOST_TEST(fails(etcd.range(range), ErrorCode::io_error, "is a future revision"));
}

BOOST_DATA_TEST_CASE(names_the_cluster_and_the_member, every_kind, kind) {
    const Connected etcd(kind);
    const auto status = etcd->status(Connected::timeout).value();
    BOOST_TEST(status.header.cluster_id != 0U);
    BOOST_TEST(status.header.member_id != 0U);
    BOOST_TEST(!status.version.empty());
    const auto written = etcd.txn({{}, {etcd.put("a", std::string(5000, 'x'))}, {}}).value();
    const auto read = etcd.range(etcd.get("a")).value();
    for (const auto& header : {written.header, read.header}) {
        BOOST_TEST(header.cluster_id == status.header.cluster_id);
        BOOST_TEST(header.member_id != 0U);
    }
    const auto later = etcd->status(Connected::timeout).value();
    BOOST_TEST(later.db_bytes >= 5000);
    BOOST_TEST(later.db_bytes_in_use >= 5000);
    BOOST_TEST(later.db_bytes >= later.db_bytes_in_use);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_compaction_of_etcd)

BOOST_DATA_TEST_CASE(deletes_the_history_before_its_revision, every_kind, kind) {
    const Connected etcd(kind);
    auto range = etcd.get("a");
    etcd.write({etcd.put("a", "1")});
    range.revision = etcd.write({etcd.put("a", "2")});
    etcd.write({etcd.put("a", "3")});
    etcd->compact(range.revision, Connected::timeout).value();
    BOOST_TEST(etcd.text(etcd.range(range).value().kvs) == "a=2");
    BOOST_TEST((etcd.value("a") == "3"));
    --range.revision;
    const std::string text = "required revision has been compacted";
    BOOST_TEST(fails(etcd.range(range), ErrorCode::precondition_failed, text));
    BOOST_TEST(fails(etcd.txn({{}, {range}, {}}), ErrorCode::precondition_failed, text));
    BOOST_TEST(etcd.revision() == etcd.start + 3);
}

BOOST_DATA_TEST_CASE(fails_for_a_compacted_or_a_future_revision, every_kind, kind) {
    const Connected etcd(kind);
    const auto revision = etcd.write({etcd.put("a", "1")});
    etcd->compact(revision, Connected::timeout).value();
    BOOST_TEST(fails(etcd->compact(revision, Connected::timeout), ErrorCode::precondition_failed,
                     "has been compacted"));
    BOOST_TEST(fails(etcd->compact(revision + 1000, Connected::timeout), ErrorCode::io_error,
                     "is a future revision"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_lease_of_etcd)

BOOST_DATA_TEST_CASE(has_at_least_the_requested_duration, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(60s, Connected::timeout).value();
    BOOST_TEST(lease.id != 0);
    BOOST_TEST((lease.ttl == 60s));
    const auto other = etcd->grant_lease(1s, Connected::timeout).value();
    BOOST_TEST(other.id != lease.id);
    // The minimum depends on the election timeout of the cluster.
    BOOST_TEST((other.ttl >= 1s));
    BOOST_TEST(etcd.revision() == etcd.start);
    BOOST_TEST((etcd->keep_alive(lease.id, Connected::timeout).value() == 60s));
    BOOST_TEST(fails(etcd->grant_lease(10'000'000'000s, Connected::timeout),
                     ErrorCode::invalid_argument, "too large lease TTL"));
}

BOOST_DATA_TEST_CASE(deletes_its_keys_when_it_is_revoked, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(60s, Connected::timeout).value().id;
    etcd.write({etcd.put("a", "1", lease), etcd.put("b", "1", lease), etcd.put("c", "1", lease),
                etcd.put("d", "1")});
    BOOST_TEST(etcd.range(etcd.get("a")).value().kvs.at(0).lease == lease);
    // A write of a key without a lease detaches the key.
    etcd.write({etcd.put("c", "2")});
    etcd->revoke_lease(lease, Connected::timeout).value();
    BOOST_TEST(etcd.text(etcd.range(etcd.get("a", "z")).value().kvs) == "c=2 d=1");
    // All keys were deleted in one revision.
    BOOST_TEST(etcd.revision() == etcd.start + 3);
}

BOOST_DATA_TEST_CASE(deletes_only_its_own_keys, every_kind, kind) {
    const Connected etcd(kind);
    const auto first = etcd->grant_lease(60s, Connected::timeout).value().id;
    const auto second = etcd->grant_lease(60s, Connected::timeout).value().id;
    etcd.write({etcd.put("a", "1", first), etcd.put("b", "1", first)});
    etcd.write({etcd.put("a", "2", second), etcd.erase("b")});
    etcd.write({etcd.put("b", "3")});
    const auto before = etcd.revision();
    etcd->revoke_lease(first, Connected::timeout).value();
    BOOST_TEST(etcd.text(etcd.range(etcd.get("a", "z")).value().kvs) == "a=2 b=3");
    BOOST_TEST(etcd.revision() == before);
    etcd->revoke_lease(second, Connected::timeout).value();
    BOOST_TEST(etcd.text(etcd.range(etcd.get("a", "z")).value().kvs) == "b=3");
}

BOOST_DATA_TEST_CASE(ends_unless_it_is_renewed, every_kind, kind) {
    const Connected etcd(kind);
    const auto renewed = etcd->grant_lease(4s, Connected::timeout).value().id;
    const auto expiring = etcd->grant_lease(4s, Connected::timeout).value().id;
    etcd.write({etcd.put("a", "1", renewed), etcd.put("b", "1", expiring)});
    BOOST_TEST(etcd.eventually([&] {
        etcd->keep_alive(renewed, Connected::timeout).value();
        return !etcd.value("b");
    }));
    BOOST_TEST((etcd.value("a") == "1"));
    BOOST_TEST(etcd.eventually([&] { return !etcd.value("a"); }));
    BOOST_TEST(etcd.revision() == etcd.start + 3);
    BOOST_TEST(fails(etcd->keep_alive(renewed, Connected::timeout), ErrorCode::resource_not_found));
}

BOOST_DATA_TEST_CASE(must_exist, every_kind, kind) {
    const Connected etcd(kind);
    const auto lease = etcd->grant_lease(60s, Connected::timeout).value().id;
    etcd->revoke_lease(lease, Connected::timeout).value();
    BOOST_TEST(fails(etcd->revoke_lease(lease, Connected::timeout), ErrorCode::resource_not_found,
                     "lease not found"));
    // etcd answers with a remaining time of 0, and has no text for it.
    BOOST_TEST(fails(etcd->keep_alive(lease, Connected::timeout), ErrorCode::resource_not_found));
    BOOST_TEST(fails(etcd.txn({{}, {etcd.put("a", "1", lease)}, {}}), ErrorCode::resource_not_found,
                     "lease not found"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
