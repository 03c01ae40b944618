// The servers that are measured: each is started here, in a directory of its own, and ended here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client.hpp"

namespace rocklock::bench {

// What a contestant is: how its server is started, and what its clients say.
struct Contestant {
    std::string name;
    // What makes its store, run to its end before; may be none.
    std::vector<std::string> prepare{};
    std::vector<std::string> command{};
    // A Unix socket; or a port of this machine.
    std::string socket{};
    int port = 0;
    std::function<std::unique_ptr<Client>(int fd)> client{};
    // What must be said once before clients wait for one resource; may be none.
    std::string makes_queue{};
};

class Server {
public:
    // Errors: a reason why it can't be measured, in `why_not`.
    explicit Server(Contestant contestant);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    const std::string& name() const { return contestant_.name; }
    const std::string& why_not() const { return why_not_; }
    std::unique_ptr<Client> connect() const;

private:
    void start();
    int connect_soon() const;

    const Contestant contestant_;
    std::string why_not_;
    int pid_ = -1;
};

// All that is known here, by name, under a directory that is theirs.
std::vector<Contestant> contestants(const std::string& program, const std::string& directory);

}  // namespace rocklock::bench
