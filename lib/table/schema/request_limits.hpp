// How much one request may ask for, as in the service.
#pragma once

#include <cstddef>

namespace rocklock::table {

// Of BatchWriteItem.
inline constexpr std::size_t max_batch_writes = 25;
// Of BatchGetItem, in all tables together.
inline constexpr std::size_t max_batch_keys = 100;
// Of a transaction, a reading one too.
inline constexpr std::size_t max_actions = 100;
// Of a row that is read, decided on and told in some microseconds.
inline constexpr std::size_t small_row_bytes = 16U << 10;

}  // namespace rocklock::table
