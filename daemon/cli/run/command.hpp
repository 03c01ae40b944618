// The command that runs under a lock: started, but held back until its lock is ready for it.
//
//     Command::prepare() ──► forked, waiting ──go()──► running ──► ended
//                               └─ we die, or ~Command ──► it ends without having run
//
// It gets a process group of its own, so that it can be stopped with all that it starts, and the
// kernel kills it when we die: nothing goes on under a lock that nobody renews.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

namespace rocklock {

class Command {
public:
    // Forks. Call it on the thread that lives longest: the kernel takes the end of that thread for
    // ours. Errors: io_error.
    static Result<Command> prepare(std::vector<std::string> words,
                                   std::vector<std::string> environment);

    Command(Command&& other) noexcept;
    Command& operator=(Command&&) = delete;
    ~Command();

    pid_t pid() const { return pid_; }

    // Lets it run. Gives the errno of a command that cannot be executed; 0 when it runs.
    int go();

    // To its whole process group.
    void signal_group(int signal) const;

    struct Change {
        enum class Kind { ended, stopped } kind = Kind::ended;
        // As waitpid() gives it.
        int status = 0;
    };
    // What has happened to it since; nothing when nothing has.
    std::optional<Change> poll();

    // Whether some process of its group, itself aside, is still there. Only for those that are our
    // descendants and whose parents have gone, see PR_SET_CHILD_SUBREAPER.
    bool group_alive() const;

    // Hands the terminal to it when we have one and are in its foreground; takes it back when it is
    // the command's.
    void give_terminal() const;
    void take_terminal() const;
    bool in_foreground() const;
    // Whether our standard input is a terminal.
    bool interactive() const { return interactive_; }

private:
    void wait_for_verdict() const;

    Command(pid_t pid, int gate, int verdict, bool interactive)
        : pid_(pid), gate_(gate), verdict_(verdict), interactive_(interactive) {}

    pid_t pid_ = -1;
    // Closed: do not run. A byte: run.
    int gate_ = -1;
    // The errno of a failed execution comes back here.
    int verdict_ = -1;
    bool interactive_ = false;
    bool ended_ = false;
};

}  // namespace rocklock
