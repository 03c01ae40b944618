// Something done in a process of its own.
#pragma once

#include <sys/types.h>

#include <functional>

namespace rocklock::testing {

// A child of this process that runs it, and ends as kill -9 would end it: with its result as the
// exit status, or 97 when it threw. It is made when all other threads of this process wait for
// something.
pid_t start_child(const std::function<int()>& body);

// The same, and waits for its end. Returns the exit status; -1 when the child was killed.
int in_child(const std::function<int()>& body);

}  // namespace rocklock::testing
