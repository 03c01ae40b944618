// An ordered key-value store in memory with snapshots: one map per family, and for each key the old
// states that open snapshots can see.
//
// A key has its newest state and a list of older ones. Each state has the number of the write that
// created it. While no snapshot is open, no old states are kept, and a write only replaces the
// value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe.
class MemoryImage {
public:
    using Moment = std::uint64_t;
    static constexpr Moment present = UINT64_MAX;

    std::optional<std::string> get(Family family, std::string_view key,
                                   Moment moment = present) const;
    // Returns the version of the key's value, or nullopt if the key is absent.
    std::optional<std::uint64_t> version(Family family, std::string_view key) const;

    // Applies all batches at the same moment. Moves the strings out of them.
    void apply(std::span<Batch* const> batches);

    // Returns a snapshot of the current state. It must end before the image.
    std::unique_ptr<Snapshot> snapshot();

    // For snapshots: returns the current moment and keeps its state readable until
    // close_snapshot().
    Moment open_snapshot();
    void close_snapshot(Moment moment);

    using Row = std::pair<std::string, std::string>;
    // Returns the first `limit` rows in [first, last) at `moment`. If `last` is empty, there is no
    // upper limit.
    std::vector<Row> rows(Family family, std::string_view first, std::string_view last,
                          std::size_t limit, Moment moment) const;
    // As rows(), but returns the last `limit` rows, in descending order.
    std::vector<Row> rows_back(Family family, std::string_view first, std::string_view last,
                               std::size_t limit, Moment moment) const;

private:
    struct State {
        Moment since = 0;
        // None if the key is deleted.
        std::optional<std::string> value;
        std::unique_ptr<State> older;
    };
    using Map = std::map<std::string, State, std::less<>>;

    static const std::string* value_at(const State& state, Moment moment);
    void put(Map& map, Family family, Write& write) ROCKLOCK_REQUIRES(mutex_);
    Map::iterator position_of(Map& map, Family family, const std::string& key) const
        ROCKLOCK_REQUIRES(mutex_);
    void prune() ROCKLOCK_REQUIRES(mutex_);
    // Removes the states that no snapshot can see. Returns false if none is left and the key is
    // absent.
    bool prune_state(State& state) const ROCKLOCK_REQUIRES(mutex_);

    Map& map(Family family) ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }
    const Map& map(Family family) const ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }

    mutable Mutex mutex_;
    std::array<Map, family_count> maps_ ROCKLOCK_GUARDED_BY(mutex_);
    // The last inserted key of each family, near which the next insertion is expected. None if a
    // key was erased since.
    std::array<std::optional<Map::iterator>, family_count> near_ ROCKLOCK_GUARDED_BY(mutex_);
    Moment now_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::multiset<Moment> snapshots_ ROCKLOCK_GUARDED_BY(mutex_);
    // The keys that have older states, and the deleted keys that are kept for snapshots.
    std::set<std::pair<Family, std::string>> keys_to_prune_ ROCKLOCK_GUARDED_BY(mutex_);
    // When this many keys have older states, closing a snapshot removes the unneeded ones.
    std::size_t prune_at_ ROCKLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace rocklock
