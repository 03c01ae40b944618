// Processes arbitrary bytes as the other side of a connection between a relay and its manager, and
// checks properties that must hold for any input.
#pragma once

#include <string_view>

namespace rocklock {

// The first byte of the input selects what the other bytes are: what a manager receives (a preface
// and frames), what a relay receives (an answer and frames), or the file of nodes.
//
// Throws std::logic_error if one of these properties does not hold: an error is the fault of the
// other side and has a message; what was decoded can be encoded and decoded again; the node that is
// found for a preface has the name in the preface, and this name is valid.
void play_peer(std::string_view input);

}  // namespace rocklock
