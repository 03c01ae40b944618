#include "table/schema/validation.hpp"

#include <algorithm>
#include <cstdint>

#include "table/schema/arns.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t min_name_bytes = 3;
constexpr std::size_t max_name_bytes = 255;

bool is_name_character(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '-' ||
           character == '.';
}

}  // namespace

Error validation_error(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

Error invalid_parameter(std::string_view text) {
    return validation_error("One or more parameter values were invalid: " + std::string(text));
}

Error constraint(std::string_view value, std::string_view path, std::string_view rule) {
    return validation_error("1 validation error detected: Value '" + std::string(value) + "' at '" +
                            std::string(path) +
                            "' failed to satisfy constraint: " + std::string(rule));
}

Error no_such_resource() { return {ErrorCode::resource_not_found, "Requested resource not found"}; }

Error no_such_table(std::string_view table) {
    return {ErrorCode::resource_not_found,
            "Requested resource not found: Table: " + std::string(table) + " not found"};
}

Error only_read(std::string_view table) {
    return validation_error("Table " + std::string(table) +
                            " shows the data of the lock manager and is read-only");
}

std::optional<Error> check_name(std::string_view name, std::string_view path) {
    if (name.size() < min_name_bytes) {
        return constraint(name, path, "Member must have length greater than or equal to 3");
    }
    if (name.size() > max_name_bytes) {
        return constraint(name, path, "Member must have length less than or equal to 255");
    }
    if (std::all_of(name.begin(), name.end(), is_name_character)) return std::nullopt;
    return constraint(name, path,
                      "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
}

std::optional<Error> check_table(std::string_view name_or_arn, std::string_view path) {
    if (is_table_arn(name_or_arn)) return std::nullopt;
    return check_name(name_or_arn, path);
}

std::optional<Error> check_range(std::int64_t value, std::int64_t first, std::int64_t last,
                                 std::string_view path) {
    if (value < first) {
        return constraint(
            std::to_string(value), path,
            "Member must have value greater than or equal to " + std::to_string(first));
    }
    if (value <= last) return std::nullopt;
    return constraint(std::to_string(value), path,
                      "Member must have value less than or equal to " + std::to_string(last));
}

}  // namespace rocklock::table
