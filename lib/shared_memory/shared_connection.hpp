// The bytes of a connection in memory that the client and the daemon share. A message then needs
// no system call to be received, and only a short one to wake the receiver.
//
//     client ── calls ────► queue of 16 KB ────► daemon
//            ◄─ responses ─ queue of 64 KB ◄────
//            ◄─ Unix socket ───────────────────► the rest: authentication, and the end of a process
//
// The daemon creates the memory when the client asks for it on a Unix socket, and passes three
// descriptors over the socket: the memory, an eventfd with which the daemon wakes the client, and
// another one with which the client wakes the daemon. The client then maps the memory. Each side
// may change from the socket to the memory at any byte: the daemon as soon as it sees that the
// client has attached the memory, the client after that. The receiver of the first byte in the
// memory first reads all bytes from the socket. A side never changes back.
//
// The daemon does not trust the client:
//
//     - The size of the memory is sealed, so the client cannot truncate it.
//     - All bytes are copied out of the memory before they are processed.
//     - The client shares the flag O_NONBLOCK of both eventfds and can change their counters, so a
//       write could block. The daemon therefore wakes the client with a read that returns at once
//       whatever the flag is (RWF_NOWAIT). A read makes an eventfd writable, so the client waits
//       until the eventfd is writable. Each read decrements the counter by 1 (EFD_SEMAPHORE), which
//       begins at 2^32 - 1; the client may increase it.
//     - The daemon only watches the eventfd with which the client wakes it. It never reads this
//       eventfd, and never writes to it.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shared_memory/byte_ring.hpp"
#include "shared_memory/descriptor.hpp"
#include "shared_memory/spin_backoff.hpp"

namespace rocklock {

// The mapped memory.
class SharedMapping {
public:
    struct State;

    // Maps the memory behind the descriptor. Returns null if the system refuses, or if the memory
    // is too small.
    static std::unique_ptr<SharedMapping> map(int memory);
    // Creates memory that consists of zeros, with a fixed size. Returns an invalid descriptor if
    // the system refuses.
    static Descriptor create();

    explicit SharedMapping(void* address) : address_(address) {}
    SharedMapping(const SharedMapping&) = delete;
    SharedMapping& operator=(const SharedMapping&) = delete;
    ~SharedMapping();

    State& state() const;
    std::span<char> calls() const;
    std::span<char> responses() const;

private:
    void* const address_;
};

// The daemon's end. Threads: one at a time.
class SharedDaemonEnd {
public:
    // Returns null if the system refuses to create the memory or a descriptor.
    static std::unique_ptr<SharedDaemonEnd> create();

    // Returns the descriptors to pass to the client.
    std::array<int, 3> offer() const {
        return {memory_.get(), client_event_.get(), daemon_event_.get()};
    }
    // Must be called after the descriptors were passed. They cannot be passed again.
    void close_offer() { memory_.close(); }
    // Returns the descriptor that becomes readable when the client has written, or has read after
    // send() did not accept all bytes. It must be watched edge-triggered.
    int event() const { return daemon_event_.get(); }

    // Returns true if the client has attached the memory. The daemon must then write to the memory.
    bool attached() const;
    // As recv() and send() on a non-blocking socket.
    ssize_t receive(std::span<char> buffer);
    ssize_t send(std::string_view bytes);
    bool has_input() const { return calls_.has_bytes(); }
    // Returns the number of response bytes that the client has not read.
    std::uint64_t unread() const { return responses_.unread(); }
    // Returns true if the client has read response bytes from the memory.
    bool was_read() const { return responses_.was_read(); }
    // Lets event() also become readable when the client reads, although all bytes were accepted.
    void watch_reads();

private:
    SharedDaemonEnd(Descriptor memory, std::unique_ptr<SharedMapping> mapping);
    void wake_client() const;

    const std::unique_ptr<SharedMapping> mapping_;
    RingReader calls_;
    RingWriter responses_;
    // Whether the client must wake the daemon when it reads.
    bool wants_space_ = false;
    Descriptor memory_;
    // The eventfd with which the client wakes the daemon.
    Descriptor daemon_event_;
    // The eventfd with which the daemon wakes the client.
    Descriptor client_event_;
};

// The client's end. Threads: one thread at a time may send; another may receive and wait.
class SharedClientEnd {
public:
    // Maps the memory, and sets the flag with which the daemon sees this. `descriptors` are those
    // of offer(). Returns null if the system refuses, or if the descriptors are not those of a
    // shared connection; the connection then continues on the socket.
    static std::shared_ptr<SharedClientEnd> attach(std::vector<Descriptor> descriptors);

    // As send() and recv() on a non-blocking socket.
    ssize_t send(std::string_view bytes);
    ssize_t receive(std::span<char> buffer);
    bool has_input() const { return responses_.has_bytes(); }

    // Returns the descriptor that becomes readable when the daemon has written. It may be added to
    // another epoll instance, edge-triggered.
    int event() const { return poll_.get(); }
    // Lets wait() also return when `fd` is readable. Returns false if the system refuses.
    bool watch(int fd);
    // Waits until the daemon has written, or has read after send() did not accept all bytes, or a
    // watched descriptor is readable, or the time has passed. Returns a readable descriptor that is
    // watched, or -1.
    //
    // If the last wait was short, first polls the memory for up to 0.2 ms. During this time,
    // watched descriptors and reads of the daemon are not noticed. The wait can be longer than
    // `timeout` by this time.
    int wait(std::chrono::milliseconds timeout);
    // Makes the daemon wake this client whenever it writes, so that event() can be watched instead
    // of calling wait().
    void always_wake();

private:
    SharedClientEnd(std::unique_ptr<SharedMapping> mapping, std::vector<Descriptor> descriptors);
    void wake_daemon() const;

    const std::unique_ptr<SharedMapping> mapping_;
    RingWriter calls_;
    RingReader responses_;
    // Whether the daemon must wake the client when it reads.
    bool wants_space_ = false;
    bool always_wakes_ = false;
    // Whether the last wait was short. The next wait then spins before it sleeps.
    bool quick_ = false;
    SpinBackoff backoff_;
    // The epoll instance that watches `client_event_` and the other descriptors of watch().
    const Descriptor poll_;
    const Descriptor client_event_;
    const Descriptor daemon_event_;
};

}  // namespace rocklock
