// Keys as bytes in the order of their values.
//
// docs/storage_format.md, "Keys of items", describes each byte. The key of an item is its partition
// and, where the table has a range key, the value of that:
//
//     hash, 4 bytes │ value of the hash key │ value of the range key
//
// Each value ends by itself: no value's bytes are the beginning of another's. So all keys that
// begin with a partition's bytes are that partition's, in order of their range keys, and whatever
// follows (in an index the key of the item it stands for) does not disturb the order. Partitions
// lie in order of the hash, which spreads them evenly: a segment of a parallel scan is a range of
// hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

// At the end of `out`. The value is S, N or B; of two values of one type the smaller one has the
// smaller bytes.
void append_key_value(std::string& out, const AttributeValue& value);

// What the bytes of just the strings and binaries begin with that begin with this one: for
// begins_with. The value is S or B.
void append_key_prefix(std::string& out, const AttributeValue& value);

// The hash and the value of a hash key.
void append_partition(std::string& out, const AttributeValue& value);

// Takes a value, a partition with its hash, from the front of `bytes`. Nothing, and `bytes` as they
// were, when it does not begin with one.
std::optional<AttributeValue> take_key_value(std::string_view& bytes);
std::optional<AttributeValue> take_partition(std::string_view& bytes);

// The end of all keys that begin with `prefix`: the first bytes that are greater and do not. Empty
// when there are none.
std::string end_of_prefix(std::string_view prefix);

// The hashes of one segment, both ends included.
struct HashRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0xFFFF'FFFF;
};

// `segment` is less than `segments`, which is not more than 1,000,000. Each hash is in one segment.
HashRange hashes_of_segment(std::uint32_t segment, std::uint32_t segments);

// What partitions with this hash begin with.
std::string hash_prefix(std::uint32_t hash);

}  // namespace rocklock
