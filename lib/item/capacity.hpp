// The capacity units that reads and writes of items consume in DynamoDB. Rocklock does not limit
// them. It reports them in responses because programs use them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rocklock {

constexpr std::size_t write_unit_bytes = 1'024;
constexpr std::size_t read_unit_bytes = 4'096;

// A transaction consumes twice as many units as the same reads and writes without a transaction.
constexpr double transaction_factor = 2;

// Returns the units of a write. `bytes` is the larger of the item's sizes before and after the
// write, or 0 if a delete found no item.
constexpr double write_units(std::size_t bytes) {
    const auto units = (bytes + write_unit_bytes - 1) / write_unit_bytes;
    return static_cast<double>(std::max<std::size_t>(units, 1));
}

// Returns the units of a read. `bytes` is the size of one item, or the total size of the items of a
// page. It is 0 if there is no item.
constexpr double read_units(std::size_t bytes, bool consistent) {
    const auto units = (bytes + read_unit_bytes - 1) / read_unit_bytes;
    const auto whole = static_cast<double>(std::max<std::size_t>(units, 1));
    return consistent ? whole : whole / 2;
}

}  // namespace rocklock
