// Connections over real sockets: the grants that a client keeps when it closes its connection.
#include "daemon/net/connection.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "base/assert.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"
#include "wire/call_frame.hpp"

namespace {

using namespace rocklock;
using std::chrono::steady_clock;

enum class Way : std::uint8_t { unix_socket, tcp };

struct Sockets {
    int client = -1;
    int server = -1;
};

Sockets connected(Way way) {
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
    // Returns one HTTP response, and leaves it unread.
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

std::string post(const std::string& target, const std::string& body, const std::string& more = "") {
    return "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: " + target +
           "\r\nContent-Type: application/x-amz-json-1.0\r\n" + more +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string acquire_of(const std::string& resource, const std::string& more = "") {
    return post(
        "Rocklock_20261121.Acquire",
        R"({"Principal":"ann","LeaseMs":600000,"Locks":[{"Resource":")" + resource + "\"}]}", more);
}

// Locks `bound/<id>`.
std::string begin_edit_of(const std::string& id) {
    return post("Rocklock_20261121.BeginEdit",
                R"({"Principal":"ann","LeaseMs":600000,"Items":[{"TableName":"bound","Key":)"
                R"({"id":{"S":")" +
                    id + R"("}}}]})");
}

std::string item_call(const std::string& operation, const std::string& rest) {
    return post("DynamoDB_20120810." + operation, R"({"TableName":"orders",)" + rest + "}",
                "Authorization: AWS4-HMAC-SHA256 Credential=x/20261121/eu/dynamodb/aws4_request, "
                "SignedHeaders=host, Signature=x\r\nX-Amz-Date: 20261121T000000Z\r\n");
}

// The requests that a client sends after the response to its Acquire.
const std::array<std::string, 7>& later_requests() {
    static const std::array<std::string, 7> requests{
        item_call("PutItem", R"("Item":{"id":{"S":"1"}})"),
        item_call("GetItem", R"("Key":{"id":{"S":"1"}})"),
        item_call(
            "Query",
            R"("KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"1"}})"),
        post("Rocklock_20261121.BeginEdit", R"({"Items":[{"TableName":"nothing"}]})"),
        post("Rocklock_20261121.ListLocks", "{}"),
        "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    return requests;
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

    // Runs one conversation with a new client. The daemon may close its end later.
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

    // Opens a session. Returns the members that present it, with a comma after the last one.
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

// Runs on other threads, where the assertions of Boost.Test must not be used.
void expect_success(const std::string& answer) {
    if (answer.find("200 OK") == std::string::npos) throw std::runtime_error(answer);
}

std::size_t conversations() { return std::getenv("ROCKLOCK_TEST_ALL") != nullptr ? 8'000 : 1'400; }

// Runs `count` conversations on four threads, which use each of the later requests in turn. Each is
// about the resource `bound/<number>`. Returns the number of revoked grants.
template <typename Talk>
std::size_t revoked_after(World& world, Way way, const Talk& talk,
                          std::size_t count = conversations()) {
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
    std::size_t revoked = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!world.is_held("bound/" + std::to_string(i))) ++revoked;
    }
    return revoked;
}

// Returns the value of a string or a number in a response.
std::string member_of(const std::string& answer, const std::string& name) {
    const auto found = answer.find('"' + name + "\":");
    ROCKLOCK_ASSERT(found != std::string::npos);
    auto begin = found + name.size() + 3;
    if (answer[begin] == '"') ++begin;
    return answer.substr(begin, answer.find_first_of("\",}", begin) - begin);
}

// A grant of `bound/1`, as the response shows it.
struct Known {
    explicit Known(const std::string& answer)
        : session(member_of(answer, "Session")),
          secret(member_of(answer, "Secret")),
          grant(member_of(answer, "Grant")),
          token(member_of(answer, "Token")) {}

