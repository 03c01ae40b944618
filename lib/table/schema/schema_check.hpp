// From the requests for tables to their definitions, with the service's faults.
#pragma once

#include <string_view>

#include <rocklock/items/table_schema.hpp>
#include <rocklock/result.hpp>

#include "table/schema/schema.hpp"

namespace rocklock::table {

// Whether a table's name is kept for tables of our own.
bool is_reserved(std::string_view name);

// What the request says a table should be; without number, version, id and time.
//
// Errors: invalid_argument  the first fault, in the service's words
Result<Schema> schema_of(const CreateTable& request);

// The definition as it is after the request. A new index is `creating`.
//
// Errors: invalid_argument, limit_exceeded, resource_not_found: the first fault
Result<Schema> schema_after(const Schema& before, const UpdateTable& request);

}  // namespace rocklock::table
