#include "daemon/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "client/unix_socket.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds patience_with_ends{10};

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

// -1: it can't be started.
int spawn(const Words& command, const std::string& directory = {}) {
    Words words = command;
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!directory.empty()) {
        ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    }
    pid_t pid = -1;
    const int failed =
        ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ? pid : -1;
}

}  // namespace

Server::Server(Contestant contestant) : contestant_(std::move(contestant)) { start(); }

Server::~Server() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGINT);
    // A virtual machine for Java was seen not to end for as long as one waited.
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
        int status = -1;
        const int pid = spawn(contestant_.prepare);
        if (pid > 0) ::waitpid(pid, &status, 0);
        if (status != 0) {
            why_not_ = contestant_.prepare.front() + " fails";
            return;
        }
    }
    pid_ = spawn(command, contestant_.directory);
    const int fd = pid_ > 0 ? connect_soon(Way::socket) : -1;
    if (fd < 0) {
        why_not_ = "it can't be started";
        return;
    }
    const auto& said = contestant_.makes_queue;
    [[maybe_unused]] const auto size = ::send(fd, said.data(), said.size(), MSG_NOSIGNAL);
    ::close(fd);
}

int Server::connect_soon(Way way) const {
    const bool by_port = contestant_.port != 0 && (way == Way::port || contestant_.socket.empty());
    const auto deadline = Steady::now() + std::chrono::seconds{60};
    while (Steady::now() < deadline) {
        const int fd = by_port ? connect_port(contestant_.port) : connect_unix(contestant_.socket);
        if (fd >= 0) return fd;
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
        std::this_thread::sleep_for(milliseconds{1});
    }
    return -1;
}

double Server::processor_seconds() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
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
