// One connected client: what it waits for, and which sessions end with its connection.
//
//     asked ──► waiting ──► answered ──► placed in the output ──► confirmed by a later request
//                  └─ hang_up() ──► withdrawn; a grant whose answer the client cannot have read
//                                   is given back
//
// A request confirms the answers that were completely sent before its first byte was read. When the
// client hangs up, a grant that is not confirmed is given back if its answer was not completely
// sent, or if the socket reports that the client left something unread.
//
// A grant that was asked for with a request id is not given back: its client may ask again, and
// gets the same one. If it does not, the session's process or lease ends it.
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
// Lifetime: borrows the dispatcher. Owned by shared pointers: answers may come when the client is
//           gone.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
public:
    ClientSession(Dispatcher& dispatcher, const Caller& caller)
        : dispatcher_(dispatcher), caller_(caller) {}

    const Caller& caller() const { return caller_; }
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // Calls `done` exactly once, on any thread. One asks at a time.
    void ask(Call call, Dispatcher::Done done) {
        ask(std::move(call), next_number(), std::move(done));
    }
    // The same under a number from next_number(), by which the call can be withdrawn: if it waits,
    // it is answered `cancelled`.
    void ask(Call call, std::uint64_t number, Dispatcher::Done done) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t next_number() { return ++last_number_; }
    void cancel(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);

    // The client sends no more: whatever waits now, or would, is answered `cancelled`.
    void stop_waiting() ROCKLOCK_EXCLUDES(mutex_);

    // The answer to the call with this number ends at this position of the connection's output.
    void placed(std::uint64_t number, std::uint64_t position) ROCKLOCK_EXCLUDES(mutex_);
    // A complete request has come, and `sent` bytes of output had been sent when its first byte was
    // read: grants whose answers end there or before are the client's.
    void confirm(std::uint64_t sent) ROCKLOCK_EXCLUDES(mutex_);
    // False: neither placed() nor confirm() has anything to do.
    bool has_unconfirmed() const { return unconfirmed_count_ > 0; }

    // The client sends no more, but may still read what is decided. Its waits and the sessions that
    // are bound to the connection end.
    void end_of_input() ROCKLOCK_EXCLUDES(mutex_);
    // The connection is over, and `sent` bytes of its output were sent. `unread`: the socket
    // reported an error, so the client has not read all of them.
    void hang_up(std::uint64_t sent, bool unread) ROCKLOCK_EXCLUDES(mutex_);

private:
    // How a call that is under way is to be treated when its answer comes.
    struct Asked {
        std::optional<Ticket> ticket;
        bool opens_with_connection = false;
        bool may_ask_again = false;
        // A session that is to end with this connection, if it has lost its own.
        std::optional<SessionId> rebinds;
        // Withdrawn before it had a ticket.
        bool withdrawn = false;
    };

    // A grant in an answer that no later request has confirmed.
    struct Unconfirmed {
        std::uint64_t number = 0;
        // Where the answer ends in the output; none until it is there.
        std::optional<std::uint64_t> end{};
        Grant grant;
    };

    std::vector<Ticket> tickets() const ROCKLOCK_REQUIRES(mutex_);
    Disconnect leave() ROCKLOCK_REQUIRES(mutex_);
    void answered(std::uint64_t number, Result<Reply>&& reply, const Dispatcher::Done& done)
        ROCKLOCK_EXCLUDES(mutex_);

    Dispatcher& dispatcher_;
    const Caller caller_;
    // Of whoever asks.
    ProvenSession proven_;
    Mutex mutex_;
    bool gone_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool waits_no_more_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::atomic<std::uint64_t> last_number_{0};
    boost::unordered_flat_map<std::uint64_t, Asked> asked_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<Unconfirmed> unconfirmed_ ROCKLOCK_GUARDED_BY(mutex_);
    // How many these are, to be read without the mutex.
    std::atomic<std::size_t> unconfirmed_count_{0};
    // Sessions that end with this connection.
    std::vector<SessionId> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
