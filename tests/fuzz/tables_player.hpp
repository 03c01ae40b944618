// Requests for tables of any bytes, sent to tables that have items, indexes and a time to live.
// What must hold whatever the bytes are is checked.
#pragma once

#include <string_view>

namespace rocklock {

// The input is lines, each an operation's name, a space, and the body of a request.
//
// Throws std::logic_error where a promise is broken: an answer is JSON and no fault of the server,
// what is refused changes nothing, and each index has just the items that belong there.
void play_tables(std::string_view input);

}  // namespace rocklock
