// The limits of one request, as in DynamoDB.
#pragma once

#include <cstddef>

namespace rocklock::table {

// The maximum number of writes in a BatchWriteItem.
inline constexpr std::size_t max_batch_writes = 25;
// The maximum number of keys in a BatchGetItem, in total for all tables.
inline constexpr std::size_t max_batch_keys = 100;
// The maximum number of actions in a TransactWriteItems or TransactGetItems.
inline constexpr std::size_t max_actions = 100;
// The maximum size of a cached row that the calling thread processes itself. Processing such a row
// takes a few microseconds.
inline constexpr std::size_t small_row_bytes = 16U << 10;

}  // namespace rocklock::table
