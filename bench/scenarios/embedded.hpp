// Rows of the library as a program embeds it, beside RocksDB by itself and a bare lock table.
#pragma once

#include "scenarios/scenario.hpp"

namespace rocklock::bench {

// Pairs of acquire and release.
void compare_pairs(Setting& setting);
// Sixteen resources as one set, and one after the other.
void compare_sets(Setting& setting);

}  // namespace rocklock::bench
