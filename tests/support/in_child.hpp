// Something done in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace rocklock::testing {

// Runs it in a child of this process, which ends as kill -9 would end it. Its result is the exit
// status; -1 when the child was killed.
inline int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace rocklock::testing
