// Whether one order of operations explains what clients of tables saw: each operation, with all of
// its items, at one moment between its call and its return. A history of which that is true is
// strictly serialisable.
//
// The method is that of Elle (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
// Experimental Observations", VLDB 2020): since every version of an item can be told from the
// others and tells what it replaced, it is known who wrote what somebody read, and who replaced it.
// Together with the times these are Adya's dependencies (Adya, Liskov and O'Neil, "Generalized
// Isolation Level Definitions", ICDE 2000), reasons why one operation is before another:
//
//     ww  it wrote what the other replaced        wr  it wrote what the other saw
//     rw  it saw what the other replaced          rt  it had returned when the other was called
//
// If they go in a circle there is no order. Only the absences of an item cannot be told from each
// other. So what is known of an item are pieces, each from its creation to its removal, and of two
// of them one is wholly before the other: these choices are Papadimitriou's polygraph ("The
// Serializability of Concurrent Database Updates", JACM 1979). Those that the other reasons leave
// but one way are made first, the rest by guessing.
//
// A history is believed only when the order that was found has been played on a model that gives
// the same answers, so what is believed does not rest on the reasons. It is refused only when no
// guess was made before the contradiction.
#pragma once

#include <cstddef>
#include <string>

#include "history/history.hpp"

namespace rocklock::proof {

struct Explanation {
    enum class Verdict : std::uint8_t {
        explained,
        // There is no such order.
        contradicted,
        // None was found, and none of the guesses has to be wrong.
        undecided,
    };

    Verdict verdict = Verdict::undecided;
    // Why there is none.
    std::string text;
    std::size_t operations = 0;
    std::size_t reasons = 0;
    std::size_t choices = 0;
    std::size_t guesses = 0;
};

Explanation explain(const TableHistory& history);

}  // namespace rocklock::proof