    // A call of the lock API that presents the session. `more` are further members.
    std::string call(const std::string& verb, const std::string& more = "") const {
        return post("Rocklock_20261121." + verb,
                    R"({"Session":")" + session + R"(","Secret":")" + secret + '"' + more + "}");
    }
    // A call for tables that presents the session and, if requested, the token.
    std::string item(const std::string& operation, const std::string& body, bool with_token) const {
        return post("DynamoDB_20120810." + operation, R"({"TableName":"bound",)" + body + "}",
                    "Authorization: AWS4-HMAC-SHA256 "
                    "Credential=x/20261121/eu/dynamodb/aws4_request, SignedHeaders=host, "
                    "Signature=x\r\nX-Amz-Date: 20261121T000000Z\r\nX-Rocklock-Session: " +
                        session + ":" + secret + "\r\n" +
                        (with_token ? "X-Rocklock-Token: " + token + "\r\n" : ""));
    }

    std::string session;
    std::string secret;
    std::string grant;
    std::string token;
};

const auto put_body = R"("Item":{"id":{"S":"1"}})";

}  // namespace

BOOST_AUTO_TEST_SUITE(a_grant_that_was_answered)

BOOST_AUTO_TEST_CASE(stays_when_its_client_reads_the_answer_and_closes) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_has_read_two_answers_and_closes) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
            client.send(later_requests().at(i / 4 % later_requests().size()));
            client.answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_leaves_the_answer_to_a_later_request_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            client.answer();
            client.send(later_requests().at(i / 4 % later_requests().size()));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_speaks_frames) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            std::string bytes(frame_greeting);
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
            bytes.clear();
            append_call(bytes, 2, {ListLocks{}, {}, {}});
            client.send(bytes);
            client.read_frame();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(is_released_if_its_client_does_not_read_it) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

BOOST_AUTO_TEST_CASE(is_released_if_its_client_sent_the_next_request_before_the_answer) {
    // Both requests arrive in one piece, so the second one does not confirm the response to the
    // first.
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource) + later_requests().at(4));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

// A second request that joins the grant, and whose answer is lost, must not release it.
BOOST_AUTO_TEST_CASE(stays_when_its_session_joins_it_and_leaves_that_answer_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const std::string session = world.open_session();
        for (std::size_t i = 0; i < 50; ++i) {
            const std::string resource = "r" + std::to_string(i);
            const auto acquire = [&](const std::string& held) {
                return post("Rocklock_20261121.Acquire", "{" + session + R"("Held":")" + held +
                                                             R"(","Locks":[{"Resource":")" +
                                                             resource + "\"}]}");
            };
            world.converse(way, i, [&](Client& client) {
                client.send(acquire("refuse"));
                expect_success(client.answer());
            });
            world.converse(way, i, [&](Client& client) {
                client.send(acquire("join"));
                client.await_answer();
            });
        }
        world.await_end();
        for (std::size_t i = 0; i < 50; ++i) BOOST_TEST(world.is_held("r" + std::to_string(i)));
    }
}

// The client peeks at the response, so the socket reports it as unread.
BOOST_AUTO_TEST_CASE(stays_when_a_call_on_another_connection_shows_that_its_client_knows_it) {
    const std::vector<std::function<std::string(const Known&)>> calls{
        [](const Known& at) { return at.item("PutItem", put_body, true); },
        [](const Known& at) { return at.item("PutItem", put_body, false); },
        [](const Known& at) { return at.item("GetItem", R"("Key":{"id":{"S":"1"}})", true); },
        [](const Known& at) {
            return at.call("Convert", R"(,"Mode":"exclusive","Grant":)" + at.grant);
        },
        [](const Known& at) {
            return at.call("SaveEdit", R"(,"Token":)" + at.token +
                                           R"(,"TransactItems":[{"Put":{"TableName":"bound",)" +
                                           put_body + "}}]");
        },
        [](const Known& at) {
            return at.call("Acquire", R"(,"Held":"join","Locks":[{"Resource":"bound/1"}])");
        },
    };
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const auto& call : calls) {
            World world;
            const auto session = world.open_session();
            world.converse(way, 0, [&](const Client& client) {
                client.send(post("Rocklock_20261121.Acquire",
                                 "{" + session + R"("Locks":[{"Resource":"bound/1"}]})"));
                // The response has no secret, because the session was opened before.
                const Known known("{" + session + client.peek_answer());
                world.converse(way, 1, [&](Client& other) {
                    other.send(call(known));
                    const auto answer = other.answer();
                    BOOST_TEST(answer.find("200 OK") != std::string::npos, answer);
                });
            });
            world.await_end();
            BOOST_TEST(world.is_held("bound/1"));
        }
    }
}

