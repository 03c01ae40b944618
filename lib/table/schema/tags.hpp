// The tags of tables, and what is allowed of them.
#pragma once

#include <optional>

#include <rocklock/error.hpp>
#include <rocklock/items/table_settings.hpp>

namespace rocklock::table {

// The first fault of tags that are to be given; not of how many a table has then.
std::optional<Error> check_tags(const Tags& tags);
// The fault of a table that has more tags than it may.
std::optional<Error> check_tag_count(const Tags& tags);

}  // namespace rocklock::table
