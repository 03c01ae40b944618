// What the program says to people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

// Names and notes come from others: what would steer a terminal is shown as '?'.
std::string printable(std::string_view text);

// "write", "write+" with all below; "3 permits" where they are counted.
std::string describe_mode(Mode mode, std::uint32_t permits, bool subtree = false);

// "ann (write), for 12s, 18s left, pid 4711, grant 3764888744755201: importing".
std::string describe_holder(const Holder& holder, WallTime now);

// Several lines, without a newline at the end: what was refused, who is in the way, what to do.
std::string explain(const Error& error, WallTime now);

// One line that names nobody, for --quiet.
std::string explain_quietly(const Error& error);

// "expired at 2026-11-21T09:30:00.000Z", "broken by ann at ...: reason".
std::string describe_ending(const Ending& ending);

// "ann asks to take over orders/42, and may do so in 59s, at 2026-11-21T09:30:00.000Z, if nobody
// answers: ...". For one who has asked, not for one who waits.
std::string describe_ask(const Wanted& wanted, WallTime now);

// Prints "rocklock: TEXT" on stderr.
void complain(std::string_view text);
// What is wrong, as of now.
enum class Names : std::uint8_t { shown, kept };
void complain_of(const Error& error, Names names = Names::shown);

}  // namespace rocklock
