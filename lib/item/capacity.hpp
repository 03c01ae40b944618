// What reading and writing items costs, in the units that answers tell: DynamoDB's, which nobody
// pays here, but which programs add up.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rocklock {

constexpr std::size_t write_unit_bytes = 1'024;
constexpr std::size_t read_unit_bytes = 4'096;

// A transaction costs twice as much.
constexpr double transaction_factor = 2;

// To write an item of so many bytes: the larger of what there was and what there will be, 0 where
// nothing was deleted.
constexpr double write_units(std::size_t bytes) {
    const auto units = (bytes + write_unit_bytes - 1) / write_unit_bytes;
    return static_cast<double>(std::max<std::size_t>(units, 1));
}

// To read one item, or the items of one page with all their bytes, 0 for none.
constexpr double read_units(std::size_t bytes, bool consistent) {
    const auto units = (bytes + read_unit_bytes - 1) / read_unit_bytes;
    const auto whole = static_cast<double>(std::max<std::size_t>(units, 1));
    return consistent ? whole : whole / 2;
}

}  // namespace rocklock
