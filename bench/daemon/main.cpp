// bench_daemon: how fast the daemon locks over its socket, in frames, beside servers that people
// use for locks, where they are installed.
//
//     bench_daemon PROGRAM [--quick] [--rounds N] [--seconds S] [--directory DIR] [--only TEXT]
//
// A pair is one acquire and one release of a free resource. Each client is a thread with a
// connection of its own that waits for each answer. In the hand-off, sixteen clients take one
// resource in turns, and each waits in the server's queue. Every server is started here, on Unix
// sockets in a directory of its own, and ended here. Not among them, for want of a client in this
// program: PostgreSQL and etcd.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/unix_socket.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

struct Options {
    std::string program;
    std::size_t rounds = 5;
    milliseconds duration{1000};
    std::string directory = std::filesystem::temp_directory_path().string();
    // Only contestants with this in their name.
    std::string only;
    bool quick = false;
};

[[noreturn]] void give_up(const std::string& why) {
    std::cerr << "bench_daemon: " << why << std::endl;
    std::exit(1);
}

// ---- Servers ----

// A process that is ended with its object.
class Process {
public:
    explicit Process(std::vector<std::string> command) {
        std::vector<char*> arguments;
        for (auto& word : command) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        const int failed =
            ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        if (failed != 0) pid_ = -1;
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
    }
    bool started() const { return pid_ > 0; }

private:
    pid_t pid_ = -1;
};

int connect_soon(const std::string& path) {
    const auto deadline = Steady::now() + std::chrono::seconds{10};
    while (Steady::now() < deadline) {
        if (const int fd = connect_unix(path); fd >= 0) return fd;
        std::this_thread::sleep_for(milliseconds{10});
    }
    return -1;
}

// ---- Clients ----

// A connection to one server, and what a lock is in its language.
class Client {
public:
    explicit Client(int fd) : fd_(fd) {
        if (fd_ < 0) give_up("a server does not listen");
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client() { ::close(fd_); }

    // Locks and unlocks a resource that is free, or waits for it with `waits`.
    virtual void pair(const std::string& resource, bool waits) = 0;

protected:
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (size <= 0) give_up("a server hung up");
            bytes.remove_prefix(static_cast<std::size_t>(size));
        }
    }
    void receive() {
        char buffer[16'384];
        const auto size = ::recv(fd_, buffer, sizeof buffer, 0);
        if (size <= 0) give_up("a server hung up");
        received_.append(buffer, static_cast<std::size_t>(size));
    }
    // Of line-based servers.
    void expect(std::string_view line) {
        std::size_t end = 0;
        while ((end = received_.find("\r\n")) == std::string::npos) receive();
        if (received_.substr(0, end) != line) give_up("unexpected: " + received_);
        received_.erase(0, end + 2);
    }

    std::string received_;

private:
    const int fd_;
};

class RocklockClient final : public Client {
public:
    explicit RocklockClient(int fd) : Client(fd) {
        send(frame_greeting);
        while (received_.size() < frame_greeting.size()) receive();
        received_.erase(0, frame_greeting.size());
        OpenSession open;
        open.principal = "bench";
        const auto session = ask<SessionInfo>({open, {}, {}});
        session_ = session.id;
        secret_ = session.secret;
    }

    void pair(const std::string& resource, bool waits) override {
        Acquire acquire;
        acquire.session = session_;
        acquire.locks.push_back({.resource = resource});
        if (waits) acquire.patience = no_limit;
        const auto grant = ask<Grant>({std::move(acquire), secret_, {}});
        ask<Released>({Release{session_, grant.id}, secret_, {}});
    }

private:
    template <typename Wanted>
    Wanted ask(const Call& call) {
        std::string bytes;
        append_call(bytes, ++number_, call);
        send(bytes);
        for (;;) {
            std::string_view rest = received_;
            const auto frame = take_frame(rest, longest_reply_frame);
            if (!frame) give_up(frame.error().message);
            if (!*frame) {
                receive();
                continue;
            }
            if ((*frame)->kind != FrameKind::reply) {
                give_up(read_refusal_frame((*frame)->body).message);
            }
            auto reply = read_reply_frame(call.body, (*frame)->body);
            if (!reply) give_up(reply.error().message);
            received_.erase(0, received_.size() - rest.size());
            return std::get<Wanted>(std::move(reply->reply));
        }
    }

