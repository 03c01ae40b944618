// A cache of the versions of keys that were looked up recently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"

namespace rocklock {

// A commit mostly depends on the same keys as the commits before it: the record of the grant that
// allows the writes of a holder, and the items on which the holder works. Without this cache, the
// two lookups in RocksDB took 22 % of the processor time of a guarded put.
//
// Each key has one slot, which it shares with other keys; the last one replaces the one before it.
// Keys longer than `max_key_bytes` are not cached. If as many keys were replaced as there are
// slots, the number of slots is doubled, up to `max_places`.
//
// Threads: one at a time.
class RecentVersions {
public:
    // None if the key is absent.
    using Version = std::optional<std::uint64_t>;

    // Returns the version, or null if the key is not cached. The pointer is valid until the next
    // call.
    const Version* find(Family family, std::string_view key) const {
        const Place& place = places_[place_of(family, key)];
        return place.is_of(family, key) ? &place.version : nullptr;
    }

    // Adds a version that was read from the store.
    void keep(Family family, std::string_view key, Version version) {
        if (key.empty() || key.size() > max_key_bytes) return;
        Place& place = places_[place_of(family, key)];
        const bool displaces = !place.key.empty() && !place.is_of(family, key);
        // The assignment that may throw comes first, so that a slot is never mixed from two keys.
        place.key = key;
        place.family = family;
        place.version = version;
        ROCKLOCK_ASSERT(place.is_of(family, key));
        if (displaces && ++displaced_ >= places_.size() && places_.size() < max_places) grow();
    }

    // Updates a cached version after a write. Does not add keys, since most written keys are not
    // looked up.
    void replace(Family family, std::string_view key, Version version) {
        Place& place = places_[place_of(family, key)];
        if (place.is_of(family, key)) place.version = version;
    }

    void forget() {
        for (Place& place : places_) place = {};
    }

private:
    static constexpr std::size_t first_places = 512;
    static constexpr std::size_t max_places = 8192;
    static constexpr std::size_t max_key_bytes = 128;

    // Empty if it has no key.
    struct Place {
        Family family{};
        std::string key;
        Version version;

        bool is_of(Family other_family, std::string_view other_key) const {
            return family == other_family && key == other_key && !key.empty();
        }
    };

    std::size_t place_of(Family family, std::string_view key) const {
        const auto hash = std::hash<std::string_view>()(key) + static_cast<std::size_t>(family);
        return hash % places_.size();
    }

    void grow() {
        std::vector<Place> before(2 * places_.size());
        places_.swap(before);
        ROCKLOCK_ASSERT(places_.size() <= max_places);
        for (Place& place : before) {
            if (!place.key.empty()) places_[place_of(place.family, place.key)] = std::move(place);
        }
        displaced_ = 0;
    }

    std::vector<Place> places_ = std::vector<Place>(first_places);
    // The number of keys that were replaced since the last doubling.
    std::size_t displaced_ = 0;
};

}  // namespace rocklock
