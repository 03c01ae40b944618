// The supervisor of `rocklock run`: a small process between `run` and its command.
//
//     run ──forks──► supervisor ──forks──► command ──► its children
//
// The supervisor forks the command and reports its changes to `run` over a socket. It is the reaper
// of its descendants (PR_SET_CHILD_SUBREAPER), so an orphaned process becomes its child, even if it
// has called setsid(). It therefore knows exactly whether descendants of the command remain. While
// `run` lives, the supervisor only reports. If `run` dies without dismissing it, the socket is
// closed, and the supervisor takes over: see succession.hpp.
//
// The supervisor has its own process group, so that a signal to the group of `run` does not reach
// it, and it blocks all signals. If it is killed, the kernel kills the command.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

#include <rocklock/clock.hpp>

namespace rocklock {

// The program to execute, and its ends of the pipes of Command. Prepared before fork().
struct Execution {
    std::vector<char*> words;
    std::vector<char*> environment;
    int gate = -1;
    int verdict = -1;
};

// A report of the supervisor to `run`.
struct CommandNotice {
    enum class Kind { started, ended, stopped, group_ended } kind = Kind::started;
    // The pid of the command if it was started, or the negative errno of fork(); otherwise its
    // status as returned by waitpid().
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
    // Returns whether a process remains. A Rocklock daemon that a descendant has started is not
    // counted, because it outlives the command on purpose.
    bool remain() const;
    void signal_group(int signal) const;
    // Kills the command's process group and all children of the supervisor, except Rocklock
    // daemons. Children of a killed process become children of the supervisor: call it again
    // until none remain.
    void kill_children() const;
    // Kills the command and waits for its end if it has not ended.
    void end_command();
    // Ends the command's process group if its terminal stopped it, as the kernel does with a group
    // that no shell can continue any more.
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

// Starts the command and supervises it. Runs in the forked process, whose only descriptors are the
// standard ones, those of the execution, and `channel`. Exits after `run` has dismissed it, or
// after `take_over` has returned.
[[noreturn]] void supervise(const Execution& execution, int channel, const TakeOver& take_over);

}  // namespace rocklock
