// What is wrong with a request, in the words of the service.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::table {

// An invalid_argument with that text.
Error validation_error(std::string text);
// "One or more parameter values were invalid: <text>".
Error invalid_parameter(std::string_view text);
// "1 validation error detected: Value '<value>' at '<path>' failed to satisfy constraint: <rule>".
Error constraint(std::string_view value, std::string_view path, std::string_view rule);

// What calls for data and what calls about tables say of one that is not there.
Error no_such_resource();
Error no_such_table(std::string_view table);
// Of a change to a table of the system's own.
Error only_read(std::string_view table);

// The fault of a table's or an index's name, whose parameter is `path`.
std::optional<Error> check_name(std::string_view name, std::string_view path);
// The same of a table's, which may be its ARN.
std::optional<Error> check_table(std::string_view name_or_arn, std::string_view path);
// The fault of a number that must lie in first..last.
std::optional<Error> check_range(std::int64_t value, std::int64_t first, std::int64_t last,
                                 std::string_view path);

}  // namespace rocklock::table
