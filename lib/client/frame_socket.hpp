// A connection that sends and receives frames, the messages of the binary protocol, over a socket
// or in shared memory. Bytes that the connection does not accept are kept until they can be sent.
// Frames that arrive in pieces are assembled.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/result.hpp>

#include "shared_memory/shared_connection.hpp"
#include "wire/call_frame.hpp"

namespace rocklock {

// A connection and its outgoing bytes. Threads: one thread at a time.
class FrameSocket {
public:
    // Connects, and queues the greeting of the protocol as the first outgoing bytes. Fails with
    // unreachable if no daemon listens on `path`, or if the queue of the listening socket is still
    // full at `deadline`.
    static Result<FrameSocket> connect(const std::string& path,
                                       std::chrono::steady_clock::time_point deadline);
    FrameSocket() = default;
    FrameSocket(FrameSocket&& other) noexcept;
    FrameSocket& operator=(FrameSocket&& other) noexcept;
    ~FrameSocket();

    int fd() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void close();

    // Returns the queue of outgoing bytes, to which callers append.
    std::string& outgoing() { return outgoing_; }
    bool has_outgoing() const { return sent_ < outgoing_.size(); }
    // Sends as many queued bytes as the socket or the shared memory accepts. Returns false if the
    // connection is lost.
    bool send_some();
    // From now on, sends in shared memory.
    void use_memory(std::shared_ptr<SharedClientEnd> memory) { memory_ = std::move(memory); }

    // Facts that decide whether the client asks for shared memory.
    struct Sharing {
        // The number of calls that were sent over the connection.
        std::uint32_t calls = 0;
        // Whether the manager has answered to a Ping that it supports shared memory.
        bool offered = false;
        // Whether the client has asked for shared memory, or the manager does not support it.
        bool over = false;
    };
    Sharing& sharing() { return sharing_; }

private:
    explicit FrameSocket(int fd) : fd_(fd) {}

    ssize_t send(std::string_view bytes);

    int fd_ = -1;
    // Null if the connection uses only the socket.
    std::shared_ptr<SharedClientEnd> memory_;
    Sharing sharing_;
    std::string outgoing_;
    std::size_t sent_ = 0;
};

// Assembles the frames that arrive on one connection.
class FrameReceiver {
public:
    // Receives the available bytes, and calls `take` for each complete frame. Errors: unreachable,
    // with the reason, if the connection is lost; limit_exceeded, with the reason, if the daemon
    // has refused the connection, because a limit of connections is reached or because it is a
    // relay that cannot reach its manager. In this case, the daemon has not read any bytes of this
    // connection.
    Result<void> receive(int fd, const std::function<void(const Frame&)>& take);

    // Returns the shared memory in which the connection continues, or null. The daemon has passed
    // it over the socket, because the client has asked for it.
    const std::shared_ptr<SharedClientEnd>& memory() const { return memory_; }

private:
    ssize_t receive_bytes(int fd, std::span<char> buffer);
    // Returns the error of a connection that has ended.
    Error ended(const std::string& why) const;
    // Takes the greeting of the daemon, which must not have been taken before, from the front of
    // the received bytes. Returns an error if the daemon has refused the connection. If the bytes
    // are incomplete, takes nothing.
    Result<void> take_greeting(std::string_view& bytes);

    // The received part of an incomplete frame, or of the first response.
    std::string incoming_;
    bool greeted_ = false;
    std::shared_ptr<SharedClientEnd> memory_;
    // Whether the socket was read to its end after the daemon had begun to write to the memory.
    bool socket_read_ = false;
};

}  // namespace rocklock
