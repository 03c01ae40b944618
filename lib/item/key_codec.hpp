// Encodes keys as bytes that have the same order as the values of the keys.
//
// docs/storage_format.md, "Keys of items", defines each byte. The key of an item consists of its
// partition and, if the table has a range key, the value of the range key:
//
//     hash, 4 bytes │ value of the hash key │ value of the range key
//
// No encoded value is a prefix of another one. Therefore, all keys that begin with the bytes of a
// partition belong to this partition and are ordered by their range keys. In an index, the key of
// the item follows after the range key; these bytes do not change this order. Partitions are
// ordered by their hash, which distributes them evenly. A segment of a parallel scan is a range of
// hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

// Appends the encoding of `value`, which must be S, N or B, to `out`. The encodings of two values
// of the same type have the same order as the values.
void append_key_value(std::string& out, const AttributeValue& value);

// Appends the common prefix of the encodings of all values that begin with `value`, for
// begins_with. `value` must be S or B.
void append_key_prefix(std::string& out, const AttributeValue& value);

// Appends the hash of the hash key `value`, then the encoding of `value`.
void append_partition(std::string& out, const AttributeValue& value);

// Remove an encoded value, or a partition with its hash, from the front of `bytes` and return the
// value. If `bytes` does not begin with such an encoding, return nullopt and do not change `bytes`.
std::optional<AttributeValue> take_key_value(std::string_view& bytes);
std::optional<AttributeValue> take_partition(std::string_view& bytes);

// Returns the exclusive end of the range of keys that begin with `prefix`: the smallest string that
// is greater than all of these keys. If `prefix` is empty or contains only 0xFF bytes, there is no
// such string, and the result is empty.
std::string end_of_prefix(std::string_view prefix);

// The range of hashes of one segment. Includes `first` and `last`.
struct HashRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0xFFFF'FFFF;
};

// Returns the hashes of a segment. Requires segment < segments <= 1,000,000. Each hash is in
// exactly one segment.
HashRange hashes_of_segment(std::uint32_t segment, std::uint32_t segments);

// Returns the bytes with which all partitions with this hash begin.
std::string hash_prefix(std::uint32_t hash);

}  // namespace rocklock
