// A table with a large number of items, in a store on disk or in memory.
//
// The items are orders of customers, with 10,000 orders per customer. An item has the keys
// "customer#000017" and "order#00004711", and four more attributes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::bench {

inline constexpr std::size_t orders_per_customer = 10'000;

// Opens a store with the durability `written`.
Database open_store(const std::string& folder);
// Creates the table and adds `items` items in batches of 25. Each item has `item_bytes` bytes, as
// DynamoDB counts the size of an item.
void fill(TableService& tables, const std::string& table, std::size_t items,
          std::size_t item_bytes);
AttributeMap large_table_key(std::size_t item);
// Returns a page of at most 1 MB with orders of one customer. The page begins with the order
// `item`.
Page page_from(TableService& tables, const std::string& table, std::size_t item,
               std::optional<std::size_t> limit);

// The results of a measurement in a separate process, with items of 200 bytes.
struct Filled {
    double items_a_second = 0;
    double resident_bytes = 0;
    // The resident memory after all items have also been read.
    double resident_bytes_read = 0;
    // The size on disk after the store was closed.
    double bytes_on_disk = 0;
};
enum class TableEnd { closed, killed };
// Fills a store in a child process. The store remains in the folder.
Filled fill_table_store(const std::string& folder, std::size_t items, TableEnd end);
// Returns the bytes of resident memory per item of a store in memory.
double measure_memory_item(std::size_t items);
// Returns the seconds from opening the store in the folder to the first item.
double measure_open(const std::string& folder);

// The main function of these child processes. Returns the exit status.
int run_table_child(int argc, char** argv);

}  // namespace rocklock::bench
