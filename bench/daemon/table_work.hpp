// What is measured of tables over HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rocklock::bench {

enum class TableWork : std::uint8_t {
    // GetItem of items that are there.
    get,
    // PutItem that replaces an item.
    put,
    // A lock as people make it of an item: a PutItem on condition that there is none, and a
    // DeleteItem on condition that it is one's own. Both together count as one.
    pair,
};

// A socket connected to the server.
using Connect = std::function<int()>;

// Makes a table with the items of so many clients.
void fill_table(const Connect& connect, std::size_t clients);
struct TableRun {
    double pieces = 0;
    double seconds = 0;
};
TableRun measure_table(const Connect& connect, TableWork work, std::size_t clients,
                       std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
