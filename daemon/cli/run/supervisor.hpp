// The supervisor of `rocklock run`: a small process between `run` and its command.
//
//     run ──forks──► supervisor ──forks──► command ──► its children
//
// The supervisor forks the command and reports its changes to `run` over a socket. It is the
// subreaper of its descendants (PR_SET_CHILD_SUBREAPER): an orphaned descendant becomes a child of
// the supervisor, even if the descendant has called setsid(). Therefore, the supervisor knows
// exactly whether descendants of the command remain. While `run` lives, the supervisor only
// reports. If `run` dies without dismissing the supervisor, the kernel closes the socket, and the
// supervisor takes over: see succession.hpp.
//
// The supervisor has its own process group, so that a signal to the group of `run` does not reach
// it. It also blocks all signals. If the supervisor is killed, the kernel kills the command.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>

namespace rocklock {

// The arguments of the program, and the ends of two pipes. The supervisor reads the environment of
// the program from `gate` (see write_environment()) and then forks the command. The command
// executes the program after it has read one more byte from `gate`. If the program cannot be
// executed, the command writes the errno to `verdict`. Prepared before fork().
struct Execution {
    std::vector<std::string> words;
    int gate = -1;
    int verdict = -1;
};

// Writes the variables, each "NAME=value", to the pipe `gate` of an Execution. Returns false and
// sets errno on failure.
bool write_environment(int gate, const std::vector<std::string>& variables);

// A report of the supervisor to `run`.
struct CommandNotice {
    enum class Kind { started, ended, stopped, group_ended } kind = Kind::started;
    // For `started`: the pid of the command, or the negative errno of fork(). Otherwise, the status
    // of the command as returned by waitpid().
    int value = 0;
};

// A message of `run` to the supervisor.
struct SupervisorOrder {
    enum class Kind { lease, dismissed } kind = Kind::dismissed;
    // The time until which no other session can hold the lock.
    BootTime deadline;
};

// The descendants of the supervisor. Threads: the main thread of the supervisor.
class Descendants {
public:
    explicit Descendants(pid_t command);
    Descendants(const Descendants&) = delete;
    Descendants& operator=(const Descendants&) = delete;
    ~Descendants();

    // Returns a descriptor that is readable if a child has ended or was stopped.
    int fd() const { return signals_; }

    // Reaps the children that have ended. Returns the changes of the command and of its group. The
    // group has ended when none of its processes is a child of the supervisor.
    std::vector<CommandNotice> reap();
    // Returns whether a descendant remains. A Rocklock daemon that a descendant has started does
    // not count, because it outlives the command on purpose.
    bool remain() const;
    void signal_group(int signal) const;
    // Kills the command's process group and all children of the supervisor, except Rocklock
    // daemons. Children of a killed process become children of the supervisor. Therefore, call
    // kill_children() until remain() returns false.
    void kill_children() const;
    // If the command has not ended, kills it and waits for its end.
    void end_command();
    // If the terminal has stopped the command, sends SIGHUP and SIGCONT to the command's process
    // group, because no shell can continue it. The kernel does the same with an orphaned group.
    void end_stopped_job() const;

private:
    bool in_group() const;

    const pid_t command_;
    const int signals_;
    bool ended_ = false;
    bool group_ended_ = false;
    // The signal that stopped the command; 0 if it is not stopped.
    int stopped_by_ = 0;
};

// Called in the supervisor after the death of `run`, with the last deadline that `run` had sent.
using TakeOver = std::function<void(Descendants&, std::optional<BootTime>)>;

// Waits for the environment, starts the command and supervises it. Runs in the forked process,
// which must have one thread. Exits after `run` has dismissed it, after `take_over` has returned,
// or if `run` ends without having written the environment.
[[noreturn]] void supervise(Execution& execution, int channel, const TakeOver& take_over);

}  // namespace rocklock
