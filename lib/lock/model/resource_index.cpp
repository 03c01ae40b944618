#include "lock/model/resource_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "lock/model/linear_hashing.hpp"

namespace rocklock::lock_model {

namespace {

// The capacity of a bucket changes in steps of this size.
constexpr std::size_t step = 4;

// Returns the index of the first of `count` tags from `from` on that equals `tag`, or `count`.
std::size_t next_tag(const std::uint8_t* tags, std::size_t from, std::size_t count,
                     std::uint8_t tag) {
    if (from >= count) return count;
    const void* const found = std::memchr(tags + from, tag, count - from);
    return found == nullptr
               ? count
               : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - tags);
}

// Waits until the values of all earlier loads are known. Without it, most prefetches at the
// addresses of these loads have no effect on the processors that were measured (AMD EPYC, in a
// virtual machine): erase() still waited for the memory.
void wait_for_loads() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#endif
}

}  // namespace

ResourceIndex::~ResourceIndex() {
    for (Part& part : parts_) {
        for (Bucket* bucket : part.buckets) free(bucket);
    }
}

Resource* ResourceIndex::find(const HashedName& wanted) const {
    const Part& part = parts_[part_of(wanted.hash)];
    if (part.count == 0) return nullptr;
    const Bucket* const bucket = part.buckets[linear_bucket(wanted.hash, part.buckets.size())];
    if (bucket == nullptr) return nullptr;
    const std::uint8_t* const tags = bucket->tags();
    const std::uint8_t tag = tag_of(wanted.hash);
    for (std::size_t i = next_tag(tags, 0, bucket->count, tag); i < bucket->count;
         i = next_tag(tags, i + 1, bucket->count, tag)) {
        Resource* const resource = bucket->resources()[i];
        if (resource->name() == wanted.name) return resource;
    }
    return nullptr;
}

Resource* ResourceIndex::find_repeated(std::string_view name) {
    if (repeated_ == nullptr || repeated_->name() != name) repeated_ = find(name);
    return repeated_;
}

void ResourceIndex::insert(Resource& resource, const HashedName& name) {
    ROCKLOCK_ASSERT(resource.name().size() == name.name.size());
    Part& part = parts_[part_of(name.hash)];
    if (part.count >= part.buckets.size() * mean_in_bucket) add_bucket(part);
    append(part.buckets[linear_bucket(name.hash, part.buckets.size())], resource,
           tag_of(name.hash));
    ++part.count;
    ++size_;
}

void ResourceIndex::erase(Resource& resource, const HashedName& name) {
    Part& part = parts_[part_of(name.hash)];
    ROCKLOCK_ASSERT(part.count > 0 && size_ > 0);
    Bucket*& bucket = part.buckets[linear_bucket(name.hash, part.buckets.size())];
    ROCKLOCK_ASSERT(bucket != nullptr);
    const auto* const first = bucket->resources();
    const auto* const end = first + bucket->count;
    const auto* const found = std::find_if(
        first, end, [&](const Near<Resource>& other) { return other.get() == &resource; });
    ROCKLOCK_ASSERT(found != end);
    remove(bucket, static_cast<std::size_t>(found - first));
    if (repeated_ == &resource) repeated_ = nullptr;
    --part.count;
    --size_;
}

void ResourceIndex::prefetch(std::span<const std::uint64_t> hashes) const {
    constexpr std::size_t at_once = 16;
    constexpr std::size_t cache_line = 64;
    for (; !hashes.empty(); hashes = hashes.subspan(std::min(at_once, hashes.size()))) {
        // The pointers are read in a loop of few instructions, so that the processor reads several
        // at the same time, and all of them before the first bucket is prefetched.
        std::array<const Bucket*, at_once> buckets{};
        const std::size_t count = std::min(at_once, hashes.size());
        for (std::size_t i = 0; i < count; ++i) {
            const Part& part = parts_[part_of(hashes[i])];
            if (part.count == 0) continue;
            buckets[i] = part.buckets[linear_bucket(hashes[i], part.buckets.size())];
        }
        wait_for_loads();
        for (const Bucket* bucket : std::span(buckets).first(count)) {
            if (bucket == nullptr) continue;
            // A bucket need not begin at the beginning of a cache line, so it can extend into one
            // more.
            for (std::size_t at = 0; at < Bucket::bytes(mean_in_bucket) + cache_line;
                 at += cache_line)
                __builtin_prefetch(reinterpret_cast<const char*>(bucket) + at);
        }
    }
}