    std::uint64_t number_ = 0;
    SessionId session_;
    Secret secret_;
};

// SET NX and DEL; a queue is a list from which each takes a token and puts it back.
class RedisClient final : public Client {
public:
    using Client::Client;

    void pair(const std::string& resource, bool waits) override {
        if (waits) {
            send("*3\r\n$5\r\nBLPOP\r\n$4\r\nlock\r\n$1\r\n0\r\n");
            for (const auto* line : {"*2", "$4", "lock", "$1", "1"}) expect(line);
            send("*3\r\n$5\r\nRPUSH\r\n$4\r\nlock\r\n$1\r\n1\r\n");
            take_line();
            return;
        }
        const auto key = "$" + std::to_string(resource.size()) + "\r\n" + resource + "\r\n";
        send("*6\r\n$3\r\nSET\r\n" + key +
             "$5\r\nbench\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n");
        expect("+OK");
        send("*2\r\n$3\r\nDEL\r\n" + key);
        expect(":1");
    }

private:
    void take_line() {
        std::size_t end = 0;
        while ((end = received_.find("\r\n")) == std::string::npos) receive();
        received_.erase(0, end + 2);
    }
};

class MemcachedClient final : public Client {
public:
    using Client::Client;

    void pair(const std::string& resource, bool /*waits*/) override {
        send("add " + resource + " 0 30 5\r\nbench\r\n");
        expect("STORED");
        send("delete " + resource + "\r\n");
        expect("DELETED");
    }
};

// ---- Measuring ----

struct Contestant {
    std::string name;
    std::vector<std::string> command;
    std::function<std::unique_ptr<Client>(int)> client;
    bool has_queue = true;
};

