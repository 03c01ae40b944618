// A daemon with responses that a test defines, and clients that are connected to it or to a real
// daemon.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/storage/maintenance.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "client/unix_socket.hpp"
#include "database/orders.hpp"
#include "database/served_database.hpp"
#include "database/simulated_database.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::testing::scripted {

inline ConnectOptions soon() {
    ConnectOptions options;
    options.patience = 30s;
    return options;
}

// A served store, and a program that is connected to it.
struct Connected {
    Database store = Database::in_memory().value();
    std::optional<ServedDatabase> server{std::in_place, store, system_clock(), false};
    Database database = Database::connect(server->path(), soon()).value();

    void until_waiting(std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + 30s;
        while (store.statistics().waiting != count) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    }
};

// A daemon that runs the script of a test, one connection after the other.
class ScriptedDaemon {
public:
    explicit ScriptedDaemon(std::function<void(ScriptedDaemon&)> script) {
        const auto address = unix_address(path_).value();
        listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        BOOST_REQUIRE(
            ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        BOOST_REQUIRE(::listen(listener_, 16) == 0);
        thread_ = std::jthread([this, script = std::move(script)] {
            script(*this);
            hang_up();
        });
    }
    ScriptedDaemon(const ScriptedDaemon&) = delete;
    ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;
    ~ScriptedDaemon() {
        ::shutdown(listener_, SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
        ::close(listener_);
    }

    const std::string& path() const { return path_; }
    // Waits until the script has ended.
    void join() { thread_.join(); }

    void accept() {
        connection_ = ::accept(listener_, nullptr, nullptr);
        bytes_.clear();
        send(std::string(frame_greeting));
        while (connection_ >= 0 && bytes_.size() < frame_greeting.size()) receive();
        bytes_.erase(0, frame_greeting.size());
    }
    // Accepts a connection, exchanges the greeting, and answers the first Ping.
    void welcome() {
        accept();
        answer(Pong{});
    }
    // Returns the next call, or nullopt if the client has disconnected. Does not answer calls for
    // notices, like a daemon that has no notices.
    std::optional<Call> next() {
        while (connection_ >= 0) {
            std::string_view rest = bytes_;
            const auto frame = take_frame(rest, max_call_frame_bytes);
            if (!frame) return std::nullopt;
            if (!*frame) {
                receive();
                continue;
            }
            const auto number = (*frame)->number;
            std::optional<Call> call;
            if ((*frame)->kind == FrameKind::call) {
                call = read_call_frame((*frame)->body).value();
            }
            bytes_.erase(0, bytes_.size() - rest.size());
            if (!call || std::holds_alternative<AwaitNotices>(call->body)) continue;
            number_ = number;
            return call;
        }
        return std::nullopt;
    }
    void reply(const Reply& with, milliseconds held = {}) { reply_to(number_, with, held); }
    // Returns the number of the last call.
    std::uint64_t number() const { return number_; }
    void reply_to(std::uint64_t number, const Reply& reply, milliseconds held = {}) {
        std::string bytes;
        append_reply(bytes, number, held, reply);
        send(bytes);
    }
    void refuse(const Error& error) const {
        std::string bytes;
        append_refusal(bytes, number_, error);
        send(bytes);
    }
    std::optional<Call> answer(const Reply& with) {
        auto call = next();
        if (call) reply(with);
        return call;
    }
    // Sends the response of a daemon that has reached its connection limit.
    void turn_away() {
        connection_ = ::accept(listener_, nullptr, nullptr);
        send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        ::shutdown(connection_, SHUT_WR);
        while (connection_ >= 0) receive();
    }
    void hang_up() {
        if (connection_ >= 0) ::close(connection_);
        connection_ = -1;
    }

private:
    void send(const std::string& bytes) const {
        [[maybe_unused]] const auto size =
            ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void receive() {
        char buffer[4096];
        const auto size = ::recv(connection_, buffer, sizeof buffer, 0);
        if (size <= 0) return hang_up();
        bytes_.append(buffer, static_cast<std::size_t>(size));
    }

    const TemporaryDirectory directory_;
    const std::string path_ = directory_ / "socket";
    int listener_ = -1;
    int connection_ = -1;
    std::uint64_t number_ = 0;
    std::string bytes_;
    std::jthread thread_;
};

// Returns the response to the opening of a session with a lease of 30 s. Clients do not use the
// deadline on the daemon's clock.
inline SessionInfo thirty_seconds() {
    SessionInfo session;
    session.id.bytes[0] = 1;
    session.secret.bytes[0] = 2;
    session.lease = session.remaining = 30s;
    session.deadline = BootTime{std::chrono::hours{1'000'000}};
    return session;
}

inline Grant grant_of(std::uint64_t id, std::string resource) {
    Grant grant;
    grant.id = GrantId{id};
    grant.token = Token{id};
    grant.session = thirty_seconds().id;
    grant.locks = {{std::move(resource), Mode::write, false, 0, {}}};
    grant.remaining = 30s;
    grant.deadline = BootTime{std::chrono::hours{1'000'000}};
    return grant;
}

inline SessionInfo one_of(std::uint8_t number, milliseconds lease) {
    auto session = thirty_seconds();
    session.id.bytes[0] = number;
    session.lease = session.remaining = lease;
    return session;
}

// Three sessions that are renewed automatically, in a program without background threads.
struct Three {
    SimulatedClock clock;
    Database database;
    std::vector<Session> sessions;
    std::vector<int> warnings{0, 0, 0};

    Three(const ScriptedDaemon& daemon, milliseconds lease) : database(connect(daemon, clock)) {
        SessionOptions options;
        options.lease = lease;
        for (int& count : warnings) {
            sessions.push_back(database.open_session("ann", options).value());
            sessions.back().on_warning([&count](milliseconds) { ++count; });
        }
    }
    Three(const Three&) = delete;
    Three& operator=(const Three&) = delete;
    ~Three() {
        for (Session& session : sessions) session.detach();
    }
    static Database connect(const ScriptedDaemon& daemon, Clock& clock) {
        ConnectOptions options = soon();
        options.clock = &clock;
        options.background = false;
        return Database::connect(daemon.path(), options).value();
    }
};

inline SessionOptions by_hand() {
    SessionOptions options;
    options.renew = false;
    return options;
}

}  // namespace rocklock::testing::scripted
