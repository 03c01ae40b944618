// The protocol of one connection, without I/O. A Conversation is given the input bytes and returns
// the output bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/api/user_buffers.hpp"
#include "daemon/net/stream_positions.hpp"

namespace rocklock {

// The maximum number of response bytes that are not sent yet. If there are more, no further request
// is processed.
inline constexpr std::size_t max_unsent = 64u << 10;

// Limits how long the requests of one connection are processed before the next connection is
// served.
class TimeSlice {
public:
    // Returns true if the time slice is over. Must be called before each request. The first call
    // returns false without reading the clock, because most clients have sent only one request.
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
    // Counts the bytes of incomplete requests and unsent responses. `buffers` may be null.
    explicit Conversation(UserBuffers::Account* buffers = nullptr)
        : buffers_(buffers), request_bytes_(buffers), response_bytes_(buffers) {}
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;
    virtual ~Conversation() = default;

    // Processes input until the time slice is over or there is no room for responses. The remaining
    // input is kept for the next call, for which `bytes` may be empty.
    virtual void receive(std::string_view bytes) = 0;
    // Returns true if receive() would process more input, because most of the responses were sent
    // and no long call is in progress. When the result changes from false to true, `output_ready`
    // is called.
    virtual bool has_room() const = 0;
    // Returns true if receive() has left input unprocessed.
    virtual bool paused() const = 0;
    // Returns the position in the input at which an incomplete request begins, or nullopt if there
    // is no such request.
    virtual std::optional<std::uint64_t> incomplete_request() const = 0;
    // Reports that the rest of the incomplete request has not arrived in time. broken() then
    // returns true.
    virtual void time_out_request() = 0;
    // Reports that the client will send nothing more. The client still receives the responses to
    // calls that were already decided.
    virtual void end_of_input() = 0;

    // Removes the bytes to send from the output, and returns them in order.
    virtual std::string take_output() = 0;
    // Returns the buffer of an earlier take_output() after its bytes were sent, so that its memory
    // can be reused.
    virtual void reuse(std::string&& /*output*/) {}
    // Reports that the socket does not accept all of the output yet.
    void output_blocked() { response_bytes_.set(unsent() + in_transit_); }
    // Reports that `bytes` more bytes of the output were passed to the socket.
    void output_sent(std::size_t bytes) { positions_.sent(bytes); }
    // Returns the number of output bytes that were passed to the socket in total.
    std::uint64_t sent() const { return positions_.sent(); }
    // Returns the number of input bytes that were received in total.
    std::uint64_t received() const { return positions_.received(); }
    virtual bool has_output() const = 0;
    // Takes the responses that other threads have made, and adds them to the output.
    virtual void collect() {}
    // Reports that all output was sent. A stream of events then appends its next events.
    virtual void output_taken() { count_transit(0); }
    // Returns true if the conversation has become a stream of events. The connection of a stream is
    // closed if its client reads too slowly.
    virtual bool streams() const { return false; }
    // Returns the number of requests without a response.
    virtual std::size_t outstanding() const = 0;
    // Returns true if the client has asked for shared memory since the last call.
    virtual bool wants_shared_memory() { return false; }
    // Returns true if a whole request has arrived.
    virtual bool heard() const = 0;
    // Returns true if no more output will be added. The connection must send the remaining output
    // and then be closed.
    virtual bool ended() const = 0;
    // Returns true if the input was invalid. No further input is processed, and the connection must
    // be closed.
    virtual bool broken() const = 0;

protected:
    // Returns the number of bytes of responses that take_output() has not returned yet.
    virtual std::size_t unsent() const = 0;
    // Returns true if the user of the client has reached its limit of buffers.
    bool buffers_full() const { return buffers_ != nullptr && buffers_->full(); }
    // Returns true if at most `max_unsent` bytes of responses wait for the client. If the user has
    // reached the limit of buffers, all output that take_output() has returned must also have been
    // sent.
    bool reads_responses() const {
        return unsent() + in_transit_ <= max_unsent && (in_transit_ == 0 || !buffers_full());
    }
    // Counts the bytes of the responses. Does not begin to count small responses, because they will
    // probably be sent soon.
    void count_responses() {
        const auto bytes = unsent() + in_transit_;
        if (bytes > small_buffer || response_bytes_.bytes() > 0) response_bytes_.set(bytes);
    }
    void count_transit(std::size_t bytes) {
        in_transit_ = bytes;
        count_responses();
    }
    // Counts the memory of an incomplete request. Returns false if the request has become larger
    // than `small_buffer` and its user has reached the limit.
    bool count_request(std::size_t bytes) {
        const auto before = request_bytes_.bytes();
        request_bytes_.set(bytes);
        return bytes <= before || bytes <= small_buffer || !buffers_full();
    }

    StreamPositions positions_;
    UserBuffers::Account* const buffers_;
    CountedBytes request_bytes_;
    CountedBytes response_bytes_;
    // The size of the last result of take_output(), or 0 after the whole result was sent.
    std::size_t in_transit_ = 0;
};

}  // namespace rocklock
