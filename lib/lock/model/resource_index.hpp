// The index from names to the resources of a lock table.
//
// The index is divided into parts, so that a search over all resources can pause between two parts.
// A resource never moves to another part. A part is a hash table that grows by linear hashing: when
// it has too many resources, it gets one more bucket, and one of the other buckets is divided. No
// insertion therefore takes long, and the index needs 6 to 7 bytes for each resource.
//
// A bucket contains pointers of four bytes, and eight bits of the hash of each resource, so that
// few names are compared. The hash itself is not stored; it is computed again if the bucket is
// divided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lock/model/hash_mix.hpp"
#include "lock/model/held.hpp"

namespace rocklock::lock_model {

// A name to look up and its hash, so that the hash is computed only once.
struct HashedName {
    explicit HashedName(std::string_view text) : name(text), hash(hash_of(text)) {}

    std::string_view name;
    std::uint64_t hash;
};

// Threads: one at a time.
class ResourceIndex {
public:
    static constexpr std::size_t parts = 256;
    // The mean number of resources in a bucket above which a part gets another bucket.
    static constexpr std::size_t mean_in_bucket = 24;

    ResourceIndex() = default;
    ~ResourceIndex();
    ResourceIndex(const ResourceIndex&) = delete;
    ResourceIndex& operator=(const ResourceIndex&) = delete;

    // Returns null if there is no resource with this name.
    Resource* find(const HashedName& wanted) const;
    Resource* find(std::string_view name) const { return find(HashedName(name)); }
    // As find(). Fast if the previous call found the same name, as for the parents of resources.
    Resource* find_repeated(std::string_view name);
    // Adds a resource. `name` is its name; there must be no other resource with this name.
    void insert(Resource& resource, const HashedName& name);
    void erase(Resource& resource, const HashedName& name);
    // Prefetches what find(), insert() and erase() will access for names with these hashes.
    void prefetch(std::span<const std::uint64_t> hashes) const;
    std::size_t size() const { return size_; }

    // Calls `visit` for each resource of a part, or of all parts, until `visit` returns false.
    // Returns whether `visit` returned true for all resources. `visit` must not change the index.
    template <typename Visit>
    bool all_of_part(std::size_t index, Visit visit) const {
        for (const Bucket* bucket : parts_[index].buckets) {
            if (bucket == nullptr) continue;
            for (std::size_t i = 0; i < bucket->count; ++i) {
                if (!visit(*bucket->resources()[i])) return false;
            }
        }
        return true;
    }
    template <typename Visit>
    bool all_of(Visit visit) const {
        for (std::size_t i = 0; i < parts; ++i) {
            if (!all_of_part(i, visit)) return false;
        }
        return true;
    }

private:
    // The bucket is followed by its pointers and then by their tags. It is allocated in the arena,
    // so that the buckets of a large index are close together.
    struct Bucket {
        std::uint32_t count = 0;
        std::uint32_t capacity = 0;

        Near<Resource>* resources() const {
            return reinterpret_cast<Near<Resource>*>(const_cast<Bucket*>(this) + 1);
        }
        std::uint8_t* tags() const {
            return reinterpret_cast<std::uint8_t*>(resources() + capacity);
        }
        static std::size_t bytes(std::size_t capacity) {
            return sizeof(Bucket) + capacity * (sizeof(Near<Resource>) + 1);
        }
    };
    struct Part {
        // A null pointer is an empty bucket.
        std::vector<Bucket*> buckets;
        std::size_t count = 0;
    };

    static std::size_t part_of(std::uint64_t hash) { return hash >> 56; }
    static std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash >> 48); }
    static Bucket* allocate(std::size_t capacity);
    // The bucket may be null.
    static void free(Bucket* bucket);
    // Replaces the bucket by one with this capacity.
    static void resize(Bucket*& bucket, std::size_t capacity);
    static void append(Bucket*& bucket, Resource& resource, std::uint8_t tag);
    static void remove(Bucket*& bucket, std::size_t index);
    // Adds a bucket, and moves the resources that belong into it.
    static void add_bucket(Part& part);

    std::array<Part, parts> parts_;
    std::size_t size_ = 0;
    // The result of the last find_repeated().
    Near<Resource> repeated_;
};
static_assert(ResourceIndex::parts == 1u << 8, "a part is chosen by the highest eight bits");

}  // namespace rocklock::lock_model
