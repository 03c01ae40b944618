// The connection of a client that has no socket of its own in this process: a relay passes its
// bytes on, together with those of other clients.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "daemon/net/io_thread.hpp"

namespace rocklock {

// The functions correspond to those of a non-blocking socket that an IoThread watches.
//
// Threads: runs on one IoThread.
class ClientChannel {
public:
    ClientChannel() = default;
    ClientChannel(const ClientChannel&) = delete;
    ClientChannel& operator=(const ClientChannel&) = delete;
    virtual ~ClientChannel() = default;

    // As recv() and send(): return -1 and set errno to EAGAIN if nothing can be received or sent.
    virtual ssize_t receive(std::span<char> buffer) = 0;
    virtual ssize_t send(std::string_view bytes) = 0;
    virtual bool has_unread() const = 0;
    // As IoThread::watch(), change() and forget().
    virtual void watch(const std::shared_ptr<IoThread::Served>& served, std::uint32_t events) = 0;
    virtual void change(std::uint32_t events) = 0;
    virtual void forget() = 0;
    // Ends the output. The client can still send.
    virtual void end_output() = 0;

    // Returns true if the client has closed its connection before it had read all output.
    virtual bool failed() const = 0;
    // If the client has closed its connection, returns how many of the first `sent` bytes of output
    // the client had certainly read. Otherwise returns `sent`.
    virtual std::uint64_t read_of(std::uint64_t sent) const = 0;
    // Returns true if the connection to the relay was lost before the client closed its connection.
    virtual bool lost() const = 0;
};

}  // namespace rocklock
