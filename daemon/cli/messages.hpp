// The texts that the program prints for people rather than for programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

// Returns the text with '?' instead of control characters. Must be used for names and notes of
// other users, because they could contain escape sequences for the terminal.
std::string printable(std::string_view text);

// Returns "write", "write+" with `subtree`, or "3 permits" if `permits` is not zero.
std::string describe_mode(Mode mode, std::uint32_t permits, bool subtree = false);

// left_in_table() returns the time until a deadline for the column LEFT of a table, and time_left()
// returns it for a sentence. Both return "no expiry" if there is no deadline. describe_holder()
// returns a text such as "ann (write), for 12s, 18s left, pid 4711, grant 3764888744755201:
// importing".
std::string left_in_table(std::chrono::milliseconds remaining);
std::string time_left(std::chrono::milliseconds remaining);
std::string describe_holder(const Holder& holder, WallTime now);

// Returns time_left(), followed by the deadline if there is one: "18s left, until
// 2026-11-21T09:30:00.000Z".
std::string held_for(std::chrono::milliseconds remaining, WallTime deadline);

// Returns one or more lines without a final newline. They contain the error, and as far as they
// apply: up to five holders and up to five waiters that block the request, the cycle of a deadlock,
// how the grant ended, when to retry, and advice.
std::string explain(const Error& error, WallTime now);

// For --quiet: returns only the first line of explain(). If other sessions block the request, or if
// waiting would cause a deadlock, returns a different line, without the names of these sessions.
std::string explain_quietly(const Error& error);

// Returns a text such as "expired at 2026-11-21T09:30:00.000Z" or "broken by ann at ...: reason".
std::string describe_ending(const Ending& ending);

// As describe_ending(), but with a subject: "it expired at ..." or "it was broken by ann at ...".
std::string explain_ending(const Ending& ending);

// Returns a text such as "ann asks to take over orders/42, and may do so in 59s, at
// 2026-11-21T09:30:00.000Z, if the holder does not answer: ", followed by the command that answers
// the request. `wanted.answer_by` should be set; otherwise the text contains `now` instead.
std::string describe_ask(const Wanted& wanted, WallTime now);

// Returns the text as one word of a shell command.
std::string shell_quoted(const std::string& text);

// Prints "rocklock: TEXT" to stderr.
void complain(std::string_view text);
// Whether a message contains the names of other users (`shown`) or omits them (`kept`).
enum class Names : std::uint8_t { shown, kept };
// Prints explain() or, with Names::kept, explain_quietly() to stderr. Durations in the text are
// relative to the current time.
void complain_of(const Error& error, Names names = Names::shown);

}  // namespace rocklock
