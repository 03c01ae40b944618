#include "daemon/cli/run/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace rocklock {
namespace {

Error cannot(const std::string& what, int reason) {
    return {ErrorCode::io_error, "cannot " + what + ": " + std::strerror(reason)};
}

}  // namespace

Result<Command> Command::fork_supervisor(std::vector<std::string> words,
                                         const TakeOver& take_over) {
    std::array<int, 2> gate{};
    std::array<int, 2> verdict{};
    std::array<int, 2> channel{};
    if (::pipe2(gate.data(), O_CLOEXEC) != 0 || ::pipe2(verdict.data(), O_CLOEXEC) != 0) {
        return cannot("make a pipe", errno);
    }
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()) != 0) {
        return cannot("make a socket", errno);
    }
    Execution execution{std::move(words), gate[0], verdict[1]};
    const auto pid = ::fork();
    if (pid == 0) {
        // Close the ends of the pipes that belong to `run`. Otherwise the supervisor and the
        // command would keep them open themselves and never notice that `run` has closed them.
        for (const int ours : {gate[1], verdict[0], channel[0]}) ::close(ours);
        supervise(execution, channel[1], take_over);
    }
    const int reason = errno;
    for (const int theirs : {gate[0], verdict[1], channel[1]}) ::close(theirs);
    Command command(pid, gate[1], verdict[0], channel[0], ::isatty(STDIN_FILENO) == 1);
    if (pid < 0) return cannot("fork", reason);
    return command;
}

Result<void> Command::start(const std::vector<std::string>& environment) {
    if (!write_environment(gate_, environment)) return cannot("start the command", errno);
    CommandNotice notice;
    ssize_t size = 0;
    do {
        size = ::recv(channel_, &notice, sizeof notice, 0);
    } while (size < 0 && errno == EINTR);
    if (size != sizeof notice) return cannot("start the command: its supervisor ended", ECHILD);
    if (notice.value < 0) return cannot("fork", -notice.value);
    pid_ = notice.value;
    return {};
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      supervisor_(std::exchange(other.supervisor_, -1)),
      gate_(std::exchange(other.gate_, -1)),
      verdict_(std::exchange(other.verdict_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      interactive_(other.interactive_),
      ended_(other.ended_),
      group_ended_(other.group_ended_),
      changes_(std::move(other.changes_)) {}

Command::~Command() {
    if (gate_ >= 0) ::close(gate_);
    if (verdict_ >= 0) ::close(verdict_);
    if (pid_ > 0 && !ended_) signal_group(SIGKILL);
    dismiss();
    if (channel_ >= 0) ::close(channel_);
    if (supervisor_ > 0) ::waitpid(supervisor_, nullptr, 0);
}

void Command::dismiss() {
    if (channel_ < 0) return;
    const SupervisorOrder order;
    ::send(channel_, &order, sizeof order, MSG_NOSIGNAL);
}

void Command::note_deadline(BootTime deadline) const {
    const SupervisorOrder order{SupervisorOrder::Kind::lease, deadline};
    // If the channel is full, the deadline is dropped. This can happen only while the supervisor is
    // stopped.
    ::send(channel_, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
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
void Command::wait_for_verdict() {
    std::array<pollfd, 2> sources = {{{verdict_, POLLIN, 0}, {channel_, POLLIN, 0}}};
    while (::poll(sources.data(), sources.size(), -1) < 0 || sources[0].revents == 0) {
        receive();
        sources[1].fd = channel_;
        while (!changes_.empty() && changes_.front().kind == Change::Kind::stopped) {
            changes_.pop_front();
            signal_group(SIGCONT);
        }
    }
}

void Command::signal_group(int signal) const {
    if (::kill(-pid_, signal) != 0 && !ended_) ::kill(pid_, signal);
}

// Reads the notices of the supervisor.
void Command::receive() {
    CommandNotice notice;
    while (channel_ >= 0) {
        const auto size = ::recv(channel_, &notice, sizeof notice, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size != sizeof notice) return supervisor_died();
        switch (notice.kind) {
            case CommandNotice::Kind::started:
                break;
            case CommandNotice::Kind::ended:
                changes_.push_back({Change::Kind::ended, notice.value});
                break;
            case CommandNotice::Kind::stopped:
                changes_.push_back({Change::Kind::stopped, notice.value});
                break;
            case CommandNotice::Kind::group_ended:
                group_ended_ = true;
        }
    }
}

// The kernel kills the command when its supervisor dies. Kills the rest of the group, too.
void Command::supervisor_died() {
    ::close(std::exchange(channel_, -1));
    signal_group(SIGKILL);
    group_ended_ = true;
    if (!ended_) changes_.push_back({Change::Kind::ended, SIGKILL});
}

std::optional<Command::Change> Command::poll() {
    receive();
    if (changes_.empty()) return std::nullopt;
    const auto change = changes_.front();
    changes_.pop_front();
    ended_ = ended_ || change.kind == Change::Kind::ended;
    return change;
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
