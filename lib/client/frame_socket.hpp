// A socket that frames go over, and its two directions: what does not fit is kept, what has come in
// pieces is put together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "wire/call_frame.hpp"

namespace rocklock {

// The socket, and what goes out. Threads: one at a time.
class FrameSocket {
public:
    // Connects and sends the greeting. Errors: unreachable, also where a daemon that hangs takes
    // nobody in until then.
    static Result<FrameSocket> connect(const std::string& path,
                                       std::chrono::steady_clock::time_point deadline);
    FrameSocket() = default;
    FrameSocket(FrameSocket&& other) noexcept;
    FrameSocket& operator=(FrameSocket&& other) noexcept;
    ~FrameSocket();

    int fd() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void close();

    // What is to be sent is appended here.
    std::string& outgoing() { return outgoing_; }
    bool has_outgoing() const { return sent_ < outgoing_.size(); }
    // Sends as much as the socket takes. False: the connection is over.
    bool send_some();

private:
    explicit FrameSocket(int fd) : fd_(fd) {}

    int fd_ = -1;
    std::string outgoing_;
    std::size_t sent_ = 0;
};

// What comes over one connection.
class FrameReceiver {
public:
    // Receives what there is, and hands on every whole frame. Errors: why the connection is over;
    // limit_exceeded when the daemon takes no more connections, and has read nothing from this one.
    Result<void> receive(int fd, const std::function<void(const Frame&)>& take);

private:
    // What has come of a frame that is not whole.
    std::string incoming_;
    bool greeted_ = false;
};

}  // namespace rocklock
