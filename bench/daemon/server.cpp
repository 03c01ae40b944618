#include "daemon/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "client/unix_socket.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Words = std::vector<std::string>;

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

// One that nobody uses now.
int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = loopback(0);
    socklen_t size = sizeof address;
    const int failed = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    if (failed != 0) give_up("there is no port");
    return ntohs(address.sin_port);
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
int spawn(const Words& command) {
    Words words = command;
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    const int failed =
        ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ? pid : -1;
}

// Servers that do not run as root run as this user.
const char* unprivileged_user() { return ::geteuid() == 0 ? "postgres" : nullptr; }

Words as_user(const char* user, Words command) {
    if (user == nullptr) return command;
    Words words = {"setpriv", std::string("--reuid=") + user, std::string("--regid=") + user,
                   "--init-groups", "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

// Where Debian keeps the programs of a PostgreSQL server; empty: none.
std::string postgres_programs() {
    std::error_code ignored;
    std::string newest;
    for (const auto& version :
         std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
        const auto folder = version.path() / "bin";
        if (std::filesystem::exists(folder / "initdb")) newest = std::max(newest, folder.string());
    }
    return newest;
}

void add_rocklock(std::vector<Contestant>& all, const std::string& program,
                  const std::string& directory) {
    const auto memory = directory + "/m";
    all.push_back({.name = "Rocklock, in memory",
                   .command = {program, "serve", "--memory", "--socket", memory},
                   .socket = memory,
                   .client = rocklock_client});
    for (const std::string durability : {"written", "durable"}) {
        const auto place = (std::filesystem::path(directory) / durability).string();
        all.push_back({.name = "Rocklock, " + durability,
                       .command = {program, "serve", "--db", place, "--durability", durability,
                                   "--socket", place + ".s"},
                       .socket = place + ".s",
                       .client = rocklock_client});
    }
}

void add_caches(std::vector<Contestant>& all, const std::string& directory) {
    const std::vector<std::pair<std::string, std::string>> logs = {
        {"Redis, no log", "no"},
        {"Redis, synced every second", "everysec"},
        {"Redis, always synced", "always"}};
    for (const auto& [name, policy] : logs) {
        const auto place = (std::filesystem::path(directory) / ("redis-" + policy)).string();
        all.push_back({.name = name,
                       .prepare = {"mkdir", place},
                       .command = {"redis-server", "--port", "0", "--unixsocket", place + "/s",
                                   "--dir", place, "--save", "", "--appendonly",
                                   policy == "no" ? "no" : "yes", "--appendfsync", policy},
                       .socket = place + "/s",
                       .client = redis_client,
                       .makes_queue = "*3\r\n$5\r\nRPUSH\r\n$4\r\nlock\r\n$1\r\n1\r\n"});
    }
    const passwd* self = ::getpwuid(::geteuid());
    const auto socket = directory + "/mc";
    all.push_back(
        {.name = "memcached",
         .command = {"memcached", "-u", self == nullptr ? "root" : self->pw_name, "-s", socket},
         .socket = socket,
         .client = memcached_client});
}

void add_postgres(std::vector<Contestant>& all, const std::string& directory) {
    const auto programs = postgres_programs();
    const auto* user = unprivileged_user();
    for (const bool row : {true, false}) {
        const auto place = directory + (row ? "/postgres-row" : "/postgres-advisory");
        Contestant contestant{
            .name = row ? "PostgreSQL, row lock" : "PostgreSQL, advisory lock",
            .prepare = as_user(user, {programs + "/initdb", "-D", place, "-U", "postgres", "-A",
                                      "trust", "-E", "UTF8", "--no-sync"}),
            .socket = place + "/.s.PGSQL.5432",
            .client = row ? postgres_row_client : postgres_advisory_client};
        if (!programs.empty()) {
            contestant.command =
                as_user(user, {programs + "/postgres", "-D", place, "-c", "listen_addresses=", "-c",
                               "unix_socket_directories=" + place, "-c", "max_connections=200"});
        }
        all.push_back(std::move(contestant));
    }
}

void add_etcd(std::vector<Contestant>& all, const std::string& directory) {
    const int port = free_port();
    const auto url = "http://127.0.0.1:" + std::to_string(port);
    all.push_back(
        {.name = "etcd",
         .command = {"etcd", "--data-dir", directory + "/etcd", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls",
                     "http://127.0.0.1:" + std::to_string(free_port()), "--logger", "zap"},
         .port = port,
         .client = etcd_client});
}

}  // namespace

Server::Server(Contestant contestant) : contestant_(std::move(contestant)) { start(); }

Server::~Server() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGINT);
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
    pid_ = spawn(command);
    const int fd = pid_ > 0 ? connect_soon() : -1;
    if (fd < 0) {
        why_not_ = "it can't be started";
        return;
    }
    const auto& said = contestant_.makes_queue;
    [[maybe_unused]] const auto size = ::send(fd, said.data(), said.size(), MSG_NOSIGNAL);
    ::close(fd);
}

int Server::connect_soon() const {
    const auto deadline = Steady::now() + std::chrono::seconds{20};
    while (Steady::now() < deadline) {
        const int fd = contestant_.port != 0 ? connect_port(contestant_.port)
                                             : connect_unix(contestant_.socket);
        if (fd >= 0) return fd;
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
        std::this_thread::sleep_for(milliseconds{10});
    }
    return -1;
}

std::unique_ptr<Client> Server::connect() const { return contestant_.client(connect_soon()); }

std::vector<Contestant> contestants(const std::string& program, const std::string& directory) {
    std::vector<Contestant> all;
    add_rocklock(all, program, directory);
    add_caches(all, directory);
    add_postgres(all, directory);
    add_etcd(all, directory);
    return all;
}

}  // namespace rocklock::bench
