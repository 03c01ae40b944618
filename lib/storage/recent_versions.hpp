// The versions of keys that were asked for lately.
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

namespace rocklock {

// What a commit rests on is mostly what the commits before it rested on: the record of the grant
// that lets a holder's writes in, and the items that it works on. To look both up in RocksDB was
// 22 % of the processor time of a guarded put; here it takes two comparisons.
//
// Each key has one place, which it shares with others: the last one has it. Long keys have none.
// There are as many places as it takes, up to a limit: more once as many keys as there are places
// had to give way.
//
// Threads: one at a time.
class RecentVersions {
public:
    // Nothing where the key is absent.
    using Version = std::optional<std::uint64_t>;

    // Not one where nothing is known of the key. Holds until the next call.
    const Version* find(Family family, std::string_view key) const {
        const Place& place = places_[place_of(family, key)];
        return place.is_of(family, key) ? &place.version : nullptr;
    }

    // What was found in the store.
    void keep(Family family, std::string_view key, Version version) {
        if (key.empty() || key.size() > max_key_bytes) return;
        Place& place = places_[place_of(family, key)];
        const bool displaces = !place.key.empty() && !place.is_of(family, key);
        // What may throw comes first: a place is of one key, or of the one before.
        place.key = key;
        place.family = family;
        place.version = version;
        if (displaces && ++displaced_ >= places_.size() && places_.size() < max_places) grow();
    }

    // What was written to the store: changes what is known, and makes nothing known that was not,
    // for most of what is written is not asked for.
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

    // Without a key, of none.
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
        for (Place& place : before) {
            if (!place.key.empty()) places_[place_of(place.family, place.key)] = std::move(place);
        }
        displaced_ = 0;
    }

    std::vector<Place> places_ = std::vector<Place>(first_places);
    // Since there are so many places.
    std::size_t displaced_ = 0;
};

}  // namespace rocklock