double pairs_a_second(const Contestant& contestant, const std::string& socket, std::size_t clients,
                      milliseconds duration, bool hand_off) {
    std::atomic<bool> start{false};
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> ready{0};
    std::atomic<std::uint64_t> pairs{0};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < clients; ++i) {
        threads.emplace_back([&, i] {
            const auto client = contestant.client(connect_soon(socket));
            const auto resource = hand_off ? std::string("one") : "bench/" + std::to_string(i);
            ++ready;
            while (!start) std::this_thread::yield();
            std::uint64_t own = 0;
            for (; !stop; ++own) client->pair(resource, hand_off);
            pairs += own;
        });
    }
    while (ready < clients) std::this_thread::yield();
    const auto begin = Steady::now();
    start = true;
    std::this_thread::sleep_for(duration);
    stop = true;
    threads.clear();
    const std::chrono::duration<double> took = Steady::now() - begin;
    return static_cast<double>(pairs) / took.count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void run(const Contestant& contestant, const Options& options, const std::string& socket) {
    const Process server(contestant.command);
    const int probe = server.started() ? connect_soon(socket) : -1;
    if (probe < 0) {
        std::printf("%-34s left out: %s can't be started\n", contestant.name.c_str(),
                    contestant.command.front().c_str());
        return;
    }
    if (contestant.name.starts_with("Redis")) {
        const std::string_view token = "*3\r\n$5\r\nRPUSH\r\n$4\r\nlock\r\n$1\r\n1\r\n";
        [[maybe_unused]] const auto size = ::send(probe, token.data(), token.size(), MSG_NOSIGNAL);
    }
    std::printf("%-34s", contestant.name.c_str());
    for (const std::size_t clients : {1U, 16U, 64U, 0U}) {
        const bool hand_off = clients == 0;
        if (hand_off && !contestant.has_queue) {
            std::printf("           –");
            break;
        }
        std::vector<double> rounds;
        for (std::size_t round = 0; round < options.rounds; ++round) {
            rounds.push_back(pairs_a_second(contestant, socket, hand_off ? 16 : clients,
                                            options.duration, hand_off));
        }
        if (hand_off) {
            std::printf(" %9.1f µs", 1e6 / median(rounds));
        } else {
            std::printf(" %9.0f", median(rounds));
        }
        std::fflush(stdout);
    }
    std::printf("\n");
    ::close(probe);
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

template <typename Type>
std::unique_ptr<Client> client_of(int fd) {
    return std::make_unique<Type>(fd);
}

void run_all(const Options& options) {
    const auto place =
        std::filesystem::path(options.directory) / ("bench_daemon." + std::to_string(::getpid()));
    std::filesystem::create_directories(place);
    const auto at = [&](const std::string& name) { return (place / name).string(); };
    std::vector<Contestant> contestants;
    contestants.push_back({"rocklock, memory",
                           {options.program, "serve", "--memory", "--socket", at("s0")},
                           client_of<RocklockClient>});
    for (const auto* durability : {"written", "durable"}) {
        const auto socket = at("s" + std::to_string(contestants.size()));
        contestants.push_back({std::string("rocklock, ") + durability,
                               {options.program, "serve", "--db", at(durability), "--durability",
                                durability, "--socket", socket},
                               client_of<RocklockClient>});
    }
    const std::vector<std::pair<std::string, std::string>> logs = {
        {"no log", "no"}, {"synced every second", "everysec"}, {"always synced", "always"}};
    for (const auto& [name, policy] : logs) {
        const auto socket = at("s" + std::to_string(contestants.size()));
        std::filesystem::create_directories(at("redis-" + policy));
        contestants.push_back(
            {"Redis, " + name,
             {"redis-server", "--port", "0", "--unixsocket", socket, "--dir", at("redis-" + policy),
              "--save", "", "--appendonly", policy == "no" ? "no" : "yes", "--appendfsync", policy},
             client_of<RedisClient>});
    }
    contestants.push_back({"memcached",
                           {"memcached", "-u", "nobody", "-s", at("s6"), "-a", "0777"},
                           client_of<MemcachedClient>,
                           false});
    std::printf("pairs a second                     1 client        16        64  hand-off, 16\n");
    for (std::size_t i = 0; i < contestants.size(); ++i) {
        const auto& contestant = contestants[i];
        if (contestant.name.find(options.only) == std::string::npos) continue;
        if (!installed(contestant.command.front())) {
            std::printf("%-34s left out: %s is not installed\n", contestant.name.c_str(),
                        contestant.command.front().c_str());
            continue;
        }
        run(contestant, options, at("s" + std::to_string(i)));
    }
    std::filesystem::remove_all(place);
}

Options read_options(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool more = i + 1 < words.size();
        if (words[i] == "--quick") {
            options.quick = true;
            options.rounds = 1;
            options.duration = milliseconds{50};
        } else if (words[i] == "--rounds" && more) {
            options.rounds = std::max<std::size_t>(std::stoul(words[++i]), 1);
        } else if (words[i] == "--seconds" && more) {
            options.duration = std::chrono::seconds{std::stol(words[++i])};
        } else if (words[i] == "--only" && more) {
            options.only = words[++i];
        } else if (words[i] == "--directory" && more) {
            options.directory = words[++i];
        } else if (options.program.empty()) {
            options.program = words[i];
        } else {
            give_up("I don't understand " + words[i]);
        }
    }
    if (options.program.empty()) give_up("name the program rocklock first");
    return options;
}

}  // namespace
}  // namespace rocklock::bench

int main(int count, char** words) {
    using namespace rocklock::bench;
    run_all(read_options(std::vector<std::string>(words + 1, words + count)));
    return 0;
}
