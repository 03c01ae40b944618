#include "daemon/cli/run/supervisor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/read_file.hpp"

namespace rocklock {
namespace {

// The only descriptor of the supervisor besides the standard ones.
constexpr int channel_fd = 3;

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (auto& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

// Returns false if the writer has closed the pipe before `size` bytes.
bool read_all(int pipe, char* data, std::size_t size) {
    while (size > 0) {
        const auto count = ::read(pipe, data, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        data += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

// Returns nullopt if `run` has ended without having written it.
std::optional<std::vector<std::string>> read_environment(int gate) {
    std::size_t size = 0;
    if (!read_all(gate, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
    std::string text(size, '\0');
    if (!read_all(gate, text.data(), size)) return std::nullopt;
    std::vector<std::string> variables;
    for (std::size_t begin = 0; begin < size;) {
        const auto end = text.find('\0', begin);
        variables.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return variables;
}

// Runs between fork() and exec().
[[noreturn]] void become_command(const Execution& execution, char* const* words,
                                 char* const* environment, pid_t supervisor) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The supervisor may have died before prctl() took effect.
    if (::getppid() != supervisor) ::_exit(1);
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
    ::execvpe(words[0], words, environment);
    const int reason = errno;
    [[maybe_unused]] const auto written = ::write(execution.verdict, &reason, sizeof reason);
    ::_exit(127);
}

// Returns an empty text if the file cannot be read, for example because its process has ended.
std::string file_text(const std::string& path) {
    constexpr std::size_t max_size = 1 << 20;
    return read_file(path, max_size).value_or("");
}

// Returns the parent of the process, or 0 if there is no such process.
pid_t parent_of(std::string_view pid) {
    const auto stat = file_text("/proc/" + std::string(pid) + "/stat");
    // The state and the parent follow the name in parentheses, which can contain any character.
    const auto name_end = stat.rfind(") ");
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
    pid_t parent = 0;
    std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
    return parent;
}

// Returns whether the process is a daemon that a verb has started: see start_daemon.cpp.
bool is_rocklock_daemon(pid_t pid) {
    using std::string_view_literals::operator""sv;
    const auto words = file_text("/proc/" + std::to_string(pid) + "/cmdline");
    return words.starts_with("rocklock\0serve\0"sv) &&
           words.find("\0--ready-fd\0"sv) != std::string::npos;
}

// Calls visit(name) for each entry of the folder that is a number. Returns false if the folder
// cannot be read.
template <typename Visit>
bool for_each_number(const char* path, const Visit& visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path), ::closedir);
    if (folder == nullptr) return false;
    while (const auto* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        if (name.front() >= '0' && name.front() <= '9') visit(name);
    }
    return true;
}

// Returns the children of this process from the lists that the kernel has for each thread, or
// nullopt if it was built without them.
std::optional<std::vector<pid_t>> listed_children() {
    std::vector<pid_t> found;
    bool complete = true;
    const bool read = for_each_number("/proc/self/task", [&](const std::string& thread) {
        std::ifstream file("/proc/self/task/" + thread + "/children");
        complete = complete && file.is_open();
        for (pid_t pid = 0; file >> pid;) found.push_back(pid);
    });
    if (!read || !complete) return std::nullopt;
    return found;
}

// Returns the children of this process, without Rocklock daemons, or nullopt if /proc cannot be
// read.
std::optional<std::vector<pid_t>> counted_children() {
    auto found = listed_children();
    if (!found) {
        found.emplace();
        const bool read = for_each_number("/proc", [&](const std::string& pid) {
            if (parent_of(pid) == ::getpid()) found->push_back(std::stoi(pid));
        });
        if (!read) return std::nullopt;
    }
    std::erase_if(*found, is_rocklock_daemon);
    return found;
}

// Closes the descriptors of `run`, which must not stay open after its death: pipes, locks on files
// and the connections to the daemon.
void keep_only(int channel) {
    if (channel != channel_fd) ::dup2(channel, channel_fd);
    ::close_range(channel_fd + 1, UINT_MAX, 0);
    ::fcntl(channel_fd, F_SETFD, FD_CLOEXEC);
}

void send_notice(const CommandNotice& notice) {
    // `run` reads nothing while it is stopped. Only notices of stops can be numerous enough to fill
    // the channel. They are then dropped, because the last ones matter little.
    const int flags = notice.kind == CommandNotice::Kind::stopped ? MSG_DONTWAIT : 0;
    ::send(channel_fd, &notice, sizeof notice, MSG_NOSIGNAL | flags);
}

}  // namespace

Descendants::Descendants(pid_t command)
    : command_(command), signals_([] {
          sigset_t child;
          ::sigemptyset(&child);
          ::sigaddset(&child, SIGCHLD);
          return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
      }()) {}

Descendants::~Descendants() { ::close(signals_); }

std::vector<CommandNotice> Descendants::reap() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info) {
    }
    std::vector<CommandNotice> notices;
    int status = 0;
    while (true) {
        const auto pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) break;
        if (pid != command_) continue;
        stopped_by_ = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        if (WIFCONTINUED(status)) continue;
        ended_ = !WIFSTOPPED(status);
        using Kind = CommandNotice::Kind;
        notices.push_back({ended_ ? Kind::ended : Kind::stopped, status});
    }
    if (ended_ && !group_ended_ && !in_group()) {
        group_ended_ = true;
        notices.push_back({CommandNotice::Kind::group_ended, 0});
    }
    return notices;
}

bool Descendants::remain() const {
    siginfo_t any{};
    const int found = ::waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT);
    if (found != 0 && errno == ECHILD) return false;
    if (!ended_) return true;
    const auto children = counted_children();
    return !children || !children->empty();
}

bool Descendants::in_group() const {
    siginfo_t any{};
    return ::waitid(P_PGID, static_cast<id_t>(command_), &any, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void Descendants::signal_group(int signal) const { ::kill(-command_, signal); }

void Descendants::kill_children() const {
    if (!ended_) signal_group(SIGKILL);
    for (const pid_t child : counted_children().value_or(std::vector<pid_t>())) {
        ::kill(child, SIGKILL);
    }
}

void Descendants::end_command() {
    if (ended_) return;
    signal_group(SIGKILL);
    ::waitpid(command_, nullptr, 0);
}

void Descendants::end_stopped_job() const {
    if (stopped_by_ == 0 || stopped_by_ == SIGSTOP) return;
    signal_group(SIGHUP);
    signal_group(SIGCONT);
}

bool write_environment(int gate, const std::vector<std::string>& variables) {
    std::string message(sizeof(std::size_t), '\0');
    // The C string of a variable, with its final NUL.
    for (const auto& variable : variables) message.append(variable.c_str(), variable.size() + 1);
    const std::size_t size = message.size() - sizeof size;
    std::memcpy(message.data(), &size, sizeof size);
    for (std::string_view rest = message; !rest.empty();) {
        const auto count = ::write(gate, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

void supervise(Execution& execution, int channel, const TakeOver& take_over) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "rocklock-keeper");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    // `run` may have inherited that SIGCHLD is ignored. The kernel would then not report the end of
    // a process.
    ::signal(SIGCHLD, SIG_DFL);
    auto variables = read_environment(execution.gate);
    if (!variables) ::_exit(1);
    const auto words = pointers(execution.words);
    const auto environment = pointers(*variables);
    const auto supervisor = ::getpid();
    const auto pid = ::fork();
    if (pid == 0) become_command(execution, words.data(), environment.data(), supervisor);
    const int reason = errno;
    keep_only(channel);
    if (pid < 0) {
        send_notice({CommandNotice::Kind::started, -reason});
        ::_exit(1);
    }
    // Parent and child both call setpgid(). The group then exists before either of them continues.
    ::setpgid(pid, pid);
    Descendants descendants(pid);
    send_notice({CommandNotice::Kind::started, pid});

    std::optional<BootTime> deadline;
    std::array<pollfd, 2> sources = {{{channel_fd, POLLIN, 0}, {descendants.fd(), POLLIN, 0}}};
    while (true) {
        ::poll(sources.data(), sources.size(), -1);
        for (const auto& notice : descendants.reap()) send_notice(notice);
        if (sources[0].revents == 0) continue;
        SupervisorOrder order;
        const auto size = ::recv(channel_fd, &order, sizeof order, MSG_DONTWAIT);
        if (size == sizeof order && order.kind == SupervisorOrder::Kind::dismissed) break;
        if (size == sizeof order) deadline = order.deadline;
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
            take_over(descendants, deadline);
            break;
        }
    }
    descendants.end_command();
    ::_exit(0);
}

}  // namespace rocklock
