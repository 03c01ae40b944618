// The program: finds the verb and runs it.
#pragma once

#include <string>
#include <vector>

namespace rocklock {

// `words` without the program's own name. Returns the exit status.
int run_program(const std::vector<std::string>& words);

}  // namespace rocklock
