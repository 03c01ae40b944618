// A map from the hash of a name to the last grant on the name, for names whose resources are not in
// use. If two names have the same hash, the record of the grant shows to which of the names the
// entry belongs.
//
// The map is divided into parts. If a million locks end at the same time, a million entries are
// added. A single large map would then move all of its entries whenever it grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "lock/model/hash_mix.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

// Threads: one at a time.
class LastGrants {
public:
    // Returns null if there is no entry. The pointer is valid until the next keep() or forget().
    LastGrant* find(std::uint64_t name_hash) {
        return const_cast<LastGrant*>(std::as_const(*this).find(name_hash));
    }
    const LastGrant* find(std::uint64_t name_hash) const {
        const Part& part = parts_[part_of(name_hash)];
        const auto found = part.find(name_hash);
        return found == part.end() ? nullptr : &found->second;
    }
    void keep(std::uint64_t name_hash, LastGrant last) {
        if (parts_[part_of(name_hash)].insert_or_assign(name_hash, last).second) ++size_;
    }
    void forget(std::uint64_t name_hash) { size_ -= parts_[part_of(name_hash)].erase(name_hash); }
    bool empty() const { return size_ == 0; }

private:
    struct Hash {
        using is_avalanching = void;
        std::size_t operator()(std::uint64_t value) const { return spread(value); }
    };
    using Part = boost::unordered_flat_map<std::uint64_t, LastGrant, Hash>;
    static constexpr std::size_t parts = 256;

    static std::size_t part_of(std::uint64_t name_hash) {
        // The bits that select the part are independent of those that `Hash` uses within the part.
        return (name_hash * 0xD1B54A32D192ED03U) >> 56;
    }

    std::array<Part, parts> parts_;
    std::size_t size_ = 0;
};

}  // namespace rocklock::lock_model
