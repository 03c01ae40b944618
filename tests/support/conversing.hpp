// Conversations of clients with connections of the daemon over real sockets. They test whether a
// grant ends correctly with its connection.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "base/assert.hpp"
#include "daemon/net/connection.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"
#include "support/repetitions.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::conversing {

enum class Way : std::uint8_t { unix_socket, tcp };

struct Sockets {
    int client = -1;
    int server = -1;
};

inline Sockets connected(Way way) {
    std::array<int, 2> both{};
    if (way == Way::unix_socket) {
        ROCKLOCK_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) == 0);
        return {both[0], both[1]};
    }
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    ROCKLOCK_ASSERT(::bind(listener, name, size) == 0 && ::listen(listener, 1) == 0);
    ROCKLOCK_ASSERT(::getsockname(listener, name, &size) == 0);
    Sockets sockets;
    sockets.client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ROCKLOCK_ASSERT(::connect(sockets.client, name, size) == 0);
    sockets.server = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ::close(listener);
    return sockets;
}

// The client's end of a connection, with blocking calls.
class Client {
public:
    explicit Client(int socket) : socket_(socket) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { ::close(socket_); }

    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            ROCKLOCK_ASSERT(sent > 0);
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    // Returns one HTTP response with its body. For a stream of events, returns the header only.
    std::string answer() {
        std::size_t head = std::string::npos;
        while ((head = received_.find("\r\n\r\n")) == std::string::npos) read();
        std::size_t whole = head + 4;
        const auto length = received_.find("Content-Length: ");
        if (length < head) whole += std::stoul(received_.substr(length + 16));
        while (received_.size() < whole) read();
        std::string text = received_.substr(0, whole);
        received_.erase(0, whole);
        return text;
    }
    void read_frame() {
        for (;;) {
            std::string_view rest = received_;
            if (greeted_ || rest.size() >= frame_greeting.size()) {
                if (!greeted_) rest.remove_prefix(frame_greeting.size());
                greeted_ = true;
                if (take_frame(rest, max_reply_frame_bytes).value()) break;
                received_ = rest;
            }
            read();
        }
        received_.clear();
    }
    // Returns one HTTP response, which stays unread in the socket.
    std::string peek_answer() const {
        std::array<char, 4096> buffer{};
        for (;;) {
            const auto size = ::recv(socket_, buffer.data(), buffer.size(), MSG_PEEK);
            ROCKLOCK_ASSERT(size > 0);
            std::string text(buffer.data(), static_cast<std::size_t>(size));
            const auto head = text.find("\r\n\r\n");
            const auto length = text.find("Content-Length: ");
            if (head == std::string::npos || length > head) continue;
            if (text.size() == head + 4 + std::stoul(text.substr(length + 16))) return text;
        }
    }
    void close_sending_side() const { ROCKLOCK_ASSERT(::shutdown(socket_, SHUT_WR) == 0); }
    // Reads until the daemon closes its sending side.
    void read_to_end() const {
        std::array<char, 4096> buffer{};
        while (::recv(socket_, buffer.data(), buffer.size(), 0) > 0) {
        }
    }
    // Blocks until a response arrives, and does not read it.
    void await_answer() const {
        char byte = 0;
        ROCKLOCK_ASSERT(::recv(socket_, &byte, 1, MSG_PEEK) == 1);
    }

private:
    void read() {
        std::array<char, 4096> buffer{};
        const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
        ROCKLOCK_ASSERT(size > 0);
        received_.append(buffer.data(), static_cast<std::size_t>(size));
    }

    const int socket_;
    std::string received_;
    bool greeted_ = false;
};

inline std::string post(const std::string& target, const std::string& body,
                        const std::string& more = "") {
    return "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: " + target +
           "\r\nContent-Type: application/x-amz-json-1.0\r\n" + more +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string acquire_of(const std::string& resource, const std::string& more = "") {
    return post(
        "Rocklock_20261121.Acquire",
        R"({"Principal":"ann","LeaseMs":600000,"Locks":[{"Resource":")" + resource + "\"}]}", more);
}

// Locks `bound/<id>`.
inline std::string begin_edit_of(const std::string& id) {
    return post("Rocklock_20261121.BeginEdit",
                R"({"Principal":"ann","LeaseMs":600000,"Items":[{"TableName":"bound","Key":)"
                R"({"id":{"S":")" +
                    id + R"("}}}]})");
}

