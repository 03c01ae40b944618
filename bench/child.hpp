// Runs this program again, to measure a process from its beginning, or one that is killed.
#pragma once

#include <string>
#include <vector>

namespace rocklock::bench {

// Whether this process is such a child; its arguments begin at argv[2].
bool is_child(int argc, char** argv);

// Runs this program with these arguments, and reads the numbers of its first line. It must end
// well, or be `killed`.
std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed = false);

// In the child: says the numbers that the parent reads.
void tell_parent(const std::vector<double>& numbers);

}  // namespace rocklock::bench
