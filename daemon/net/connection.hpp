// One accepted socket: reads, lets the conversation answer, writes.
//
// The first byte tells HTTP from frames. A slow or stopped client costs others nothing: nobody
// waits for it, and no more is read from it while it does not take what it was answered.
//
//     reading ──► held up: no room for answers ──► reading
//        │  └───► its turn is over: goes on in the next round
//        ├─ the client sends no more ──► answers what is decided ──► closed
//        └─ what it sends is no protocol ──► discards the rest for a while ──► closed
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/api/status_pages.hpp"
#include "daemon/net/arrival_gate.hpp"
#include "daemon/net/conversation.hpp"
#include "daemon/net/http_conversation.hpp"
#include "daemon/net/idle_connections.hpp"
#include "daemon/net/io_thread.hpp"

namespace rocklock {

// Threads: all of it runs on its thread, which owns it until it is closed.
class Connection final : public IoThread::Served, public std::enable_shared_from_this<Connection> {
public:
    // Who is at the other end, and what of the server it may use, which must outlive it.
    struct Side {
        Caller caller;
        HttpServices site;
        Dispatcher& dispatcher;
        Traffic& traffic;
        // Where it stands until it has asked for something. None: nowhere.
        IdleConnections* idle_connections = nullptr;
        // Where it is counted until its thread serves it. None: nowhere.
        ArrivalGate* arrivals = nullptr;
    };

    // Takes the socket, and has the thread serve it. Thread-safe.
    static std::shared_ptr<Connection> start(int socket, IoThread& thread, const Side& side);

    Connection(int socket, IoThread& thread, const Side& side);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() override;

    // Runs something on its thread. Thread-safe.
    void on_thread(std::function<void()> run) { thread_.post(std::move(run)); }
    // Hangs up soon, unless a whole request has come. Thread-safe.
    void end_if_silent();
    // Whether the client has sent what is not understood yet, and would be if it were read.
    bool has_unread() const;

    void ready(std::uint32_t events) override;
    void go_on() override;
    void send() override;
    void remind() override;

private:
    using Time = IoThread::Time;

    std::shared_ptr<Conversation> begin(char first);
    void read(bool closed, bool failed);
    void take_up(std::string_view bytes);
    void end_of_input();
    void discard();
    void write();
    void sent_all();
    void want_to_send();
    void update_interest();
    void update_busy();
    void remind_in(std::chrono::milliseconds time);
    void hang_up(bool unread);
    void keep_connection();

    const int socket_;
    IoThread& thread_;
    Traffic& traffic_;
    const std::uint32_t uid_;
    const HttpServices services_;
    std::shared_ptr<ClientSession> client_session_;
    Clock& clock_;
    IdleConnections* const idle_connections_;
    // Its number among them; 0: it is none any more.
    std::uint64_t idle_number_ = 0;
    // None until the first byte has come, and when it is closed.
    std::shared_ptr<Conversation> conversation_;
    std::string sending_;
    std::size_t sent_ = 0;
    std::uint32_t interest_ = 0;
    // The thread will call send().
    bool send_pending_ = false;
    // The socket takes no more for now.
    bool blocked_ = false;
    // Reads no more until there is room for answers.
    bool held_up_ = false;
    // The client sends no more: that was read, or seen while nothing was read.
    bool input_over_ = false;
    bool half_closed_ = false;
    bool discarding_ = false;
    bool closed_ = false;
    bool counted_busy_ = false;
    // When it is hung up on; and whether the thread will remind us, then or before.
    std::optional<Time> deadline_;
    bool reminder_pending_ = false;
};

}  // namespace rocklock
