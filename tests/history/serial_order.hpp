// Checks whether a serial order explains the results of table clients. In such an order, each
// operation takes effect on all of its items at one time between its call and its return. A history
// with such an order is strictly serialisable.
//
// The method is that of Elle (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
// Experimental Observations", VLDB 2020). Every version of an item is unique and names its
// predecessor. Therefore, it is known for each read which operation wrote the version that was
// read, and which operation replaced this version. Together with the times, these facts give the
// dependencies of Adya, Liskov and O'Neil ("Generalized Isolation Level Definitions", ICDE 2000).
// Each dependency is a constraint that A precedes B:
//
//     ww  A wrote the version that B replaced      wr  A wrote the version that B saw
//     rw  A saw the version that B replaced        rt  A returned before B was called
//
// If the constraints contain a cycle, no order exists.
//
// The times at which an item is absent cannot be distinguished from each other. Therefore, the
// known history of an item is divided into pieces, each from a creation of the item to its removal.
// For each pair of pieces, one precedes the other completely. The order of each pair is a choice.
// These choices form Papadimitriou's polygraph ("The Serializability of Concurrent Database
// Updates", JACM 1979). Choices with a single possible order are decided first. The other choices
// are guessed.
//
// A history is accepted only if the order that was found gives the same results on a model.
// Therefore, acceptance does not depend on the derived constraints. A history is rejected only if
// the contradiction was found without a guess.
#pragma once

#include <cstddef>
#include <string>

#include "history/history.hpp"

namespace rocklock::proof {

struct Explanation {
    enum class Verdict : std::uint8_t {
        explained,
        // No serial order exists.
        contradicted,
        // No order was found, but one may exist.
        undecided,
    };

    Verdict verdict = Verdict::undecided;
    // The reason, if no order was found.
    std::string text;
    std::size_t operations = 0;
    std::size_t reasons = 0;
    std::size_t choices = 0;
    std::size_t guesses = 0;
};

Explanation explain(const TableHistory& history);

}  // namespace rocklock::proof
