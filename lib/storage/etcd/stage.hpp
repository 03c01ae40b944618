// Batches that are too large for one transaction of etcd.
//
// Such a batch is first stored in parts, one transaction for each. The transaction of the last part
// commits the batch. Afterwards its writes are applied, several in each transaction, and the last
// of these transactions deletes the parts. All of them are commits with consecutive numbers, and
// the commit record says how far the batch is (CommitRecord::Kind):
//
//     staging ──► ... ──► staged ──► applying ──► ... ──► plain
//
// If the manager ends meanwhile, its successor discards a batch that is `staging`, and continues to
// apply a batch that is `staged` or `applying`. Every write is absolute, so it can be repeated.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

// The limits of a transaction: etcd permits 128 operations by default, one of which is the commit
// record. It permits 1.5 MiB, including the encoding.
inline constexpr std::size_t max_writes = 127;
inline constexpr std::size_t max_bytes = std::size_t{1} << 20;

// Returns whether one transaction can contain all operations and the commit record.
bool fits(std::span<const Operation> operations);

// Returns how many of the first `operations` fit in one transaction that also contains the commit
// record and the deletion of the parts. Returns at least 1, even if the first operation is larger
// than `max_bytes`; 0 only if `operations` is empty.
std::size_t count_fitting(std::span<const Operation> operations);

// Encodes writes and deletions of single keys, and divides the result into parts.
std::vector<std::string> encode_parts(std::span<const Operation> operations);
// Decodes the concatenation of all parts. Returns nullopt if it is damaged.
std::optional<std::vector<Operation>> decode_parts(std::string_view parts);

}  // namespace rocklock::etcd
