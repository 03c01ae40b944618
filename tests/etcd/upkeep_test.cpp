// The compaction of etcd by the manager, and the refusal of growth before its quota is exceeded.
#include "storage/etcd/upkeep.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;
using Level = EtcdSpace::Level;

struct Manager {
    SimulatedClock clock;
    FakeCluster cluster{clock};
    std::unique_ptr<etcd::Client> client{cluster.connect("a")};
    etcd::Layout layout{"/rocklock/"};
    etcd::Leadership leadership{*client, layout, clock, {"a", "", 3s, 2s, 10s}};
    std::vector<Level> levels;
    std::chrono::steady_clock::time_point now;

    Manager() {
        BOOST_REQUIRE(std::holds_alternative<etcd::Leadership::Won>(leadership.campaign().value()));
    }

    etcd::Upkeep::Settings settings() {
        etcd::Upkeep::Settings settings;
        settings.on_space_changed = [this](const EtcdSpace& space) {
            levels.push_back(space.level);
        };
        return settings;
    }
    void put(const std::string& key, std::size_t bytes) {
        etcd::Txn txn;
        txn.success.emplace_back(etcd::Put{key, std::string(bytes, 'x')});
        client->txn(txn, 1s).value();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_upkeep_of_etcd, Manager)

BOOST_AUTO_TEST_CASE(compacts_at_a_revision_that_was_current_one_period_ago) {
    etcd::Upkeep upkeep(*client, leadership, settings());
    put("/rocklock/x", 10);
    upkeep.wrote(10);
    upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() == 0);
    const auto marked = cluster.revision();
    BOOST_TEST(cluster.history_of(layout.lead()).back().kv.mod_revision == marked);
    put("/rocklock/x", 10);
    upkeep.wrote(10);
    upkeep.step(now += 29s);
    BOOST_TEST(cluster.compacted() == 0);
    upkeep.step(now += 1s);
    BOOST_TEST(cluster.compacted() == marked);
    upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() > marked);
    // Without commits, nothing is written or compacted.
    const auto last = cluster.compacted();
    const auto revision = cluster.revision();
    for (int i = 0; i < 3; ++i) upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() == last);
    BOOST_TEST(cluster.revision() == revision);
}

BOOST_AUTO_TEST_CASE(compacts_early_after_many_bytes) {
    etcd::Upkeep upkeep(*client, leadership, settings());
    upkeep.step(now += 30s);
    for (int i = 0; i < 2; ++i) {
        put("/rocklock/x", 10);
        upkeep.wrote(std::uint64_t{256} << 20);
        upkeep.step(now += 1s);
    }
    BOOST_TEST(cluster.compacted() > 0);
}

BOOST_AUTO_TEST_CASE(continues_after_errors_and_foreign_compactions) {
    etcd::Upkeep upkeep(*client, leadership, settings());
    upkeep.wrote(1);
    upkeep.step(now += 30s);
    const auto marked = cluster.revision();
    cluster.node("a").fail_next({EtcdFault::unreachable, EtcdRequest::compact});
    upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() == 0);
    upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() == marked);
    upkeep.wrote(1);
    upkeep.step(now += 30s);
    put("/other/x", 1);
    cluster.compact().value();
    upkeep.wrote(1);
    upkeep.step(now += 30s);
    const auto foreign = cluster.compacted();
    upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() > foreign);
}

BOOST_AUTO_TEST_CASE(does_not_compact_if_it_was_replaced) {
    etcd::Upkeep upkeep(*client, leadership, settings());
    for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    upkeep.wrote(1);
    const auto revision = cluster.revision();
    for (int i = 0; i < 3; ++i) upkeep.step(now += 30s);
    BOOST_TEST(cluster.compacted() == 0);
    BOOST_TEST(cluster.revision() == revision);
}

BOOST_AUTO_TEST_CASE(does_not_compact_without_a_period) {
    auto none = settings();
    none.compaction_period = 0ms;
    etcd::Upkeep upkeep(*client, leadership, none);
    for (int i = 0; i < 3; ++i) {
        upkeep.wrote(std::uint64_t{1} << 30);
        upkeep.step(now += 30s);
    }
    BOOST_TEST(cluster.compacted() == 0);
}

BOOST_AUTO_TEST_CASE(warns_and_refuses_growth_before_the_quota_is_exceeded) {
    auto small = settings();
    small.quota_bytes = 1'000'000;
    etcd::Upkeep upkeep(*client, leadership, small);
    upkeep.step(now += 5s);
    BOOST_TEST(upkeep.accepts_growth());
    put("/rocklock/a", 650'000);
    upkeep.step(now += 5s);
    BOOST_TEST(upkeep.accepts_growth());
    put("/rocklock/b", 220'000);
    // Between the measurements, nothing changes.
    upkeep.step(now += 1s);
    BOOST_TEST(upkeep.accepts_growth());
    upkeep.step(now += 4s);
    BOOST_TEST(!upkeep.accepts_growth());
    const auto refusal = upkeep.growth_refusal();
    BOOST_TEST((refusal.code == ErrorCode::no_space));
    BOOST_TEST(refusal.message.find("etcd is almost full") != std::string::npos);
    // Errors of the measurement change nothing.
    cluster.node("a").fail_next({EtcdFault::unreachable, EtcdRequest::status});
    upkeep.step(now += 5s);
    BOOST_TEST(!upkeep.accepts_growth());
    // A deletion frees the space when the history is compacted.
    etcd::Txn txn;
    txn.success.emplace_back(etcd::DeleteRange{"/rocklock/b", {}});
    client->txn(txn, 1s).value();
    upkeep.step(now += 5s);
    BOOST_TEST(!upkeep.accepts_growth());
    put("/rocklock/c", 1);
    cluster.compact().value();
    upkeep.step(now += 5s);
    BOOST_TEST(upkeep.accepts_growth());
    BOOST_TEST((levels == std::vector<Level>{Level::high, Level::full, Level::high}));
}

BOOST_AUTO_TEST_CASE(lets_locks_be_released_while_growth_is_refused) {
    for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    EtcdOptions options;
    options.quota_bytes = 400'000;
    const auto open = [&] {
        return etcd::open_storage(cluster.connect("b"), "/rocklock/", clock, options).value();
    };
    auto database = Database::open_on(open()).value();
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("x").value();
    put("/rocklock/a", 390'000);
    while (database.storage().accepts_growth()) std::this_thread::sleep_for(10ms);
    const auto refused = session.acquire("y");
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::no_space));
    BOOST_TEST((guard.release().has_value()));
    database.close().value();
}

BOOST_AUTO_TEST_CASE(names_the_remedy_when_the_quota_is_exceeded) {
    for (const auto lease : cluster.leases()) cluster.end_lease(lease).value();
    const auto store = etcd::open_storage(cluster.connect("b"), "/rocklock/", clock, {}).value();
    cluster.refuse_writes(true);
    std::string bytes;
    append_u64(bytes, 1);
    Batch batch;
    batch.writes.push_back({Family::items, "k", bytes});
    const auto refused = store->commit(std::move(batch));
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::no_space));
    BOOST_TEST(refused.error().message.find("etcdctl alarm disarm") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
