// The index from names to the resources of a lock table.
//
// The index is divided into parts, each of which is a hash table. The rehashing of one part delays
// the lock table only briefly, and a search over all resources can pause between two parts. A
// resource never moves to another part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <boost/unordered/unordered_flat_set.hpp>

#include "lock/model/held.hpp"

namespace rocklock::lock_model {

// A name to look up and its hash, so that the hash is computed only once.
struct HashedName {
    std::string_view name;
    // ResourceHash::half() of the name.
    std::uint32_t hash = 0;
};

struct ResourceHash {
    using is_transparent = void;
    using is_avalanching = void;
    static std::uint32_t half(std::string_view name) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    }
    static std::size_t whole(std::uint32_t half) {
        const std::uint64_t hash = half * 0x9E3779B97F4A7C15U;
        return hash ^ (hash >> 32);
    }
    std::size_t operator()(const HashedName& name) const { return whole(name.hash); }
    std::size_t operator()(const Resource* resource) const { return whole(half(resource->name())); }
};
struct ResourceEqual {
    using is_transparent = void;
    bool operator()(const Resource* a, const Resource* b) const { return a == b; }
    bool operator()(const HashedName& name, const Resource* resource) const {
        return name.name == resource->name();
    }
    bool operator()(const Resource* resource, const HashedName& name) const {
        return name.name == resource->name();
    }
};

// Threads: one at a time.
class ResourceIndex {
public:
    static constexpr std::size_t parts = 256;
    using Part = boost::unordered_flat_set<Near<Resource>, ResourceHash, ResourceEqual>;

    // Returns null if there is no resource with this name.
    Resource* find(std::string_view name) const {
        const HashedName wanted{name, ResourceHash::half(name)};
        const Part& part = parts_[part_of(wanted.hash)];
        const auto found = part.find(wanted);
        return found == part.end() ? nullptr : *found;
    }
    void insert(Resource& resource) {
        Part& part = parts_[part_of(ResourceHash::half(resource.name()))];
        const bool added = part.insert(&resource).second;
        ROCKLOCK_ASSERT(added);
        ++size_;
    }
    void erase(Resource& resource) {
        Part& part = parts_[part_of(ResourceHash::half(resource.name()))];
        const std::size_t erased = part.erase(&resource);
        ROCKLOCK_ASSERT(erased == 1 && size_ > 0);
        --size_;
    }
    std::size_t size() const { return size_; }
    // Reserves space for `count` resources in total.
    void reserve(std::size_t count) {
        // The parts are not filled equally, so each part reserves an eighth more than its average.
        if (count < 64 * parts) return;
        for (Part& part : parts_) part.reserve(count / parts + count / parts / 8);
    }

    const Part& part(std::size_t index) const { return parts_[index]; }
    // Calls `visit` for each resource until `visit` returns false. Returns whether `visit` returned
    // true for all resources.
    template <typename Visit>
    bool all_of(Visit visit) const {
        for (const Part& part : parts_) {
            for (Resource* resource : part) {
                if (!visit(*resource)) return false;
            }
        }
        return true;
    }

private:
    static std::size_t part_of(std::uint32_t hash) { return hash >> 24; }

    std::array<Part, parts> parts_;
    std::size_t size_ = 0;
};
static_assert(ResourceIndex::parts == 1u << 8, "a part is chosen by the highest eight bits");

}  // namespace rocklock::lock_model
