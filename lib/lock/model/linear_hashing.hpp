// Linear hashing (Litwin, 1980): a hash table that grows by one bucket at a time. Each new bucket
// takes a part of the content of one other bucket, so no insertion takes long.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rocklock::lock_model {

// Returns the index of the bucket to which a hash belongs, in a table with `buckets` buckets.
//
// With n buckets, where 2^k is the greatest power of two that is at most n, the lowest k + 1 bits
// of the hash are the index of a bucket. If this bucket does not exist yet, its content is in the
// bucket whose index has bit k cleared.
inline std::size_t linear_bucket(std::uint64_t hash, std::size_t buckets) {
    const std::size_t level = std::bit_floor(buckets);
    const std::size_t index = hash & (2 * level - 1);
    return index < buckets ? index : index - level;
}

// Returns the index of the bucket that must be divided when the bucket with the index `added` is
// added. `added` must be greater than 0.
inline std::size_t bucket_to_divide(std::size_t added) { return added - std::bit_floor(added); }

}  // namespace rocklock::lock_model