// A bucket is too large for the arena only if hundreds of names have similar hashes, for example
// because an attacker has chosen them.
ResourceIndex::Bucket* ResourceIndex::allocate(std::size_t capacity) {
    const std::size_t bytes = Bucket::bytes(capacity);
    void* const memory = bytes <= Arena::max_piece ? Arena::allocate(bytes) : ::operator new(bytes);
    auto* const made = new (memory) Bucket;
    made->capacity = static_cast<std::uint32_t>(capacity);
    return made;
}

void ResourceIndex::free(Bucket* bucket) {
    if (bucket == nullptr) return;
    const std::size_t bytes = Bucket::bytes(bucket->capacity);
    bytes <= Arena::max_piece ? Arena::free(bucket, bytes) : ::operator delete(bucket);
}

void ResourceIndex::resize(Bucket*& bucket, std::size_t capacity) {
    Bucket* const made = allocate(capacity);
    if (bucket != nullptr) {
        ROCKLOCK_ASSERT(bucket->count <= capacity);
        made->count = bucket->count;
        std::copy_n(bucket->resources(), bucket->count, made->resources());
        std::copy_n(bucket->tags(), bucket->count, made->tags());
        free(bucket);
    }
    bucket = made;
}

void ResourceIndex::append(Bucket*& bucket, Resource& resource, std::uint8_t tag) {
    if (bucket == nullptr || bucket->count == bucket->capacity)
        resize(bucket, (bucket == nullptr ? 0 : bucket->capacity) + step);
    bucket->resources()[bucket->count] = &resource;
    bucket->tags()[bucket->count] = tag;
    ++bucket->count;
}

void ResourceIndex::remove(Bucket*& bucket, std::size_t index) {
    const std::size_t last = --bucket->count;
    if (last == 0) {
        // An empty index has no piece of the arena, so the arena can return its memory to the
        // system when it has no other pieces.
        free(bucket);
        bucket = nullptr;
        return;
    }
    bucket->resources()[index] = bucket->resources()[last];
    bucket->tags()[index] = bucket->tags()[last];
    // One step remains free, so that a name that is locked again and again does not cause a
    // reallocation each time. Only the last name of a bucket does; IdleResources usually keeps it.
    if (bucket->count + 2 * step <= bucket->capacity) resize(bucket, bucket->capacity - step);
}

void ResourceIndex::add_bucket(Part& part) {
    const std::size_t added = part.buckets.size();
    part.buckets.push_back(nullptr);
    if (added == 0) return;
    const std::size_t divided = bucket_to_divide(added);
    Bucket*& from = part.buckets[divided];
    if (from == nullptr) return;
    Bucket*& to = part.buckets[added];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < from->count; ++i) {
        const Near<Resource> resource = from->resources()[i];
        const std::uint8_t tag = from->tags()[i];
        if (linear_bucket(hash_of(resource->name()), added + 1) != divided) {
            // Half of the resources move. Buckets are allocated as rarely as possible.
            if (to == nullptr) resize(to, std::max(step, from->count / 2 / step * step));
            append(to, *resource, tag);
            continue;
        }
        from->resources()[kept] = resource;
        from->tags()[kept] = tag;
        ++kept;
    }
    from->count = static_cast<std::uint32_t>(kept);
    if (kept == 0) {
        free(from);
        from = nullptr;
        return;
    }
    if (kept + 2 * step <= from->capacity) resize(from, (kept / step + 1) * step);
}

}  // namespace rocklock::lock_model
