// What is said on one connection: bytes in, bytes out.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/net/stream_positions.hpp"

namespace rocklock {

// With more answers than this ready or on their way, no further call is taken up.
inline constexpr std::size_t max_unsent = 64u << 10;

// For so long what has come is taken up without a pause, so that others have their turn.
class TimeSlice {
public:
    // Asked before each request. Most who send have sent one, which needs no look at the time.
    bool over() {
        if (std::exchange(first_, false)) return false;
        const auto now = std::chrono::steady_clock::now();
        if (!end_) end_ = now + length;
        return now >= *end_;
    }

private:
    static constexpr std::chrono::microseconds length{200};
    bool first_ = true;
    std::optional<std::chrono::steady_clock::time_point> end_;
};

// Threads: one at a time.
class Conversation {
public:
    Conversation() = default;
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;
    virtual ~Conversation() = default;

    // Takes up what has come, as far as there is room for answers, for one turn; what is left waits
    // for the next call, with more bytes or none.
    virtual void receive(std::string_view bytes) = 0;
    // Whether it takes up more: the client has taken most of what it was answered, and does not
    // keep us busy. output_ready says when that comes back.
    virtual bool has_room() const = 0;
    // Whether receive() has left something.
    virtual bool paused() const = 0;
    // The client sends no more. It still gets the answers that are decided.
    virtual void end_of_input() = 0;

    // What is to be sent, in order; the caller takes it.
    virtual std::string take_output() = 0;
    // `bytes` more of the output were handed to the socket.
    void output_sent(std::size_t bytes) { positions_.sent(bytes); }
    // How much of the output was handed to the socket in all.
    std::uint64_t sent() const { return positions_.sent(); }
    virtual bool has_output() const = 0;
    // Takes up answers that came from elsewhere.
    virtual void collect() {}
    // All output has been sent: a stream of events may go on.
    virtual void output_taken() {}
    // Whether it ends with a stream of events, whose reader must keep up.
    virtual bool streams() const { return false; }
    // Requests that are not answered yet.
    virtual std::size_t outstanding() const = 0;
    // Whether a whole request has come.
    virtual bool heard() const = 0;
    // Nothing more will come: send the output and close.
    virtual bool ended() const = 0;
    // The connection ends because of its bytes, which are not read any further.
    virtual bool broken() const = 0;

protected:
    StreamPositions positions_;
};

}  // namespace rocklock
