// Starts this program again as a child process, for measurements in a fresh process or in one that
// is killed.
#pragma once

#include <string>
#include <vector>

namespace rocklock::bench {

// Returns whether this process was started by run_child_process(). If so, the arguments that were
// passed to run_child_process() begin at argv[2].
bool is_child(int argc, char** argv);

// Runs this program with these arguments as a child process and returns the numbers on the first
// line of its output. If the child fails, prints a message and ends the program. The child fails if
// it prints no line, or if it does not end as expected. If `killed` is true, a signal must end the
// child. Otherwise, its exit status must be 0.
std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed = false);

// Called by the child: prints the numbers that run_child_process() returns in the parent.
void send_to_parent(const std::vector<double>& numbers);

}  // namespace rocklock::bench
