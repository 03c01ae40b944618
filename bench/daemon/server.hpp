// The servers that are measured: each is started here, in a directory of its own, and ended here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client.hpp"

namespace rocklock::bench {

// Of memory, that a process has now; what it shares with others counts in parts.
double megabytes_of(int pid);

// What a contestant is: how its server is started, and what its clients say.
struct Contestant {
    std::string name;
    // What makes its store, run to its end before; may be none.
    std::vector<std::string> prepare{};
    std::vector<std::string> command{};
    // Where it runs; empty: here.
    std::string directory{};
    // A Unix socket; a port of this machine; or both.
    std::string socket{};
    int port = 0;
    // None: it is measured with tables only.
    std::function<std::unique_ptr<LockClient>(int fd)> client{};
    // What must be said once before clients wait for one resource; may be none.
    std::string makes_queue{};
};

// By which of them it is reached. With only one of them that is it.
enum class Way : std::uint8_t { socket, port };

class Server {
public:
    // Errors: a reason why it can't be measured, in `why_not`.
    explicit Server(Contestant contestant);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    const std::string& name() const { return contestant_.name; }
    const std::string& why_not() const { return why_not_; }
    // The path of its Unix socket; empty: none.
    const std::string& socket() const { return contestant_.socket; }
    std::unique_ptr<LockClient> connect() const;
    // A socket that is connected.
    int connect_soon(Way way) const;
    // Of processors, that it and the processes that it started have used so far.
    double processor_seconds() const;
    // Of memory, that they have now; what they share counts once.
    double megabytes() const;
    // Of memory, that it alone has now.
    std::size_t resident_bytes() const;

private:
    void start();
    std::string why_not_connected();

    const Contestant contestant_;
    std::string why_not_;
    int pid_ = -1;
};

// Where the programs are that are not found by themselves.
struct Programs {
    std::string rocklock;
    std::string dynalite = "dynalite";
    // The folder with DynamoDBLocal.jar; empty: none.
    std::string dynamodb_local{};
};

// All that is known here, by name, under a directory that is theirs.
std::vector<Contestant> contestants(const Programs& programs, const std::string& directory);

}  // namespace rocklock::bench
