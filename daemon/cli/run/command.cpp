#include "daemon/cli/run/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace rocklock {
namespace {

struct Execution {
    std::vector<char*> words;
    std::vector<char*> environment;
    int gate = -1;
    int verdict = -1;
    pid_t parent = -1;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (auto& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

// Runs between fork() and exec(). It may only call async-signal-safe functions, because the parent
// process can have several threads.
[[noreturn]] void become_command(const Execution& execution) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before prctl() took effect.
    if (::getppid() != execution.parent) ::_exit(1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2,
                             SIGTTOU, SIGTTIN, SIGTSTP, SIGXFSZ}) {
        ::signal(signal, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    char go = 0;
    ssize_t size = 0;
    do {
        size = ::read(execution.gate, &go, 1);
    } while (size < 0 && errno == EINTR);
    if (size != 1) ::_exit(1);
    ::execvpe(execution.words.front(), execution.words.data(), execution.environment.data());
    const int reason = errno;
    [[maybe_unused]] const auto written = ::write(execution.verdict, &reason, sizeof reason);
    ::_exit(127);
}

}  // namespace

Result<Command> Command::prepare(std::vector<std::string> words,
                                 std::vector<std::string> environment) {
    std::array<int, 2> gate{};
    std::array<int, 2> verdict{};
    if (::pipe2(gate.data(), O_CLOEXEC) != 0 || ::pipe2(verdict.data(), O_CLOEXEC) != 0) {
        return Error(ErrorCode::io_error,
                     std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    const Execution execution{pointers(words), pointers(environment), gate[0], verdict[1],
                              ::getpid()};
    const bool interactive = ::isatty(STDIN_FILENO) == 1;
    const auto pid = ::fork();
    if (pid == 0) {
        // Otherwise the child would keep its own pipe open and never see its end.
        ::close(gate[1]);
        become_command(execution);
    }
    ::close(gate[0]);
    ::close(verdict[1]);
    if (pid < 0) {
        const int reason = errno;
        ::close(gate[1]);
        ::close(verdict[0]);
        return Error(ErrorCode::io_error, std::string("cannot fork: ") + std::strerror(reason));
    }
    // Parent and child both call setpgid(). The group then exists before either of them continues.
    ::setpgid(pid, pid);
    return Command(pid, gate[1], verdict[0], interactive);
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      gate_(std::exchange(other.gate_, -1)),
      verdict_(std::exchange(other.verdict_, -1)),
      interactive_(other.interactive_),
      ended_(other.ended_) {}

Command::~Command() {
    if (gate_ >= 0) ::close(gate_);
    if (verdict_ >= 0) ::close(verdict_);
    if (pid_ > 0 && !ended_) {
        signal_group(SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

int Command::go() {
    give_terminal();
    const char byte = 'g';
    [[maybe_unused]] const auto written = ::write(gate_, &byte, 1);
    ::close(std::exchange(gate_, -1));
    int reason = 0;
    ssize_t size = 0;
    do {
        wait_for_verdict();
        size = ::read(verdict_, &reason, sizeof reason);
    } while (size < 0 && errno == EINTR);
    ::close(std::exchange(verdict_, -1));
    return size == sizeof reason ? reason : 0;
}

// Waits until execve() has succeeded or failed. A Ctrl-Z can stop the child before that. Because no
// other code continues it then, this loop sends SIGCONT.
void Command::wait_for_verdict() const {
    constexpr int period_ms = 20;
    pollfd verdict{verdict_, POLLIN, 0};
    while (::poll(&verdict, 1, period_ms) == 0) {
        siginfo_t stopped{};
        const int found = ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG);
        if (found == 0 && stopped.si_pid == pid_) signal_group(SIGCONT);
    }
}

void Command::signal_group(int signal) const {
    if (::kill(-pid_, signal) != 0 && !ended_) ::kill(pid_, signal);
}

std::optional<Command::Change> Command::poll() {
    if (ended_) return std::nullopt;
    int status = 0;
    const auto pid = ::waitpid(pid_, &status, WNOHANG | WUNTRACED);
    if (pid != pid_) return std::nullopt;
    if (WIFSTOPPED(status)) return Change{Change::Kind::stopped, status};
    ended_ = true;
    return Change{Change::Kind::ended, status};
}

bool Command::group_alive() const {
    while (true) {
        const auto pid = ::waitpid(-pid_, nullptr, WNOHANG);
        if (pid == 0) return true;
        if (pid < 0 && errno != EINTR) return false;
    }
}

bool Command::in_foreground() const {
    return interactive_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

// If this process is in the background, tcsetpgrp() would stop it.
void Command::give_terminal() const {
    if (in_foreground()) ::tcsetpgrp(STDIN_FILENO, pid_);
}

void Command::take_terminal() const {
    // If another group is in the foreground, the terminal is not ours to take.
    if (!interactive_ || ::tcgetpgrp(STDIN_FILENO) != pid_) return;
    // A process in the background that calls tcsetpgrp() is stopped unless it ignores SIGTTOU.
    const auto before = ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::signal(SIGTTOU, before);
}

}  // namespace rocklock
