// An ordered key-value store in memory with snapshots. It has one map per family, which contains
// for each key the newest state and the older states that open snapshots can see.
//
// The states of a key are a list, and each state has the moment of the apply() that created it.
// While no snapshot is open, no older states are kept, and a write only replaces the value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
    // Identifies a state of the image: the number of calls of apply() that produced it.
    using Moment = std::uint64_t;
    // Used to read the newest state.
    static constexpr Moment present = UINT64_MAX;

    // Returns the value that the key had at `moment`, or nullopt if it was absent.
    std::optional<std::string> get(Family family, std::string_view key,
                                   Moment moment = present) const;
    // Returns the version of the key's newest value, or nullopt if the key is absent.
    std::optional<std::uint64_t> version(Family family, std::string_view key) const;

    // Applies the writes of the batch, in order, as one new moment. Moves the strings out of the
    // batch.
    void apply(Batch& batch);

    // Returns a snapshot of the current state. The snapshot must be destroyed before the image.
    std::unique_ptr<Snapshot> snapshot();

    // Used by snapshots. open_snapshot() returns the current moment, whose state remains readable
    // until close_snapshot().
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
        // nullopt if the key is deleted.
        std::optional<std::string> value;
        std::unique_ptr<State> older;
    };
    using Map = std::map<std::string, State, std::less<>>;

    static const std::string* value_at(const State& state, Moment moment);
    void put(Map& map, Family family, Write& write) ROCKLOCK_REQUIRES(mutex_);
    Map::iterator position_of(Map& map, Family family, const std::string& key) const
        ROCKLOCK_REQUIRES(mutex_);
    void erase(Family family, Map::iterator position) ROCKLOCK_REQUIRES(mutex_);
    void prune() ROCKLOCK_REQUIRES(mutex_);
    // Removes the older states that no snapshot can see. If the key is deleted and no older state
    // is left, returns false, and the caller can erase the key.
    bool prune_state(State& state) const ROCKLOCK_REQUIRES(mutex_);

    Map& map(Family family) ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }
    const Map& map(Family family) const ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }

    mutable Mutex mutex_;
    std::array<Map, family_count> maps_ ROCKLOCK_GUARDED_BY(mutex_);
    // The keys of a family that were written last. The next write is expected near one of them.
    struct Near {
        // nullopt if there is none yet, or if the key was erased.
        std::optional<Map::iterator> inserted;
        std::optional<Map::iterator> replaced;
    };
    std::array<Near, family_count> near_ ROCKLOCK_GUARDED_BY(mutex_);
    Moment now_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::multiset<Moment> snapshots_ ROCKLOCK_GUARDED_BY(mutex_);
    // The keys that have older states, and the deleted keys that are kept for snapshots.
    std::set<std::pair<Family, std::string>> keys_to_prune_ ROCKLOCK_GUARDED_BY(mutex_);
    // close_snapshot() calls prune() if there are at least this many keys to prune, or if it has
    // closed the last snapshot.
    std::size_t prune_at_ ROCKLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace rocklock
