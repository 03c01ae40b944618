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

// Returns the capacity that a write has consumed in the table and in each index that it changes.
// Returns nullopt if the request does not ask for the capacity.
std::optional<ConsumedCapacity> report_write(const Schema& schema, ReturnCapacity wanted,
                                             double table_units, const IndexUnits& index_units);

// Returns the capacity that a read has consumed: `units` in the index, or in the table if `index`
// is null. `fetched_units` are added for the table, for attributes that the index does not contain.
// Returns nullopt if the request does not ask for the capacity.
std::optional<ConsumedCapacity> report_read(const Schema& schema, const IndexSchema* index,
                                            ReturnCapacity wanted, double units,
                                            double fetched_units);

// For each table, adds up the capacity of several items of one request. Multiplies each value by
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
