// Starts this program again as a child process, for measurements in a fresh process or in one that
// is killed.
#pragma once

#include <string>
#include <vector>

namespace rocklock::bench {

// Returns whether this process is such a child. If so, its arguments begin at argv[2].
bool is_child(int argc, char** argv);

// Runs this program with these arguments and returns the numbers on its first line of output. If
// the child fails, this program prints a message and ends. A child fails if it prints no line, if
// its exit status is not 0 or, with `killed`, if no signal ended it.
std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed = false);

// For the child: prints the numbers that run_child_process() returns to the parent.
void send_to_parent(const std::vector<double>& numbers);

}  // namespace rocklock::bench
