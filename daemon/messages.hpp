// What the program says to people.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

namespace rocklock {

// Names and notes come from others: what would steer a terminal is shown as '?'.
std::string printable(std::string_view text);

// "ann (write), for 12s, 18s left, pid 4711, grant 3764888744755201: importing".
std::string describe_holder(const Holder& holder, WallTime now);

// Several lines, without a newline at the end: what was refused, who is in the way, what to do.
std::string explain(const Error& error, WallTime now);

// "expired at 2026-11-21T09:30:00.000Z", "broken by ann at ...: reason".
std::string describe_ending(const Ending& ending);

// "ann asks to take over orders/42, and may do so in 59s, at 2026-11-21T09:30:00.000Z, if nobody
// answers: ...". For one who has asked, not for one who waits.
std::string describe_ask(const Wanted& wanted, WallTime now);

// Prints "rocklock: TEXT" on stderr.
void complain(std::string_view text);

}  // namespace rocklock
