#include "daemon/cli/start_daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/duration_text.hpp"
#include "client/unix_socket.hpp"
#include "daemon/cli/settings.hpp"
#include "shared_memory/descriptor.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

// Recovery of a large store can take long.
constexpr milliseconds max_start{60'000};

Error cannot_start(const Error& why) {
    return {why.code, "cannot start a daemon: " + why.message +
                          "; run `rocklock serve` to see its error message"};
}

Error cannot_start(const std::string& why) {
    return cannot_start(Error(ErrorCode::unreachable, why));
}

// Returns the path of this program. If its file was replaced by that of another version while it
// runs, returns the path of the new file; if the file was deleted, a path that still starts it.
std::string own_program() {
    constexpr std::string_view deleted = " (deleted)";
    constexpr const char* link = "/proc/self/exe";
    std::array<char, PATH_MAX> buffer{};
    const auto size = ::readlink(link, buffer.data(), buffer.size());
    if (size <= 0) return "rocklock";
    std::string path(buffer.data(), static_cast<std::size_t>(size));
    if (!path.ends_with(deleted) || ::access(path.c_str(), X_OK) == 0) return path;
    path.resize(path.size() - deleted.size());
    return ::access(path.c_str(), X_OK) == 0 ? path : link;
}

// Returns the environment without the variables that `run` sets for its command, because a daemon
// must not keep the credentials of a session.
std::vector<char*> clean_environment() {
    // Set by `run`, or by systemd for the unit that this process runs in. If the variables of
    // systemd were kept, the user's store would be created in the directory of the unit.
    constexpr std::array<std::string_view, 15> of_others = {
        "ROCKLOCK_RESOURCE=", "ROCKLOCK_GRANT=",    "ROCKLOCK_TOKEN=",    "ROCKLOCK_PRINCIPAL=",
        "ROCKLOCK_MODE=",     "ROCKLOCK_SESSION=",  "ROCKLOCK_DEADLINE=", "ROCKLOCK_SOCKET=",
        "STATE_DIRECTORY=",   "RUNTIME_DIRECTORY=", "NOTIFY_SOCKET=",     "WATCHDOG_USEC=",
        "WATCHDOG_PID=",      "LISTEN_FDS=",        "LISTEN_PID="};
    std::vector<char*> kept;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        bool keep = true;
        for (const auto name : of_others) {
            keep = keep && !std::string_view(*variable).starts_with(name);
        }
        if (keep) kept.push_back(*variable);
    }
    kept.push_back(nullptr);
    return kept;
}

// The data of the new process. Prepared before fork(), because the child must not allocate memory.
struct Launch {
    std::string program;
    std::vector<char*> arguments;
    std::vector<char*> environment;
    std::string log;
    int ready_fd = -1;
};

// The daemon reports on descriptor 3 that it is ready; all higher ones are closed.
constexpr int daemon_ready_fd = 3;

[[noreturn]] void become_daemon(const Launch& launch) {
    ::setsid();
    // A second fork: a process that is not a session leader cannot acquire a controlling terminal.
    const auto child = ::fork();
    if (child != 0) ::_exit(child < 0 ? 1 : 0);
    if (::chdir("/") != 0) ::_exit(1);
    const int null = ::open("/dev/null", O_RDWR);
    const int log = ::open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    ::dup2(launch.ready_fd, daemon_ready_fd);
    ::dup2(null, STDIN_FILENO);
    ::dup2(log >= 0 ? log : null, STDOUT_FILENO);
    ::dup2(log >= 0 ? log : null, STDERR_FILENO);
    ::close_range(daemon_ready_fd + 1, UINT_MAX, 0);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGTTOU, SIGTTIN}) {
        ::signal(signal, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(launch.program.c_str(), launch.arguments.data(), launch.environment.data());
    ::_exit(1);
}

// Waits for the line that the daemon writes: "ready", or the reason why it cannot start.
Result<void> wait_until_ready(int fd) {
    std::string line;
    const auto deadline = std::chrono::steady_clock::now() + max_start;
    while (line.empty() || line.back() != '\n') {
        const auto left =
            std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd pipe{fd, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&pipe, 1, static_cast<int>(left.count())) == 0) {
            return cannot_start("it was not ready after one minute");
        }
        std::array<char, 512> buffer{};
        const auto size = ::read(fd, buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return cannot_start("it exited before it was ready");
        line.append(buffer.data(), static_cast<std::size_t>(size));
    }
    line.pop_back();
    if (line == "ready") return {};
    return cannot_start(line);
}

Result<void> launch_daemon(const std::string& directory, const std::string& socket,
                           milliseconds idle_exit) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start(std::strerror(errno));
    const Descriptor ready(ends[0]);
    Descriptor ready_pipe(ends[1]);

    std::vector<std::string> words = {"rocklock",    "serve",
                                      "--socket",    socket,
                                      "--db",        directory + "/db",
                                      "--idle-exit", exact_duration(idle_exit),
                                      "--log-file",  directory + "/daemon.log",
                                      "--ready-fd",  std::to_string(daemon_ready_fd)};
    Launch launch;
    launch.program = own_program();
    for (auto& word : words) launch.arguments.push_back(word.data());
    launch.arguments.push_back(nullptr);
    launch.environment = clean_environment();
    launch.log = directory + "/daemon.log";
    launch.ready_fd = ready_pipe.get();

    const auto child = ::fork();
    if (child < 0) return cannot_start(std::strerror(errno));
    if (child == 0) become_daemon(launch);
    ready_pipe.close();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return wait_until_ready(ready.get());
}

}  // namespace

Result<Start> start_daemon(const std::string& directory, milliseconds idle_exit) {
    const auto socket = directory + "/rocklock.sock";
    if (auto made = make_directories(directory); !made) {
        return cannot_start(made.error());
    }
    const auto path = directory + "/start.lock";
    const Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.get() < 0) {
        const bool forbidden = errno == EACCES || errno == EPERM || errno == EROFS;
        return cannot_start(
            {forbidden ? ErrorCode::read_only : ErrorCode::unreachable,
             "cannot open " + path + ": " + std::strerror(errno) +
                 (forbidden ? "; let this user write there, or set private-directory in the "
                              "configuration file"
                            : "")});
    }
    while (::flock(lock.get(), LOCK_EX) != 0) {
        if (errno != EINTR)
            return cannot_start("cannot lock " + path + ": " + std::strerror(errno));
    }
    if (const int listening = connect_unix(socket); listening >= 0) {
        ::close(listening);
        return Start::was_running;
    }
    auto launched = launch_daemon(directory, socket, idle_exit);
    if (!launched) return std::move(launched).error();
    return Start::started;
}

}  // namespace rocklock
