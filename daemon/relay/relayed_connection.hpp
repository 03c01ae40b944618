// A connection of a local client that is relayed to the manager: the bytes of each side are passed
// to the other side as they are.
//
//     client ──► not yet encrypted ──► manager
//     client ◄── answer of the preface removed ◄── manager
//
// A side is read only if all bytes that were read from it have been passed on. Therefore, a slow
// side slows down the other one, and a connection needs little memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/io_thread.hpp"
#include "daemon/net/socket_report.hpp"
#include "daemon/relay/link_pool.hpp"

namespace rocklock {

// If one side ends its output, the end is passed on, and the other direction continues. If the
// client closes its socket before it has read all responses, or if the relay has received bytes
// that it cannot pass on, the connection to the manager is reset. The manager then knows that the
// client may not have got its last grants.
//
// Threads: runs on its IoThread, which owns it until both sides are closed.
class RelayedConnection : public std::enable_shared_from_this<RelayedConnection> {
public:
    // Takes ownership of the socket of the client, and sends the preface. `ended` is called once,
    // on the thread, after both sides are closed. Thread-safe.
    static void start(int client, std::unique_ptr<Link> link, const std::string& preface,
                      IoThread& thread, std::function<void()> ended);

    RelayedConnection(int client, std::unique_ptr<Link> link, IoThread& thread,
                      std::function<void()> ended);
    RelayedConnection(const RelayedConnection&) = delete;
    RelayedConnection& operator=(const RelayedConnection&) = delete;
    ~RelayedConnection();

private:
    // One of the two sockets, as the thread sees it.
    class Side;

    // The bytes that were read from one side and not yet passed to the other side.
    struct Flow {
        std::string pending;
        std::size_t sent = 0;
        // The end of the input was read.
        bool ended = false;

        bool is_empty() const { return sent == pending.size(); }
        std::string_view rest() const { return std::string_view(pending).substr(sent); }
    };

    void begin(const std::string& preface);
    void client_ready(std::uint32_t events);
    void link_ready(std::uint32_t events);
    void read_client(bool closed);
    void read_link();
    bool take_answer(std::string_view& bytes);
    void write_link();
    void write_client();
    void client_closed();
    void forget_client();
    bool may_read_link() const { return !closed_ && !to_client_.ended && to_client_.is_empty(); }
    void refuse(const std::string& reason);
    void update_interest();
    void close(bool in_order);

    const int client_;
    SocketReport report_;
    std::unique_ptr<Link> link_;
    IoThread& thread_;
    const std::function<void()> ended_;
    Flow to_link_;
    Flow to_client_;
    // The bytes of the manager's answer to the preface, until it is complete.
    std::string answer_;
    bool answered_ = false;
    bool closed_ = false;
    // Whether the client has closed its socket, and whether it had read all output then.
    bool client_gone_ = false;
    bool client_read_all_ = false;
    bool client_watched_ = false;
    std::uint32_t client_interest_ = 0;
    std::uint32_t link_interest_ = 0;
};

}  // namespace rocklock
