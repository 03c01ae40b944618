// A client of a server. It is a state machine that advances when its socket becomes readable. One
// thread drives many clients. The result therefore shows the cost of the server and not the cost of
// client threads.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rocklock::bench {

// Prints the message and ends the program.
[[noreturn]] void give_up(const std::string& why);

// A connection to one server. Ends the program if the server closes the connection or sends an
// unexpected response.
class Client {
public:
    explicit Client(int fd);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client();

    int fd() const { return fd_; }
    // Returns the descriptor that becomes readable when the server has sent something. It must be
    // watched edge-triggered.
    virtual int event() const { return fd_; }

    // Reads the available bytes. Returns whether the response to the last request is complete.
    bool on_readable();
    // Blocks until the response to the last request is complete.
    void await();

protected:
    void send(std::string_view bytes);
    // As send() and recv() on a blocking socket. If `waits` is false, receive_some() does not
    // block.
    virtual ssize_t send_some(std::string_view bytes);
    virtual ssize_t receive_some(std::span<char> buffer, bool waits);
    // If received_ begins with a complete response, removes the response and returns true.
    virtual bool take_answer() = 0;
    // For line-based protocols. If received_ begins with a complete line, removes this line and
    // returns true. Ends the program if the removed line differs from `line`.
    bool take_line(std::string_view line);

    std::string received_;

private:
    bool receive(bool waits);

    const int fd_;
};

// A client that locks and unlocks in the protocol of its server.
class LockClient : public Client {
public:
    using Client::Client;

    // Sends a request for the lock of `resource`. If `waits` is true, the request waits in the
    // server's queue. Otherwise, the resource must be free.
    virtual void ask(const std::string& resource, bool waits) = 0;
    // Sends a request to release the lock.
    virtual void give_back(const std::string& resource) = 0;
};

// A client that sends Acquire and Release as frames, in shared memory if the daemon supports it.
// Each client has one session.
std::unique_ptr<LockClient> rocklock_client(int fd);
// As rocklock_client(), but uses only the socket.
std::unique_ptr<LockClient> rocklock_socket_client(int fd);
// A client that sends Acquire and Release as JSON over HTTP.
std::unique_ptr<LockClient> rocklock_http_client(int fd);
// A client that sends SET NX PX and DEL. If clients must wait, the lock is a list with one element,
// and the client sends BLPOP and RPUSH.
std::unique_ptr<LockClient> redis_client(int fd);
// A client that sends `add` and `delete`. memcached has no queues, so this client cannot wait.
std::unique_ptr<LockClient> memcached_client(int fd);
// A client that locks a row with SELECT … FOR UPDATE, from BEGIN to COMMIT, over PostgreSQL's own
// protocol.
std::unique_ptr<LockClient> postgres_row_client(int fd);
// A client that calls pg_advisory_lock and pg_advisory_unlock. Advisory locks are not stored on
// disk.
std::unique_ptr<LockClient> postgres_advisory_client(int fd);
// A client that uses etcd's JSON gateway. It locks with a transaction that puts a key if the key is
// absent, and unlocks with a delete. If the client must wait, it uses etcd's lock service instead.
std::unique_ptr<LockClient> etcd_client(int fd);

}  // namespace rocklock::bench
