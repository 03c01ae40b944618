// The entry point of the program: finds the verb and runs it.
#pragma once

#include <string>
#include <vector>

namespace rocklock {

// `words` excludes the name of the program. Returns the exit status.
int run_program(const std::vector<std::string>& words);

}  // namespace rocklock
