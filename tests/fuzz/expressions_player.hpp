// An expression of any bytes: read as each kind of request reads it, then used on items. What must
// hold whatever the bytes are is checked.
#pragma once

#include <string_view>

namespace rocklock {

// The first byte of the input says of which kind the expression is, the rest is its text.
//
// Throws std::logic_error where a promise is broken: what is wrong is the request's fault and has a
// text, NOT is the opposite, and what an update or a projection makes of an item can be stored.
void play_expressions(std::string_view input);

}  // namespace rocklock
