// A client of a server, as a machine that is driven by what its socket has to read: many of them
// share a thread, so that what is measured is the server and not the threads of its clients.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rocklock::bench {

// Says what failed, and ends the program.
[[noreturn]] void give_up(const std::string& why);

// A connection to one server.
class Client {
public:
    explicit Client(int fd);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client();

    int fd() const { return fd_; }

    // Takes what has come: whether the answer to the last request is whole. One that is not what it
    // must be ends the program.
    bool on_readable();
    // Waits for an answer.
    void await();

protected:
    void send(std::string_view bytes) const;
    // Takes a whole answer off received_, if there is one.
    virtual bool take_answer() = 0;
    // Of line-based servers: takes a line off received_, if there is a whole one, which must be
    // this.
    bool take_line(std::string_view line);

    std::string received_;

private:
    bool receive(bool waits);

    const int fd_;
};

// What a lock is in the server's language.
class LockClient : public Client {
public:
    using Client::Client;

    // Asks for the resource: one that is free, or one for which it waits in the server's queue.
    virtual void ask(const std::string& resource, bool waits) = 0;
    // Gives it back.
    virtual void give_back(const std::string& resource) = 0;
};

// A lock call over frames; a session for each client.
std::unique_ptr<LockClient> rocklock_client(int fd);
// The same as JSON over HTTP.
std::unique_ptr<LockClient> rocklock_http_client(int fd);
// SET NX PX and DEL; what is waited for is a list with one token, BLPOP and RPUSH.
std::unique_ptr<LockClient> redis_client(int fd);
// add and delete; it has no queues.
std::unique_ptr<LockClient> memcached_client(int fd);
// A row that is locked by SELECT … FOR UPDATE from BEGIN to COMMIT, over its own protocol.
std::unique_ptr<LockClient> postgres_row_client(int fd);
// pg_advisory_lock and pg_advisory_unlock, which nothing keeps.
std::unique_ptr<LockClient> postgres_advisory_client(int fd);
// A transaction that puts a key that is absent, and a delete, over its JSON gateway; what is waited
// for is a lock of its lock service.
std::unique_ptr<LockClient> etcd_client(int fd);

}  // namespace rocklock::bench