class World {
public:
    World() {
        CreateTable table;
        table.table = "orders";
        table.attributes = {{"id", AttributeType::string}};
        table.key = {{"id", KeyType::hash}};
        table.billing = BillingMode::pay_per_request;
        BOOST_REQUIRE(database_.tables().value()->create_table(table));
        table.table = "bound";
        BOOST_REQUIRE(database_.tables().value()->create_table(table));
        BOOST_REQUIRE(database_.tables().value()->bind_table({"bound", "bound/{id}"}));
        for (auto& thread : threads_) thread.start();
    }
    ~World() {
        for (auto& thread : threads_) thread.stop();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Runs one conversation with a new client. The connection of the daemon may still be open
    // afterwards.
    template <typename Talk>
    void converse(Way way, std::size_t number, const Talk& talk) {
        while (traffic_.connections > max_connections) std::this_thread::yield();
        const Sockets sockets = connected(way);
        HttpServices services;
        services.tcp = way == Way::tcp;
        services.tables = &tables_;
        services.edits = &edits_;
        Connection::start(sockets.server, threads_.at(number % threads_.size()),
                          {{4711, 42}, services, dispatcher_, traffic_});
        Client client(sockets.client);
        talk(client);
    }
    // Waits until the daemon has closed all connections.
    void await_end() const {
        while (traffic_.connections > 0) std::this_thread::yield();
    }

    // Opens a session. Returns the JSON members with which a request presents this session, with a
    // comma at the end.
    std::string open_session() {
        OpenSession open;
        open.principal = "ann";
        open.lease = std::chrono::hours{1};
        const auto session = database_.service().ask(open).value();
        return R"("Session":")" + to_string(session.id) + R"(","Secret":")" +
               to_string(session.secret) + R"(",)";
    }

    void take(const std::string& resource) {
        Acquire acquire;
        acquire.opens.emplace().principal = "bob";
        acquire.locks = {{.resource = resource}};
        BOOST_REQUIRE(database_.service().ask(acquire));
    }

    bool is_held(const std::string& resource) {
        return !database_.service().show(resource).value().holders.empty();
    }

private:
    static constexpr int max_connections = 400;

    static std::optional<std::chrono::milliseconds> nothing() { return std::nullopt; }

    Traffic traffic_;
    Database database_ = *Database::in_memory();
    Dispatcher dispatcher_{
        *server_service(database_.service()), nullptr, {"memory", "durable", 4711}};
    ItemEndpoint tables_{*database_.tables().value(), database_.service(), [](const Error&) {}};
    EditEndpoint edits_{*database_.tables().value(), database_.service(), [](const Error&) {}};
    std::array<IoThread, 2> threads_{IoThread(nothing), IoThread(nothing)};
};

// Throws an exception if the response is not a success. Used on threads on which the assertions of
// Boost.Test must not be used.
inline void expect_success(const std::string& answer) {
    if (answer.find("200 OK") == std::string::npos) throw std::runtime_error(answer);
}

inline std::size_t conversations() {
    return testing::runs_all() ? 8'000 : static_cast<std::size_t>(testing::repetitions(1'400, 4));
}

// Runs `count` conversations on four threads. Each one calls `talk` with a client, the resource
// `bound/<number>` and the number of the conversation.
template <typename Talk>
void converse_all(World& world, Way way, const Talk& talk, std::size_t count = conversations()) {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::size_t i = thread; i < count; i += 4) {
                const std::string resource = "bound/" + std::to_string(i);
                world.converse(way, i, [&](Client& client) { talk(client, resource, i); });
            }
        });
    }
    threads.clear();
    world.await_end();
}

// Returns how many of the resources are not held.
inline std::size_t count_revoked(World& world, std::size_t count = conversations()) {
    std::size_t revoked = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!world.is_held("bound/" + std::to_string(i))) ++revoked;
    }
    return revoked;
}

// Returns the number of resources that are not held after all connections were closed.
template <typename Talk>
std::size_t revoked_after(World& world, Way way, const Talk& talk,
                          std::size_t count = conversations()) {
    converse_all(world, way, talk, count);
    return count_revoked(world, count);
}

}  // namespace rocklock::conversing
