// A blocking HTTP connection to a daemon, over its Unix socket or over TCP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock::proof {

// The beginning of X-Amz-Target for the operations of DynamoDB.
inline constexpr const char* dynamodb_target = "DynamoDB_20120810.";

struct HttpAnswer {
    int status = 0;
    std::string body;
};

// Connects to a Unix socket, and retries for up to a minute while no daemon listens there. Returns
// the descriptor. Errors: std::runtime_error.
int connect_in_time(const std::string& socket);
// Returns a random port of 127.0.0.1 on which no program listens. The system does not use it for an
// outgoing connection, so that a daemon that was killed can listen on it again.
std::uint16_t free_port();
// Connects to a port of 127.0.0.1. Errors: std::runtime_error.
int connect_to_port(std::uint16_t port);

// Threads: one at a time.
class HttpLine {
public:
    // Takes ownership of a connected socket. `host` is the Host header.
    explicit HttpLine(int connection, std::string host = "x")
        : connection_(connection), host_(std::move(host)) {}
    HttpLine(const HttpLine&) = delete;
    HttpLine& operator=(const HttpLine&) = delete;
    ~HttpLine();

    // Sends a request and waits for its response. `headers` are complete lines, each of which ends
    // with CR LF. Returns nullopt if the daemon has closed the connection.
    std::optional<HttpAnswer> post(std::string_view target, std::string_view body,
                                   std::string_view headers = {});

private:
    std::optional<HttpAnswer> receive();
    bool receive_some(std::string& received);

    int connection_;
    std::string host_;
};

}  // namespace rocklock::proof
