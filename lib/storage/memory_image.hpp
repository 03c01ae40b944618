// Ordered bytes in memory, with snapshots: one map a family, and as many old states of a key as
// snapshots can see.
//
// A key holds its newest state and, behind it, older ones, each with the number of the write that
// made it. While no snapshot is open nothing old is kept, and a write is an assignment.
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
    // The version of the key's value; nothing when it is absent.
    std::optional<std::uint64_t> version(Family family, std::string_view key) const;

    // Writes all of them in one moment, and takes the strings out of them.
    void apply(std::span<Batch* const> batches);

    // A snapshot of the present. Must end before the image does.
    std::unique_ptr<Snapshot> snapshot();

    // For snapshots: names the present and keeps it readable, until it is closed.
    Moment open_snapshot();
    void close_snapshot(Moment moment);

    using Row = std::pair<std::string, std::string>;
    // The first `limit` rows of the moment in [first, last); an empty `last` is no limit.
    std::vector<Row> rows(Family family, std::string_view first, std::string_view last,
                          std::size_t limit, Moment moment) const;
    // The last ones, the greatest key first.
    std::vector<Row> rows_back(Family family, std::string_view first, std::string_view last,
                               std::size_t limit, Moment moment) const;

private:
    struct State {
        Moment since = 0;
        // Without: deleted.
        std::optional<std::string> value;
        std::unique_ptr<State> older;
    };
    using Map = std::map<std::string, State, std::less<>>;

    static const std::string* value_at(const State& state, Moment moment);
    void put(Map& map, Family family, Write& write) ROCKLOCK_REQUIRES(mutex_);
    Map::iterator place_of(Map& map, Family family, const std::string& key) const
        ROCKLOCK_REQUIRES(mutex_);
    void prune() ROCKLOCK_REQUIRES(mutex_);
    // Drops what no snapshot sees; false when nothing is left of the key.
    bool prune_state(State& state) const ROCKLOCK_REQUIRES(mutex_);

    Map& map(Family family) ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }
    const Map& map(Family family) const ROCKLOCK_REQUIRES(mutex_) {
        return maps_[static_cast<std::size_t>(family)];
    }

    mutable Mutex mutex_;
    std::array<Map, family_count> maps_ ROCKLOCK_GUARDED_BY(mutex_);
    // Where the last new key of a family lies, while nothing was erased from it since.
    std::array<std::optional<Map::iterator>, family_count> near_ ROCKLOCK_GUARDED_BY(mutex_);
    Moment now_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::multiset<Moment> snapshots_ ROCKLOCK_GUARDED_BY(mutex_);
    // The keys with older states, or that are kept though deleted.
    std::set<std::pair<Family, std::string>> burdened_ ROCKLOCK_GUARDED_BY(mutex_);
    // So many of them make it worth while to look for what can go.
    std::size_t prune_at_ ROCKLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace rocklock
