// The tags of tables, and their limits.
#pragma once

#include <optional>

#include <rocklock/error.hpp>
#include <rocklock/items/table_settings.hpp>

namespace rocklock::table {

// Returns the first error in tags that are to be added. Does not check the number of tags.
std::optional<Error> check_tags(const Tags& tags);
// Returns an error if a table would have too many tags.
std::optional<Error> check_tag_count(const Tags& tags);

}  // namespace rocklock::table
