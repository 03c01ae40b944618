// Runs a function in a child process.
#pragma once

#include <sys/types.h>

#include <functional>

namespace rocklock::testing {

// Waits until all other threads of this process sleep, and then forks a child that runs `body` and
// exits without calling destructors, as after SIGKILL. The exit status of the child is the result
// of `body`, or 97 if `body` throws an exception.
pid_t start_child(const std::function<int()>& body);

// As start_child(), but waits for the child to end. Returns its exit status, or -1 if it was
// killed.
int in_child(const std::function<int()>& body);

// Starts this program again to run only the current test case, whose call of this function then
// runs `body` and returns its result. Returns 0 if the test case passed there, and otherwise the
// exit status or -1. In contrast to a forked child, the new process can use all of RocksDB.
int in_new_process(const std::function<int()>& body);

}  // namespace rocklock::testing
