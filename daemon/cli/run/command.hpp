// The child process that executes the command of `rocklock run`. It is forked first and executes
// the command only after go(). Before go(), the session that holds the lock can be bound to it.
//
//     Command::prepare() ──► forked, waiting ──go()──► running ──► ended
//                               └─ parent dies, or ~Command ──► ends without executing the command
//
// The child has its own process group, so that a signal reaches all processes that it starts. When
// the parent dies, the lock is no longer renewed, so the kernel kills the child, too.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

namespace rocklock {

class Command {
public:
    // Forks a child that waits for go().
    //
    // The child is killed when the thread that calls prepare() ends (PR_SET_PDEATHSIG applies to
    // the thread). Call it on the main thread.
    //
    // Errors: io_error   a pipe or the process cannot be created
    static Result<Command> prepare(std::vector<std::string> words,
                                   std::vector<std::string> environment);

    Command(Command&& other) noexcept;
    Command& operator=(Command&&) = delete;
    ~Command();

    pid_t pid() const { return pid_; }

    // Makes the child execute the command. Returns 0 if the child executes it, or the errno of
    // execve() if the command cannot be executed.
    int go();

    // Sends the signal to all processes of the command's process group.
    void signal_group(int signal) const;

    struct Change {
        enum class Kind { ended, stopped } kind = Kind::ended;
        // As returned by waitpid().
        int status = 0;
    };
    // Returns the next change of the child's state, or nullopt if there is none.
    std::optional<Change> poll();

    // Returns whether a process of the group is still running. Call it after the command has ended.
    // Only children of this process are found. The descendants of the command become children of
    // this process, when their own parents end, only if PR_SET_CHILD_SUBREAPER is set.
    bool group_alive() const;

    // give_terminal() makes the command's process group the foreground group of the terminal if
    // standard input is a terminal and this process is in the foreground. take_terminal() reverses
    // it if the command's group is in the foreground.
    void give_terminal() const;
    void take_terminal() const;
    bool in_foreground() const;
    // Whether standard input is a terminal.
    bool interactive() const { return interactive_; }

private:
    void wait_for_verdict() const;

    Command(pid_t pid, int gate, int verdict, bool interactive)
        : pid_(pid), gate_(gate), verdict_(verdict), interactive_(interactive) {}

    pid_t pid_ = -1;
    // The child executes the command if it reads a byte, and exits if the pipe is closed.
    int gate_ = -1;
    // The child writes the errno of a failed execve() to this pipe.
    int verdict_ = -1;
    bool interactive_ = false;
    bool ended_ = false;
};

}  // namespace rocklock
