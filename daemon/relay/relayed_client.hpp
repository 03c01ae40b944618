// A local client of a relay: passes its bytes to a channel of the link to the manager, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/io_thread.hpp"
#include "daemon/net/socket_report.hpp"
#include "daemon/peer/framed_link.hpp"
#include "daemon/peer/link_frames.hpp"

namespace rocklock {

// A side of a channel may send only as many bytes as the other side has given it credit for
// (link_frames.hpp). The relay reads from the client only while it has credit from the manager. It
// gives the manager new credit for bytes only after the client's socket has accepted them.
// Therefore, a slow side slows down the other one, and a client needs little memory.
//
// Threads: runs on its IoThread, which owns it until it is closed.
class RelayedClient final : public IoThread::Served,
                            public std::enable_shared_from_this<RelayedClient> {
public:
    // Takes ownership of the socket. `closed` is called when the client needs no further frames.
    RelayedClient(int socket, ChannelNumber number, std::shared_ptr<FramedLink> link,
                  std::function<void()> closed);
    RelayedClient(const RelayedClient&) = delete;
    RelayedClient& operator=(const RelayedClient&) = delete;
    ~RelayedClient() override;

    // Opens the channel and begins to read the client.
    void start(const ClientIdentity& identity);
    // Handles a frame for this channel. Returns false if the frame is invalid.
    bool receive(const DecodedFrame& frame);
    // The link was lost: the client cannot get further responses.
    void lose_link();

    void ready(std::uint32_t events) override;
    void continue_input() override {}
    void send() override {}
    void remind() override;

private:
    void read(bool closed);
    void write();
    void client_closed();
    void await_close();
    void refuse(std::string_view reason);
    void update_interest();
    void close();

    const int socket_;
    SocketReport report_;
    const ChannelNumber number_;
    const std::shared_ptr<FramedLink> link_;
    IoThread& thread_;
    const std::function<void()> closed_callback_;
    std::uint32_t interest_ = 0;
    bool closed_ = false;

    // The number of bytes that may still be sent to the manager.
    std::uint64_t credit_ = first_credit;
    bool input_ended_ = false;

    // Bytes for the client that its socket has not accepted yet, beginning at `written_`.
    std::string output_;
    std::size_t written_ = 0;
    // The number of bytes that the socket has accepted in total, and since the last credit.
    std::uint64_t total_written_ = 0;
    std::uint64_t consumed_ = 0;
    // `total_written_` at the last call of await_close().
    std::uint64_t seen_written_ = 0;
    // Whether the manager sends no more bytes on this channel.
    bool output_ended_ = false;
    // Whether the manager has closed the connection or refused the client, or the link was lost.
    bool manager_closed_ = false;
};

}  // namespace rocklock
