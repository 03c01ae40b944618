// Measures the embedded library, compared with RocksDB alone and with a minimal lock table.
#pragma once

#include "scenarios/scenario.hpp"

namespace rocklock::bench {

// Measures pairs of acquire and release.
void compare_pairs(Setting& setting);
// Measures the acquisition of sixteen resources, as one set and one after the other.
void compare_sets(Setting& setting);

}  // namespace rocklock::bench
