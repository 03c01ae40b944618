// The servers that are measured. A Server starts one server process in a separate directory, and
// stops it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client.hpp"

namespace rocklock::bench {

// Returns the memory of a process in megabytes, or 0 if it is unknown. If n processes share a page,
// one n-th of the page counts for each of them (Pss).
double megabytes_of(int pid);
// Returns the processor time that a process has used so far, or 0 if it is unknown.
double processor_seconds_of(int pid);

// The description of a server: the command that starts it, and the client for its protocol.
struct Contestant {
    std::string name;
    // A command that creates the store and must end successfully before `command` starts. May be
    // empty.
    std::vector<std::string> prepare{};
    std::vector<std::string> command{};
    // A command that ends successfully as soon as the server serves requests, if the server accepts
    // connections earlier. May be empty.
    std::vector<std::string> check{};
    // The working directory of the server. If it is empty, the server has that of this process.
    std::string directory{};
    // The server listens on a Unix socket, on a local port, or on both.
    std::string socket{};
    int port = 0;
    // Null if the server is measured with tables only.
    std::function<std::unique_ptr<LockClient>(int fd)> client{};
    // Bytes that are sent once, after the start, so that clients can wait for one resource. For
    // Redis, they are the request that adds the element to the list. May be empty.
    std::string makes_queue{};
};

// The transport that a client uses. If the server has only one transport, clients use that
// transport.
enum class Way : std::uint8_t { socket, port };

class Server {
public:
    // Starts the server. If it cannot be started, why_not() returns the reason.
    explicit Server(Contestant contestant);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    const std::string& name() const { return contestant_.name; }
    const std::string& why_not() const { return why_not_; }
    // Returns the path of the server's Unix socket, or an empty path if it has none.
    const std::string& socket() const { return contestant_.socket; }
    // Returns the process id of the server.
    int pid() const { return pid_; }
    std::unique_ptr<LockClient> connect() const;
    // Returns a connected socket, or -1 if the server ends or does not listen in time.
    int connect_soon(Way way) const;
    // Returns the processor time that the server and its child processes have used so far.
    double processor_seconds() const;
    // Returns the current memory of the server and its child processes. Pages that these processes
    // share are counted once.
    double megabytes() const;
    // Returns the resident memory of the server process alone.
    std::size_t resident_bytes() const;

private:
    void start();
    bool serves_soon() const;
    std::string why_not_connected();

    const Contestant contestant_;
    std::string why_not_;
    int pid_ = -1;
};

// The paths of the programs that have no fixed name.
struct Programs {
    std::string rocklock;
    std::string dynalite = "dynalite";
    // The folder that contains DynamoDBLocal.jar. If it is empty, DynamoDB Local is not measured.
    std::string dynamodb_local{};
};

// Returns the descriptions of all servers that can be measured. The servers store their data in
// `directory`, which no other program may use.
std::vector<Contestant> contestants(const Programs& programs, const std::string& directory);

}  // namespace rocklock::bench
