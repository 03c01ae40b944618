// Runs a function in a child process.
#pragma once

#include <sys/types.h>

#include <functional>

namespace rocklock::testing {

// Forks a child that runs `body` and exits without destructors, as if killed by kill -9. The exit
// status is the result of `body`, or 97 if it throws. Waits until all other threads of this process
// sleep before it forks.
pid_t start_child(const std::function<int()>& body);

// As start_child(), but waits for the child to end. Returns its exit status, or -1 if it was
// killed.
int in_child(const std::function<int()>& body);

}  // namespace rocklock::testing
