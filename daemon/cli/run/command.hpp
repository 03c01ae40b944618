// The command of `rocklock run`. A supervisor process forks the command and reports changes of its
// state. The command executes its program only after go(). Before go(), the session that holds the
// lock can be bound to the supervisor and to the command.
//
//     fork_supervisor() ──► supervisor ──start()──► command, waiting ──go()──► running ──► ended
//                               └──────────────────────┴─ this process dies, or ~Command
//                                                         ──► ends without executing it
//
// The command has its own process group, so that a signal reaches all processes that it starts.
#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/cli/run/supervisor.hpp"

namespace rocklock {

class Command {
public:
    // Forks a supervisor that waits for start(). If this process dies after start() and before it
    // has dismissed the supervisor, the supervisor calls `take_over`.
    //
    // This process must have no other threads, because the supervisor continues after the fork and
    // a lock that another thread holds at that moment would never be released in it.
    //
    // Errors: io_error   a pipe or a process cannot be created
    static Result<Command> fork_supervisor(std::vector<std::string> words,
                                           const TakeOver& take_over);

    // Makes the supervisor fork the command, which waits for go(). Each variable is "NAME=value".
    //
    // Errors: io_error   a process cannot be created, or the supervisor was killed
    Result<void> start(const std::vector<std::string>& environment);

    Command(Command&& other) noexcept;
    Command& operator=(Command&&) = delete;
    // Kills the command if it has not ended, and dismisses the supervisor.
    ~Command();

    // The process of the command, or -1 before start().
    pid_t pid() const { return pid_; }
    pid_t supervisor() const { return supervisor_; }

    // Makes the command execute its program. Returns 0 if it does, or the errno of execve() if the
    // program cannot be executed.
    int go();

    // Sends the signal to all processes of the command's process group.
    void signal_group(int signal) const;

    // Sends to the supervisor the time until which no other session can hold the lock.
    void note_deadline(BootTime deadline) const;
    // Ends the supervisor, so that it does not take over if this process dies later. Call dismiss()
    // after the command has ended.
    void dismiss();

    struct Change {
        enum class Kind { ended, stopped } kind = Kind::ended;
        // As returned by waitpid().
        int status = 0;
    };
    // Returns the next change of the command's state, or nullopt if there is none.
    std::optional<Change> poll();
    // Returns a descriptor that is readable if poll() or group_alive() may have changed.
    int fd() const { return channel_; }

    // Returns whether a process of the command's group is still running. Must be called only after
    // the command has ended.
    bool group_alive() const { return !group_ended_; }

    // give_terminal() makes the command's process group the foreground group of the terminal, if
    // standard input is a terminal and this process is in the foreground. take_terminal() makes the
    // group of this process the foreground group again, if the command's group is in the
    // foreground.
    void give_terminal() const;
    void take_terminal() const;
    bool in_foreground() const;
    // Whether standard input is a terminal.
    bool interactive() const { return interactive_; }

private:
    Command(pid_t supervisor, int gate, int verdict, int channel, bool interactive)
        : supervisor_(supervisor),
          gate_(gate),
          verdict_(verdict),
          channel_(channel),
          interactive_(interactive) {}

    void wait_for_verdict();
    void receive();
    void supervisor_died();

    pid_t pid_ = -1;
    pid_t supervisor_ = -1;
    // A pipe to the supervisor and the command. The supervisor reads the environment. Then the
    // command executes its program when it reads a byte, and exits if the pipe is closed.
    int gate_ = -1;
    // The command writes the errno of a failed execve() to this pipe.
    int verdict_ = -1;
    // The socket to the supervisor.
    int channel_ = -1;
    bool interactive_ = false;
    bool ended_ = false;
    bool group_ended_ = false;
    // Changes that poll() has not returned yet.
    std::deque<Change> changes_;
};

}  // namespace rocklock
