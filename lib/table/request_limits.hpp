// How much one request may ask for, as in the service.
#pragma once

#include <cstddef>

namespace rocklock::table {

// Of BatchWriteItem.
inline constexpr std::size_t most_batch_writes = 25;
// Of BatchGetItem, in all tables together.
inline constexpr std::size_t most_batch_keys = 100;
// Of a transaction, a reading one too.
inline constexpr std::size_t most_actions = 100;

}  // namespace rocklock::table
