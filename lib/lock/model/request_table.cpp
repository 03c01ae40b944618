#include "lock/model/request_table.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include "lock/model/linear_hashing.hpp"

namespace rocklock::lock_model {

namespace {

// The number of free entries that remain when a bucket shrinks. Without them, each repeated
// addition and removal of an id would allocate memory.
constexpr std::size_t spare = 3;

// Returns the size of the piece of memory that an allocator provides for this number of bytes.
// Allocators such as jemalloc have four sizes between two powers of two, but none less than 16
// bytes apart.
std::size_t allocated_bytes(std::size_t bytes) {
    const std::size_t step = std::max<std::size_t>(16, std::bit_floor(bytes - 1) / 4);
    return (bytes + step - 1) / step * step;
}

}  // namespace

RequestTable::Bucket*& RequestTable::bucket_of(Part& part, std::uint64_t hash) {
    return part.buckets[linear_bucket(hash, part.buckets.size())];
}

RequestOutcome RequestTable::find(const RequestKey& key) const {
    const std::uint64_t hash = mix(key);
    const Part& part = parts_[part_of(hash)];
    if (part.count == 0) return {};
    const Bucket* const bucket = part.buckets[linear_bucket(hash, part.buckets.size())];
    const Entry* const entry = bucket != nullptr ? bucket->find(key) : nullptr;
    return entry != nullptr ? entry->outcome : RequestOutcome{};
}

void RequestTable::set(const RequestKey& key, RequestOutcome outcome) {
    ROCKLOCK_ASSERT(key && outcome);
    const std::uint64_t hash = mix(key);
    Part& part = parts_[part_of(hash)];
    if (part.count > 0) {
        const Bucket* const bucket = bucket_of(part, hash);
        if (Entry* const known = bucket != nullptr ? bucket->find(key) : nullptr) {
            known->outcome = outcome;
            return;
        }
    }
    if (part.count >= part.buckets.size() * mean_in_bucket) add_bucket(part);
    append(bucket_of(part, hash), {key, outcome});
    ++part.count;
    ++size_;
}

void RequestTable::erase(const RequestKey& key) {
    const std::uint64_t hash = mix(key);
    Part& part = parts_[part_of(hash)];
    if (part.count == 0) return;
    Bucket*& bucket = bucket_of(part, hash);
    Entry* const entry = bucket != nullptr ? bucket->find(key) : nullptr;
    if (entry == nullptr) return;
    ROCKLOCK_ASSERT(size_ > 0);
    *entry = bucket->entries()[--bucket->count];
    shrink(bucket);
    --part.count;
    --size_;
}

void RequestTable::clear() {
    for (Part& part : parts_) {
        for (Bucket* bucket : part.buckets) ::operator delete(bucket);
        part = {};
    }
    size_ = 0;
}

void RequestTable::append(Bucket*& bucket, const Entry& entry) {
    if (bucket == nullptr || bucket->count == bucket->capacity)
        resize(bucket, (bucket == nullptr ? 0 : bucket->count) + 2);
    new (bucket->entries() + bucket->count) Entry(entry);
    ++bucket->count;
}

void RequestTable::shrink(Bucket*& bucket) {
    if (bucket->count == 0) {
        ::operator delete(bucket);
        bucket = nullptr;
        return;
    }
    const std::size_t needed = bucket->count + spare;
    if (Bucket::bytes(bucket->capacity) > allocated_bytes(Bucket::bytes(needed)))
        resize(bucket, needed);
}

void RequestTable::resize(Bucket*& bucket, std::size_t count) {
    const std::size_t bytes = allocated_bytes(Bucket::bytes(count));
    Bucket* const made = new (::operator new(bytes)) Bucket;
    made->capacity = static_cast<std::uint32_t>((bytes - sizeof(Bucket)) / sizeof(Entry));
    if (bucket != nullptr) {
        ROCKLOCK_ASSERT(bucket->count < made->capacity);
        made->count = bucket->count;
        std::uninitialized_copy_n(bucket->entries(), bucket->count, made->entries());
        ::operator delete(bucket);
    }
    bucket = made;
}

void RequestTable::add_bucket(Part& part) {
    const std::size_t added = part.buckets.size();
    part.buckets.push_back(nullptr);
    if (added == 0) return;
    const std::size_t divided = bucket_to_divide(added);
    Bucket*& from = part.buckets[divided];
    if (from == nullptr) return;
    for (std::size_t i = from->count; i > 0; --i) {
        Entry& entry = from->entries()[i - 1];
        if (linear_bucket(mix(entry.key), added + 1) == divided) continue;
        append(part.buckets[added], entry);
        entry = from->entries()[--from->count];
    }
    shrink(from);
}

}  // namespace rocklock::lock_model
