// What is said on one connection: bytes in, bytes out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rocklock {

// Threads: one at a time.
class Conversation {
public:
    Conversation() = default;
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;
    virtual ~Conversation() = default;

    virtual void receive(std::string_view bytes) = 0;
    // The client sends no more. It still gets the answers that are decided.
    virtual void end_of_input() = 0;

    // What is to be sent, in order; the caller takes it.
    virtual std::string take_output() = 0;
    virtual bool has_output() const = 0;
    // All output has been sent: a stream of events may go on.
    virtual void output_taken() {}
    // Whether it ends with a stream of events, whose reader must keep up.
    virtual bool streams() const { return false; }
    // Requests that are not answered yet.
    virtual std::size_t outstanding() const = 0;
    // More of them, and nothing is read for a while.
    virtual std::size_t most_outstanding() const = 0;
    // Nothing more will come: send the output and close.
    virtual bool ended() const = 0;
    // The connection ends because of its bytes, which are not read any further.
    virtual bool broken() const = 0;
};

}  // namespace rocklock
