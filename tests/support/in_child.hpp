// Something done in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <iostream>

namespace rocklock::testing {

// Runs it in a child of this process, which ends as kill -9 would end it. Its result is the exit
// status; -1 when the child was killed, 97 when it threw.
inline int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        // Nothing may go beyond this: the child would run the rest of the tests besides.
        try {
            _exit(body());
        } catch (const std::exception& error) {
            std::cerr << "in a child: " << error.what() << std::endl;
        } catch (...) {
            std::cerr << "in a child: something else than an exception" << std::endl;
        }
        _exit(97);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace rocklock::testing
