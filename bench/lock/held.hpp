// A store with very many held locks: the memory of each, and how soon it grants again after a
// restart. Each is measured in a process of its own.
#pragma once

#include <cstddef>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::bench {

// Bytes of resident memory a held lock, in a store on disk.
double measure_memory(const std::string& folder, std::size_t locks, bool flat);

// Takes the locks of so many names, the first of them with this number, in sessions of a thousand
// each, and lets go of all: they stay for an hour, and nothing of them outside of the store.
void hold_locks(Database& database, std::size_t first, std::size_t locks, bool flat);

enum class End { closed, killed };
// Fills a store with so many, and ends its process in this way.
void fill_store(const std::string& folder, std::size_t locks, End end);
// Opens it in a process of its own, which ends without closing it: seconds until the first grant.
double measure_first_grant(const std::string& folder);
// Both of them.
double measure_open(const std::string& folder, std::size_t locks, End end);

// What those processes do. The status to exit with.
int run_child(int argc, char** argv);

}  // namespace rocklock::bench
