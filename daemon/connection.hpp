// One accepted socket: reads, lets the conversation answer, writes.
//
// The first byte tells HTTP from frames. A slow or stopped client costs others nothing: nobody
// waits for it, and no more is read from it while it does not take what it was answered.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "daemon/conversation.hpp"
#include "daemon/http_conversation.hpp"
#include "daemon/places.hpp"

namespace rocklock {

// Threads: all of it runs on its strand.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    using Socket = boost::asio::generic::stream_protocol::socket;
    using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

    // Who is at the other end, and what of the server it may use, which must outlive it.
    struct Side {
        Caller caller;
        HttpSite site;
        Dispatcher& dispatcher;
        Traffic& traffic;
    };

    Connection(Socket socket, Strand strand, const Side& side);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    void start();
    // Runs something on the strand.
    void on_strand(std::function<void()> run);
    // Whether the client has sent what is not understood yet, and would be if it were read.
    bool has_unread() const;

private:
    boost::asio::awaitable<void> read_loop();
    boost::system::error_code read_some();
    std::shared_ptr<Conversation> begin(char first);
    boost::asio::awaitable<void> wait_for_room();
    void mind_hang_up();
    boost::asio::awaitable<void> discard_rest();
    void write();
    void written(std::size_t size, bool failed);
    void drop_if_stalled();
    void update_busy();
    void hang_up(bool unread);

    Socket socket_;
    Strand strand_;
    Traffic& traffic_;
    const HttpSite site_;
    std::shared_ptr<Peer> peer_;
    Clock& clock_;
    // None until the first byte has come.
    std::shared_ptr<Conversation> conversation_;
    std::string sending_;
    std::size_t sent_ = 0;
    bool writing_ = false;
    bool closed_ = false;
    bool counted_busy_ = false;
    // Reads no more until there is room for answers.
    bool held_up_ = false;
    // Its client was seen to send no more, while nothing was read from it.
    bool half_closed_ = false;
    // Runs while it is held up.
    boost::asio::steady_timer look_after_;
    // Never expires: cancelled to wake whoever waits for the output to be sent.
    boost::asio::steady_timer drained_;
    // Runs while a reader of events has something to take.
    boost::asio::steady_timer stalled_;
};

}  // namespace rocklock
