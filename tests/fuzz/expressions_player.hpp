// Parses arbitrary bytes as an expression of each kind of request, applies it to items, and checks
// properties that must hold for any input.
#pragma once

#include <string_view>

namespace rocklock {

// The first byte of the input selects the kind of expression. The other bytes are its text.
//
// Throws std::logic_error if one of these properties does not hold: an error is the fault of the
// request and has a message; NOT negates a condition; the result of an update or a projection can
// be stored.
void play_expressions(std::string_view input);

}  // namespace rocklock
