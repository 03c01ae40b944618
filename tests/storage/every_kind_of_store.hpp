// Empty stores of every kind, for tests of the contract that all of them must satisfy.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/etcd/etcd_storage.hpp"
#include "support/fake_etcd.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing::contract {

namespace data = boost::unit_test::data;

enum class Kind { memory, faulty, rocksdb, etcd };

inline std::ostream& operator<<(std::ostream& out, Kind kind) {
    constexpr const char* names[] = {"memory", "faulty", "rocksdb", "etcd"};
    return out << names[static_cast<int>(kind)];
}

// An empty store of one kind.
struct Store {
    explicit Store(Kind kind) {
        switch (kind) {
            case Kind::memory:
                storage = make_memory_storage(clock);
                break;
            case Kind::faulty:
                storage = std::make_unique<FaultyStorage>(clock);
                break;
            case Kind::rocksdb:
                storage = open_rocksdb_storage(directory / "store", clock).value();
                break;
            case Kind::etcd:
                storage = etcd::open_storage(cluster.connect(), "/rocklock/", clock, {}).value();
                break;
        }
    }

    Storage* operator->() const { return storage.get(); }

    TemporaryDirectory directory;
    SimulatedClock clock;
    FakeCluster cluster{clock};
    std::unique_ptr<Storage> storage;
};

inline std::string value(std::uint64_t version, std::string_view text = "") {
    std::string bytes;
    append_u64(bytes, version);
    bytes += text;
    return bytes;
}

inline Batch put(std::string key, std::string bytes, Family family = Family::items) {
    Batch batch;
    batch.writes.push_back({family, std::move(key), std::move(bytes)});
    return batch;
}

inline Batch erase(std::string key, Family family = Family::items) {
    Batch batch;
    batch.writes.push_back({family, std::move(key), std::nullopt});
    return batch;
}

inline Batch provided(Batch batch, std::string key, std::optional<std::uint64_t> version,
                      Family family = Family::items) {
    batch.preconditions.push_back({family, std::move(key), version});
    return batch;
}

inline std::optional<std::string> read(const Storage& storage, std::string_view key,
                                       Family family = Family::items) {
    return storage.get(family, key).value();
}

// Returns a text such as "a=1 b=2", which contains the keys and their values, but no versions.
inline std::string listing(const Snapshot& snapshot, std::string_view first = "",
                           std::string_view last = "", Family family = Family::items) {
    std::string text;
    const auto cursor = snapshot.scan(family, first, last);
    for (; cursor->valid(); cursor->next()) {
        if (!text.empty()) text += ' ';
        text += std::string(cursor->key()) + '=' + std::string(cursor->value().substr(8));
    }
    cursor->status().value();
    return text;
}

#if defined(__SANITIZE_THREAD__)
// The system's RocksDB is not built for the thread sanitizer, which would report data races in it.
inline const auto every_kind = data::make({Kind::memory, Kind::faulty, Kind::etcd});
inline const auto kinds_with_queue = data::make({Kind::faulty, Kind::etcd});
#else
inline const auto every_kind = data::make({Kind::memory, Kind::faulty, Kind::rocksdb, Kind::etcd});
// The store in memory applies a commit when it is enqueued.
inline const auto kinds_with_queue = data::make({Kind::faulty, Kind::rocksdb, Kind::etcd});
#endif
inline const auto own_kinds = data::make({Kind::memory, Kind::faulty, Kind::etcd});

inline void fill(Storage& storage, int count) {
    for (int i = 0; i < count; ++i) {
        const auto digits = std::to_string(i);
        const auto key = "k" + std::string(4 - digits.size(), '0') + digits;
        storage.commit(put(key, value(1, std::to_string(i))), Durability::written).value();
    }
}

}  // namespace rocklock::testing::contract