BOOST_AUTO_TEST_CASE(stays_when_the_session_that_was_opened_for_it_is_presented_elsewhere) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const std::string verb : {"RenewSession", "ShowSession"}) {
            World world;
            world.converse(way, 0, [&](const Client& client) {
                client.send(acquire_of("bound/1"));
                const Known known(client.peek_answer());
                world.converse(way, 1, [&](Client& other) {
                    other.send(known.call(verb));
                    expect_success(other.answer());
                });
            });
            world.await_end();
            BOOST_TEST(world.is_held("bound/1"));
        }
    }
}

// A renewal shows that a client of the session is alive, but not that it knows the grant.
BOOST_AUTO_TEST_CASE(is_given_back_when_its_session_is_only_renewed_elsewhere) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto session = world.open_session();
        world.converse(way, 0, [&](const Client& client) {
            client.send(post("Rocklock_20261121.Acquire",
                             "{" + session + R"("Locks":[{"Resource":"bound/1"}]})"));
            const Known known("{" + session + client.peek_answer());
            world.converse(way, 1, [&](Client& other) {
                other.send(known.call("RenewSession"));
                expect_success(other.answer());
            });
        });
        world.await_end();
        BOOST_TEST(!world.is_held("bound/1"));
    }
}

// The daemon closes the connection first, so only a client that closes its socket shows whether it
// has read the response.
BOOST_AUTO_TEST_CASE(follows_the_client_when_the_daemon_closes_the_connection) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const bool reads : {false, true}) {
            World world;
            const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
                client.send(acquire_of(resource, "Connection: close\r\n"));
                if (!reads) return client.await_answer();
                expect_success(client.answer());
                // Some clients wait for the end of the output.
                if (i % 2 == 0) client.read_to_end();
            };
            BOOST_TEST(revoked_after(world, way, talk) == (reads ? 0U : conversations()));
        }
    }
}

BOOST_AUTO_TEST_CASE(follows_the_client_that_closes_its_sending_side_first) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const bool reads : {false, true}) {
            World world;
            const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
                client.send(acquire_of(resource));
                client.await_answer();
                client.close_sending_side();
                if (!reads) return;
                expect_success(client.answer());
                if (i % 64 == 0) client.read_to_end();
            };
            BOOST_TEST(revoked_after(world, way, talk) == (reads ? 0U : conversations()));
        }
    }
}

// The response is sent after the client has closed its socket.
BOOST_AUTO_TEST_CASE(is_given_back_when_its_client_closes_before_the_answer) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            const auto id = resource.substr(resource.find('/') + 1);
            client.send(i % 2 == 0 ? begin_edit_of(id) : acquire_of(resource));
            // A random part of the work of the daemon is done before the client closes.
            for (std::size_t spins = i % 50 * 200; spins > 0; --spins) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

BOOST_AUTO_TEST_CASE(is_given_back_when_invalid_input_precedes_an_unread_answer) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource) + "invalid\r\n\r\n");
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

// The response to an incomplete or invalid request is left unread, not the one that was read.
BOOST_AUTO_TEST_CASE(stays_when_the_answer_to_an_incomplete_request_is_left_unread) {
    const std::array<std::string, 4> requests{
        post("Rocklock_20261121.ListLocks", "", "Expect: 100-continue\r\n"),
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        "invalid\r\n\r\n",
    };
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
            auto request = requests.at(i / 4 % requests.size());
            const auto length = request.find("Content-Length: 0");
            if (length != std::string::npos) request.replace(length, 17, "Content-Length: 2");
            client.send(request);
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_the_answer_to_an_invalid_frame_is_left_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            std::string bytes(frame_greeting);
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
            client.send(std::string(64, '\xFF'));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

// After the client has closed its socket, a response to an earlier call resets the connection.
BOOST_AUTO_TEST_CASE(stays_when_a_response_arrives_after_its_client_has_closed) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        world.take("taken");
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            Acquire waiting = acquire;
            waiting.locks = {{.resource = "taken"}};
            waiting.patience = no_limit;
            std::string bytes(frame_greeting);
            append_call(bytes, 2, {waiting, {}, {}});
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
