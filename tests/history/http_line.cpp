#include "history/http_line.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include "client/unix_socket.hpp"

namespace rocklock::proof {

namespace {

using std::chrono::steady_clock;

// Long enough for a build with sanitizers on a busy machine.
constexpr std::chrono::seconds connect_timeout{60};
constexpr std::chrono::milliseconds connect_pause{1};
// Linux gives no port of this range to a client, unless the machine is configured so.
constexpr int first_port = 20'000;
constexpr int ports_end = 32'000;

}  // namespace

int connect_in_time(const std::string& socket) {
    const auto give_up = steady_clock::now() + connect_timeout;
    while (true) {
        const int connection = connect_unix(socket, give_up);
        if (connection >= 0) return connection;
        if (steady_clock::now() > give_up) {
            throw std::runtime_error("no daemon listens at " + socket);
        }
        std::this_thread::sleep_for(connect_pause);
    }
}

std::uint16_t free_port() {
    std::random_device random;
    while (true) {
        const auto port = static_cast<std::uint16_t>(
            first_port + random() % static_cast<unsigned>(ports_end - first_port));
        const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool is_free =
            bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        close(probe);
        if (is_free) return port;
    }
}

int connect_to_port(std::uint16_t port) {
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(connection);
        throw std::runtime_error("no daemon listens at port " + std::to_string(port));
    }
    return connection;
}

HttpLine::~HttpLine() { close(connection_); }

std::optional<HttpAnswer> HttpLine::post(std::string_view target, std::string_view body,
                                         std::string_view headers) {
    std::string request = "POST / HTTP/1.1\r\nHost: " + host_ + "\r\nX-Amz-Target: ";
    request += target;
    request +=
        "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=any/20260101/local/dynamodb/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=00\r\n";
    request += headers;
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    request += body;
    for (std::string_view left(request); !left.empty();) {
        const auto sent = send(connection_, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent <= 0) return std::nullopt;
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return receive();
}

std::optional<HttpAnswer> HttpLine::receive() {
    std::string received;
    std::size_t head = std::string::npos;
    while ((head = received.find("\r\n\r\n")) == std::string::npos) {
        if (!receive_some(received)) return std::nullopt;
    }
    static constexpr std::string_view length_name = "content-length: ";
    std::string lower = received.substr(0, head + 2);
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    const auto at = lower.find(length_name);
    if (at == std::string::npos) throw std::runtime_error("no Content-Length: " + received);
    const auto length = std::stoul(lower.substr(at + length_name.size()));
    const std::size_t begin = head + 4;
    while (received.size() < begin + length) {
        if (!receive_some(received)) return std::nullopt;
    }
    return HttpAnswer{std::stoi(received.substr(received.find(' ') + 1)),
                      received.substr(begin, length)};
}

bool HttpLine::receive_some(std::string& received) {
    std::array<char, 16'384> buffer{};
    const auto size = recv(connection_, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    received.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

}  // namespace rocklock::proof
