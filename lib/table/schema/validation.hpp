// Errors of invalid requests, with the texts of DynamoDB.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::table {

// Returns the error invalid_argument with this text.
Error validation_error(std::string text);
// Returns an error with the text "One or more parameter values were invalid: <text>".
Error invalid_parameter(std::string_view text);
// Returns an error with the text "1 validation error detected: Value '<value>' at '<path>' failed
// to satisfy constraint: <rule>".
Error constraint(std::string_view value, std::string_view path, std::string_view rule);

// Return the errors for a missing table: no_such_resource() for operations on items, and
// no_such_table() for operations on tables.
Error no_such_resource();
Error no_such_table(std::string_view table);
// Returns the error for a change of a system table.
Error only_read(std::string_view table);

// Returns an error if the name of a table or index is invalid. `path` names the parameter.
std::optional<Error> check_name(std::string_view name, std::string_view path);
// As check_name(), but also accepts the ARN of a table.
std::optional<Error> check_table(std::string_view name_or_arn, std::string_view path);
// Returns an error if a number is less than `first` or greater than `last`.
std::optional<Error> check_range(std::int64_t value, std::int64_t first, std::int64_t last,
                                 std::string_view path);

}  // namespace rocklock::table
