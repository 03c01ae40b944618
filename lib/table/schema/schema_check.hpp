// Converts requests that create or update tables into definitions. Errors have the texts of
// DynamoDB.
#pragma once

#include <string_view>

#include <rocklock/items/table_schema.hpp>
#include <rocklock/result.hpp>

#include "table/schema/schema.hpp"

namespace rocklock::table {

// Returns whether the name is reserved for system tables.
bool is_reserved(std::string_view name);

// Returns the definition that the request describes. Its number, version, id and creation time are
// not set.
//
// Errors: invalid_argument with DynamoDB's text for the first error in the request
Result<Schema> schema_of(const CreateTable& request);

// Returns the definition after the request is applied. A new index has the status `creating`.
//
// Errors: invalid_argument, limit_exceeded, resource_not_found, for the first error in the request
Result<Schema> schema_after(const Schema& before, const UpdateTable& request);

}  // namespace rocklock::table
