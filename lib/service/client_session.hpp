// The state of one connected client: its waiting calls, the sessions that end with its connection,
// and the grants that the client has not confirmed.
//
//     asked ──► waiting ──► answered ──► placed in the output ──► confirmed by a later request
//                  └─ hang_up() ──► cancelled; a grant is released if the client cannot have read
//                                   the response
//
// A request confirms the responses that were completely sent before its first byte was read. When
// the client disconnects, an unconfirmed grant is returned to the lock manager if its response was
// not completely sent, or if the socket reports that the client may not have read it. The lock
// manager releases a returned grant, unless a call on any connection has shown that the client has
// received the grant.
//
// A grant that was requested with a request id is not released, because a retry of the client must
// get the same grant. If the client does not retry, the grant ends when its session ends with its
// process or its lease.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "service/dispatcher.hpp"
#include "wire/call.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the dispatcher. Owned by shared pointers, because replies may arrive after the
//           client has disconnected.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
public:
    ClientSession(Dispatcher& dispatcher, const Caller& caller)
        : dispatcher_(dispatcher), caller_(caller) {}

    const Caller& caller() const { return caller_; }
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // Makes a call. Calls `done` exactly once, on any thread. Only one thread at a time may call
    // this.
    void ask(Call call, Dispatcher::Done done) {
        ask(std::move(call), next_number(), std::move(done));
    }
    // As above, with a number from next_number(). If the call waits, cancel() with this number
    // completes it with `cancelled`.
    void ask(Call call, std::uint64_t number, Dispatcher::Done done) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t next_number() { return ++last_number_; }
    void cancel(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);

    // Must be called when the client will send no more requests. Completes all waiting calls with
    // `cancelled`. A later call that would have to wait is also completed with `cancelled`.
    void stop_waiting() ROCKLOCK_EXCLUDES(mutex_);

    // Reports that the response to the call with this number ends at this position of the output.
    void placed(std::uint64_t number, std::uint64_t position) ROCKLOCK_EXCLUDES(mutex_);
    // Reports that a complete request has arrived, and that `sent` bytes of output had been sent
    // when its first byte was read. A grant is confirmed if its response ends at or before that
    // position.
    void confirm(std::uint64_t sent) ROCKLOCK_EXCLUDES(mutex_);
    // Reports that the grant in the reply to the call with this number is not passed to the client.
    // The caller must then give it back. Returns false if hang_up() has already given it back.
    bool take_back(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);
    // Returns whether there are unconfirmed grants. If not, placed() and confirm() need not be
    // called.
    bool has_unconfirmed() const { return unconfirmed_count_ > 0; }

    // Call this when the client has closed its sending side but may still read responses. Cancels
    // its waiting calls and ends the sessions that are bound to the connection.
    void end_of_input() ROCKLOCK_EXCLUDES(mutex_);
    // Must be called when the connection is closed. `read` is the number of output bytes that the
    // client is assumed to have read: all bytes that were sent, or, if the socket reports that the
    // client may not have read all of them, the number that it has certainly read.
    void hang_up(std::uint64_t read) ROCKLOCK_EXCLUDES(mutex_);

private:
    // A call in progress.
    struct Asked {
        std::optional<Ticket> ticket;
        bool opens_with_connection = false;
        bool may_ask_again = false;
        // The session that the call binds to this connection. It was bound to a connection of the
        // previous daemon process.
        std::optional<SessionId> rebinds;
        // cancel() was called before there was a ticket.
        bool withdrawn = false;
    };

    // A grant in a response that no later request has confirmed.
    struct Unconfirmed {
        std::uint64_t number = 0;
        // The end of the response in the output; nullopt until it is placed.
        std::optional<std::uint64_t> end{};
        UndeliveredGrant grant;
    };

    std::vector<Ticket> tickets() const ROCKLOCK_REQUIRES(mutex_);
    Disconnect leave() ROCKLOCK_REQUIRES(mutex_);
    void answered(std::uint64_t number, Result<Reply>&& reply, const Dispatcher::Done& done)
        ROCKLOCK_EXCLUDES(mutex_);

    Dispatcher& dispatcher_;
    const Caller caller_;
    // Used by the thread that makes calls.
    ProvenSession proven_;
    Mutex mutex_;
    bool gone_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool waits_no_more_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::atomic<std::uint64_t> last_number_{0};
    boost::unordered_flat_map<std::uint64_t, Asked> asked_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<Unconfirmed> unconfirmed_ ROCKLOCK_GUARDED_BY(mutex_);
    // The calls with grants that hang_up() has given back.
    std::vector<std::uint64_t> given_back_ ROCKLOCK_GUARDED_BY(mutex_);
    // The size of `unconfirmed_`, readable without the mutex.
    std::atomic<std::size_t> unconfirmed_count_{0};
    // The sessions that end with this connection.
    std::vector<SessionId> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
