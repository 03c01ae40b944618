// The table operations that are measured over HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rocklock::bench {

enum class TableWork : std::uint8_t {
    // GetItem of existing items.
    get,
    // PutItem that replaces an item.
    put,
    // A lock that is implemented with an item. The client sends a PutItem with the condition that
    // the item does not exist, and then a DeleteItem with the condition that the client owns the
    // item. These two requests count as one operation.
    pair,
    // BatchWriteItem, and TransactWriteItems, with 25 puts, each of which replaces an item.
    batch,
    transaction,
};

// The number of items in a BatchWriteItem and in a TransactWriteItems.
constexpr std::size_t items_per_batch = 25;

// Returns a socket that is connected to the server.
using Connect = std::function<int()>;

// Creates a table with the items of `clients` clients.
void fill_table(const Connect& connect, std::size_t clients);
struct TableRun {
    double pieces = 0;
    double seconds = 0;
};
TableRun measure_table(const Connect& connect, TableWork work, std::size_t clients,
                       std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
