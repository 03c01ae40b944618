// A store with very many held locks: the memory of each, and how soon it grants again after a
// restart. Each is measured in a process of its own.
#pragma once

#include <cstddef>
#include <string>

namespace rocklock::bench {

// Bytes of resident memory a held lock, in a store on disk.
double measure_memory(const std::string& folder, std::size_t locks, bool flat);

enum class End { closed, killed };
// Fills a store, ends its process in this way, and opens it again: seconds until the first grant.
double measure_open(const std::string& folder, std::size_t locks, End end);

// What those processes do. The status to exit with.
int run_child(int argc, char** argv);

}  // namespace rocklock::bench
