#include "daemon/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "client/unix_socket.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds patience_with_ends{10};
constexpr std::chrono::seconds patience_with_starts{60};
const char* const no_process = "there is no room for another process";
// The exit status that a shell uses if a program cannot be started.
constexpr int not_started = 127;

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int connect_port(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = loopback(port);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

bool installed(const std::string& program) {
    if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
    const char* path = std::getenv("PATH");
    std::string rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const auto end = std::min(rest.find(':'), rest.size());
        if (::access((rest.substr(0, end) + "/" + program).c_str(), X_OK) == 0) return true;
        rest.erase(0, end + 1);
    }
    return false;
}

// Returns the process and its child processes.
std::vector<int> family_of(int pid) {
    std::vector<int> family{pid};
    const std::string number = std::to_string(pid);
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    for (int child = 0; children >> child;) family.push_back(child);
    return family;
}

// Returns the processor time of the child processes that have ended. The kernel reports it in clock
// ticks, usually hundredths of a second (proc(5), cutime and cstime).
double seconds_of_ended(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    // The name is in parentheses and may contain any character, so the text after the last `)` is
    // parsed.
    std::istringstream members(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
    std::string word;
    for (int member = 3; member < 16; ++member) members >> word;
    double user = 0;
    double system = 0;
    members >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Runs in the child after fork(). Does not return.
[[noreturn]] void become(char* const* words, const std::string& directory, pid_t parent) {
    // The kernel kills this process when its parent ends. If the parent ended before this call,
    // getppid() returns another process id.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) std::_Exit(not_started);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    if (directory.empty() || ::chdir(directory.c_str()) == 0) ::execvp(words[0], words);
    std::_Exit(not_started);
}

// Returns the process id, or -1 if fork() fails. Must be called by the main thread:
// PR_SET_PDEATHSIG kills the child when the thread that started it ends.
int spawn(const Words& command, const std::string& directory = {}) {
    Words words = command;
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) become(arguments.data(), directory, parent);
    return child;
}

// Returns whether the process has ended. Does not reap it.
bool has_ended(int pid) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(pid);
    return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

// Returns a readable description of an exit status.
std::string ending_of(int status) {
    if (WIFSIGNALED(status)) {
        return "it was ended by signal " + std::to_string(WTERMSIG(status));
    }
    return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

double processor_seconds_of(int pid) {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double megabytes_of(int pid) {
    std::ifstream lines("/proc/" + std::to_string(pid) + "/smaps_rollup");
    std::string word;
    while (lines >> word) {
        if (word != "Pss:") continue;
        double kilobytes = 0;
        lines >> kilobytes;
        return kilobytes / 1024;
    }
    return 0;
}

Server::Server(Contestant contestant) : contestant_(std::move(contestant)) { start(); }

Server::~Server() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGINT);
    // Some servers do not end after SIGINT: a Java virtual machine once continued indefinitely.
    for (const auto until = Steady::now() + patience_with_ends; Steady::now() < until;) {
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
        std::this_thread::sleep_for(milliseconds{10});
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Server::start() {
    const auto& command = contestant_.command;
    if (command.empty() || !installed(command.front())) {
        why_not_ = "it is not installed";
        return;
    }
    if (!contestant_.prepare.empty()) {
        int status = 0;
        const int pid = spawn(contestant_.prepare);
        if (pid <= 0) {
            why_not_ = no_process;
            return;
        }
        ::waitpid(pid, &status, 0);
        if (status != 0) {
            why_not_ = contestant_.prepare.front() + ": " + ending_of(status);
            return;
        }
    }
    pid_ = spawn(command, contestant_.directory);
    const int fd = pid_ > 0 ? connect_soon(Way::socket) : -1;
    if (fd < 0) {
        why_not_ = why_not_connected();
        return;
    }
    const auto& said = contestant_.makes_queue;
    [[maybe_unused]] const auto size = ::send(fd, said.data(), said.size(), MSG_NOSIGNAL);
    ::close(fd);
    if (!contestant_.check.empty() && !serves_soon()) why_not_ = why_not_connected();
}

// Repeats the check of the contestant until it succeeds. Returns false if it does not succeed
// within `patience_with_starts`.
bool Server::serves_soon() const {
    const auto deadline = Steady::now() + patience_with_starts;
    while (Steady::now() < deadline && !has_ended(pid_)) {
        int status = 0;
        const int pid = spawn(contestant_.check);
        if (pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0) return true;
        std::this_thread::sleep_for(milliseconds{10});
    }
    return false;
}

std::string Server::why_not_connected() {
    if (pid_ <= 0) return no_process;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) {
        return "it does not listen after " + std::to_string(patience_with_starts.count()) + " s";
    }
    pid_ = -1;
    return ending_of(status);
}

int Server::connect_soon(Way way) const {
    const bool by_port = contestant_.port != 0 && (way == Way::port || contestant_.socket.empty());
    const auto deadline = Steady::now() + patience_with_starts;
    while (Steady::now() < deadline) {
        const int fd = by_port ? connect_port(contestant_.port) : connect_unix(contestant_.socket);
        if (fd >= 0) return fd;
        if (has_ended(pid_)) break;
        std::this_thread::sleep_for(milliseconds{1});
    }
    return -1;
}

double Server::processor_seconds() const {
    double sum = seconds_of_ended(pid_);
    for (const int pid : family_of(pid_)) sum += processor_seconds_of(pid);
    return sum;
}

double Server::megabytes() const {
    double sum = 0;
    for (const int pid : family_of(pid_)) sum += megabytes_of(pid);
    return sum;
}

std::size_t Server::resident_bytes() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::unique_ptr<LockClient> Server::connect() const {
    return contestant_.client(connect_soon(Way::socket));
}

}  // namespace rocklock::bench
