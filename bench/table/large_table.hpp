// A table with very many items, in a store on disk or in memory.
//
// Its items are orders of customers, 10,000 of each: "customer#000017", "order#00004711", and four
// more attributes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::bench {

inline constexpr std::size_t orders_per_customer = 10'000;

// With durability `written`.
Database open_store(const std::string& folder);
// Makes the table and adds items of that size, as DynamoDB counts it, in batches of 25.
void fill(TableService& tables, const std::string& table, std::size_t items,
          std::size_t item_bytes);
AttributeMap key_of(std::size_t item);
// A page of a customer's orders from one of them on; at most 1 MB.
Page page_from(TableService& tables, const std::string& table, std::size_t item,
               std::optional<std::size_t> limit);

// What is measured in a process of its own, since it ends there, or begins. Items have 200 bytes.
struct Filled {
    double items_a_second = 0;
    double resident_bytes = 0;
    // When all of it has been read too.
    double resident_bytes_read = 0;
    // On disk, when closed.
    double bytes_on_disk = 0;
};
enum class End { closed, killed };
// The store is left in the folder.
Filled fill_table_store(const std::string& folder, std::size_t items, End end);
// Bytes of resident memory an item of a store in memory.
double measure_memory_item(std::size_t items);
// Seconds from opening the store in the folder to the first item.
double measure_open(const std::string& folder);

// What those processes do. The status to exit with.
int run_table_child(int argc, char** argv);

}  // namespace rocklock::bench
