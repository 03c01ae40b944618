// The limits of one request, as in DynamoDB.
#pragma once

#include <cstddef>

namespace rocklock::table {

// BatchWriteItem.
inline constexpr std::size_t max_batch_writes = 25;
// BatchGetItem, for all tables together.
inline constexpr std::size_t max_batch_keys = 100;
// TransactWriteItems and TransactGetItems.
inline constexpr std::size_t max_actions = 100;
// The maximum size of a cached row that the calling thread processes itself: this takes a few
// microseconds.
inline constexpr std::size_t small_row_bytes = 16U << 10;

}  // namespace rocklock::table
