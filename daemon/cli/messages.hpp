// The messages of the program for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

// Replaces control characters by '?'. Must be used for names and notes of other users, because they
// could contain escape sequences for the terminal.
std::string printable(std::string_view text);

// Returns "write", "write+" with `subtree`, or "3 permits" if `permits` is not zero.
std::string describe_mode(Mode mode, std::uint32_t permits, bool subtree = false);

// Returns "ann (write), for 12s, 18s left, pid 4711, grant 3764888744755201: importing".
std::string describe_holder(const Holder& holder, WallTime now);

// Returns several lines without a final newline: the error, the holders that block, and advice.
std::string explain(const Error& error, WallTime now);

// Returns one line without names of other users, for --quiet.
std::string explain_quietly(const Error& error);

// Returns "expired at 2026-11-21T09:30:00.000Z" or "broken by ann at ...: reason".
std::string describe_ending(const Ending& ending);

// Returns the same as a sentence: "it expired at ..." or "it was broken by ann at ...: reason".
std::string explain_ending(const Ending& ending);

// Returns "ann asks to take over orders/42, and may do so in 59s, at 2026-11-21T09:30:00.000Z, if
// the holder does not answer: ...". `wanted` must have `answer_by`.
std::string describe_ask(const Wanted& wanted, WallTime now);

// Prints "rocklock: TEXT" to stderr.
void complain(std::string_view text);
// Whether a message contains the names of other users (`shown`) or omits them (`kept`).
enum class Names : std::uint8_t { shown, kept };
// Prints the error to stderr. Durations in the text are relative to the current time.
void complain_of(const Error& error, Names names = Names::shown);

}  // namespace rocklock
