#include "support/stores/test_store.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "storage/etcd/etcd_storage.hpp"
#include "support/fake_etcd.hpp"
#include "support/forwarding_storage.hpp"

namespace rocklock::testing {
namespace {

struct OwnCluster {
    // The time of the leases, which does not pass.
    SimulatedClock stopped;
    FakeCluster cluster{stopped};
};

// A store in memory with the commit queue of a store on a device (GroupCommit). The usual store in
// memory applies each commit at once, so fewer orders of events are possible.
class QueuedStore final : public ForwardingStorage {
public:
    explicit QueuedStore(Clock& clock)
        : ForwardingStorage(std::make_unique<FaultyStorage>(clock)) {}

    CachedValue get_cached(Family family, std::string_view key,
                           std::size_t max_bytes) const override {
        auto value = storage().get(family, key).value();
        if (value && value->size() > max_bytes) return {};
        return {true, std::move(value)};
    }
};

// The cluster must outlive the store.
class StoreOnFakeEtcd final : private OwnCluster, public ForwardingStorage {
public:
    explicit StoreOnFakeEtcd(Clock& clock)
        : ForwardingStorage(
              etcd::open_storage(cluster.connect(), "/rocklock/", clock, {}).value()) {}
};

}  // namespace

bool stores_are_on_etcd() {
    const char* const kind = std::getenv("ROCKLOCK_TEST_STORE");
    return kind != nullptr && std::string_view(kind) == "etcd";
}

std::unique_ptr<Storage> make_test_store(Clock& clock) {
    if (!stores_are_on_etcd()) return std::make_unique<QueuedStore>(clock);
    return std::make_unique<StoreOnFakeEtcd>(clock);
}

}  // namespace rocklock::testing
