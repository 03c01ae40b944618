// Starts this program again as a child process, for measurements in a fresh process, in one that is
// killed, or beside one that works.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rocklock::bench {

// Returns whether this process is a ChildProcess. If so, its arguments begin at argv[2].
bool is_child(int argc, char** argv);

// This program, started again with other arguments. If it cannot be started, prints a message and
// ends this program. The child ends at the latest with the thread that started it.
class ChildProcess {
public:
    explicit ChildProcess(std::vector<std::string> arguments);
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    // Kills the child if it still runs.
    ~ChildProcess();

    int pid() const { return pid_; }
    // Waits for the first line of the child's output, and returns the numbers on it. Returns none
    // if the child has ended without a line. May be called once.
    std::vector<double> read_numbers();
    // Stops all threads of the child until resume().
    void pause() const;
    void resume() const;
    // Waits until the child has ended, and returns its status, as waitpid() does.
    int wait();

private:
    pid_t pid_ = -1;
    int output_ = -1;
};

// Runs this program with these arguments as a child process and returns the numbers on the first
// line of its output. If the child fails, prints a message and ends the program. The child fails if
// it prints no line, or if it does not end as expected. If `killed` is true, a signal must end the
// child. Otherwise, its exit status must be 0.
std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed = false);

// Called by the child: prints the numbers that the parent reads.
void send_to_parent(const std::vector<double>& numbers);

}  // namespace rocklock::bench
