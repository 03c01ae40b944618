// Sends arbitrary requests to tables that have items, indexes and a time to live, and checks
// properties that must hold for any input.
#pragma once

#include <string_view>

namespace rocklock {

// The input consists of lines, each with the name of an operation, a space, and the body of a
// request.
//
// Throws std::logic_error if one of these properties does not hold: a response is JSON and never an
// internal error; a refused request has no effect; each index contains exactly the items that
// belong to it.
void play_tables(std::string_view input);

}  // namespace rocklock
