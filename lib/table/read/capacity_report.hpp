// What answers tell of the capacity that a request would have consumed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/item_requests.hpp>

#include "table/schema/index_entries.hpp"
#include "table/schema/schema.hpp"

namespace rocklock::table {

// Nothing where nothing was asked for. A write costs the table, and each index that it touches.
std::optional<ConsumedCapacity> report_write(const Schema& schema, ReturnCapacity wanted,
                                             double table_units, const IndexUnits& index_units);

// A read of the table, or of the index, and then of the table for what the index does not hold.
std::optional<ConsumedCapacity> report_read(const Schema& schema, const IndexSchema* index,
                                            ReturnCapacity wanted, double units,
                                            double fetched_units);

// Adds up what several items of one request cost, table by table.
class CapacitySum {
public:
    explicit CapacitySum(double factor = 1) : factor_(factor) {}

    void add(const std::optional<ConsumedCapacity>& consumed);
    // In order of the tables' names.
    std::vector<ConsumedCapacity> take();

private:
    double factor_;
    std::map<std::string, ConsumedCapacity> tables_;
};

}  // namespace rocklock::table
