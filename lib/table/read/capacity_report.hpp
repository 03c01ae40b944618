// Reports of the capacity that a request would have consumed in DynamoDB.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/item_requests.hpp>

#include "table/schema/index_entries.hpp"
#include "table/schema/schema.hpp"

namespace rocklock::table {

// Returns the capacity of a write: that of the table and of each index that it changes. Returns
// nullopt if none is requested.
std::optional<ConsumedCapacity> report_write(const Schema& schema, ReturnCapacity wanted,
                                             double table_units, const IndexUnits& index_units);

// Returns the capacity of a read: `units` in the index, or in the table if `index` is null, and
// `fetched_units` in the table for attributes that the index does not contain. Returns nullopt if
// none is requested.
std::optional<ConsumedCapacity> report_read(const Schema& schema, const IndexSchema* index,
                                            ReturnCapacity wanted, double units,
                                            double fetched_units);

// Adds up the capacity of several items of one request, by table. Each value is multiplied by
// `factor`.
class CapacitySum {
public:
    explicit CapacitySum(double factor = 1) : factor_(factor) {}

    void add(const std::optional<ConsumedCapacity>& consumed);
    // Returns the sums in the order of the tables' names.
    std::vector<ConsumedCapacity> take();

private:
    double factor_;
    std::map<std::string, ConsumedCapacity> tables_;
};

}  // namespace rocklock::table
