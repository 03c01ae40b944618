// The command of `rocklock run`. A supervisor process forks the command and reports changes of its
// state. The command executes its program only after go(). Before go(), the session that holds the
// lock can be bound to the supervisor and to the command.
//
//     Command::prepare() ──► forked, waiting ──go()──► running ──► ended
//                               └─ this process dies, or ~Command ──► ends without executing it
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
    // Forks a supervisor and a command that waits for go(). If this process dies before it has
    // dismissed the supervisor, the supervisor calls `take_over`.
    //
    // This process must have no other threads, except those of an open store, because the
    // supervisor continues after the fork and starts threads of its own.
    //
    // Errors: io_error   a pipe or a process cannot be created
    static Result<Command> prepare(std::vector<std::string> words,
                                   std::vector<std::string> environment, const TakeOver& take_over);

    Command(Command&& other) noexcept;
    Command& operator=(Command&&) = delete;
    // Kills the command if it has not ended, and dismisses the supervisor.
    ~Command();

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

    Result<void> await_start();
    void wait_for_verdict();
    void receive();
    void supervisor_died();

    pid_t pid_ = -1;
    pid_t supervisor_ = -1;
    // A pipe to the command. The command executes its program when it reads a byte, and exits if
    // the pipe is closed.
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
