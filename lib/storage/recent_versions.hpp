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

// A guarded put has preconditions on two keys: that of the grant that allows the put, and that of
// the item. A holder usually writes the same few items under the same grant, so earlier commits
// have looked up the same keys. Without this cache, the two lookups in RocksDB took 22 % of the
// processor time of a guarded put.
//
// Each key has exactly one possible slot, which it shares with other keys. An added key replaces
// the key in its slot. Keys that are longer than `max_key_bytes` are not cached. When the number of
// replaced keys reaches the number of slots, the number of slots is doubled, up to `max_slots`.
//
// Threads: one at a time.
class RecentVersions {
public:
    // nullopt if the store does not contain the key.
    using Version = std::optional<std::uint64_t>;

    // Returns the version, or null if the key is not cached. The pointer is valid until the next
    // call.
    const Version* find(Family family, std::string_view key) const {
        const Slot& slot = slots_[slot_of(family, key)];
        return slot.is_of(family, key) ? &slot.version : nullptr;
    }

    // Adds a version that was read from the store.
    void keep(Family family, std::string_view key, Version version) {
        if (key.empty() || key.size() > max_key_bytes) return;
        Slot& slot = slots_[slot_of(family, key)];
        const bool displaces = !slot.key.empty() && !slot.is_of(family, key);
        // The assignment that may throw comes first, so that a slot never has parts of two keys.
        slot.key = key;
        slot.family = family;
        slot.version = version;
        ROCKLOCK_ASSERT(slot.is_of(family, key));
        if (displaces && ++displaced_ >= slots_.size() && slots_.size() < max_slots) grow();
    }

    // Updates a cached version after a write. Does not add keys, since most written keys are not
    // looked up.
    void replace(Family family, std::string_view key, Version version) {
        Slot& slot = slots_[slot_of(family, key)];
        if (slot.is_of(family, key)) slot.version = version;
    }

    void forget() {
        for (Slot& slot : slots_) slot = {};
    }

private:
    static constexpr std::size_t first_slots = 512;
    static constexpr std::size_t max_slots = 8192;
    static constexpr std::size_t max_key_bytes = 128;

    // A slot without a key is empty.
    struct Slot {
        Family family{};
        std::string key;
        Version version;

        bool is_of(Family other_family, std::string_view other_key) const {
            return family == other_family && key == other_key && !key.empty();
        }
    };

    std::size_t slot_of(Family family, std::string_view key) const {
        const auto hash = std::hash<std::string_view>()(key) + static_cast<std::size_t>(family);
        return hash % slots_.size();
    }

    void grow() {
        std::vector<Slot> before(2 * slots_.size());
        slots_.swap(before);
        ROCKLOCK_ASSERT(slots_.size() <= max_slots);
        for (Slot& slot : before) {
            if (!slot.key.empty()) slots_[slot_of(slot.family, slot.key)] = std::move(slot);
        }
        displaced_ = 0;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(first_slots);
    // The number of keys that have been replaced since the number of slots was last doubled.
    std::size_t displaced_ = 0;
};

}  // namespace rocklock
