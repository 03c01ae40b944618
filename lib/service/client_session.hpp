// The state of one connected client: its waiting calls, the sessions that end with its connection,
// and the grants that the client has not yet confirmed.
//
//     asked ──► waiting ──► answered ──► placed in the output ──► confirmed by a later request
//                  │            └────────────┬────────┘
//                  ▼ hang_up()               ▼ hang_up(), and the response may not have been read
//              cancelled                 the grant is returned to the lock manager
//
// A request of the client confirms the responses that were completely sent before the first byte of
// the request was read. When the client disconnects, an unconfirmed grant is returned to the lock
// manager in two cases: its response was not completely sent, or the socket reports that the client
// may not have read it. The lock manager releases a returned grant, unless a call on any connection
// has shown that the client has received the grant.
//
// A grant is not returned if the client can get it again with a second request. This is the case if
// the first request had a request id, which the client can repeat, or if it named a session and had
// Held::join, so that the second request can join the grant. If the client does not send a second
// request, the grant ends with its session: when the lease expires, or when the processes to which
// the session is bound have ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "service/direct_call.hpp"
#include "service/dispatcher.hpp"
#include "wire/call.hpp"
#include "wire/call_json.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the dispatcher. The object is owned by shared pointers, because replies may
//           arrive after the client has disconnected.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
public:
    ClientSession(Dispatcher& dispatcher, const Caller& caller)
        : dispatcher_(dispatcher), caller_(caller) {}

    const Caller& caller() const { return caller_; }
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // If the client and the manager have different boot clocks, returns the facts that are needed
    // to write the reply to a call that arrives now. Otherwise returns nullopt.
    std::optional<ForeignReply> foreign_reply() const {
        if (!dispatcher_.has_other_boot(caller_)) return std::nullopt;
        return ForeignReply{caller_.node->host.node, dispatcher_.clock().now().boot};
    }

    // Executes a call of the client. Calls `done` exactly once, on any thread. Only one thread at a
    // time may call ask().
    void ask(Call&& call, Dispatcher::Done done) {
        ask(std::move(call), next_number(), std::move(done));
    }
    // As above, with a number from next_number(). If the call is waiting, cancel() with this number
    // completes the call with `cancelled`.
    void ask(Call&& call, std::uint64_t number, Dispatcher::Done done) ROCKLOCK_EXCLUDES(mutex_);
    std::uint64_t next_number() { return ++last_number_; }
    // Executes a direct call (direct_call.hpp). Returns false without effect if the call must be
    // passed to ask(). Otherwise calls `connection->decided()`, or `connection->waits()` if the
    // call waits. Only one thread at a time may call ask() or decide_now().
    bool decide_now(const DirectCall& call, const std::shared_ptr<DirectConnection>& connection)
        ROCKLOCK_EXCLUDES(mutex_);
    // Must be called once for each direct call that did not wait, when release() was called for it.
    // `error` is the error with which the call is answered, or null; `now` is the time of
    // release().
    void released(std::uint64_t number, const CallObserver::Started& started, const Error* error,
                  std::chrono::steady_clock::time_point now) ROCKLOCK_EXCLUDES(mutex_);
    void cancel(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);

    // Must be called when the client has closed its sending side, even if some of its requests are
    // not yet read. Completes all waiting calls with `cancelled`. A later call that would have to
    // wait is also completed with `cancelled`.
    void stop_waiting() ROCKLOCK_EXCLUDES(mutex_);

    // Reports that the response to the call with this number ends at the position `position` of the
    // output, counted in bytes from the beginning of the connection.
    void placed(std::uint64_t number, std::uint64_t position) ROCKLOCK_EXCLUDES(mutex_);
    // Reports that a complete request has arrived, and that `sent` bytes of output had been sent
    // when the first byte of the request was read. This confirms the grants whose responses end at
    // or before the position `sent`.
    void confirm(std::uint64_t sent) ROCKLOCK_EXCLUDES(mutex_);
    // Reports that the grant in the reply to the call with this number will not be sent to the
    // client. Returns true if the caller must release the grant, and false if hang_up() has already
    // returned it to the lock manager.
    bool take_back(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);
    // Returns whether there are unconfirmed grants. If there are none, placed() and confirm() need
    // not be called.
    bool has_unconfirmed() const { return unconfirmed_count_ > 0; }

    // Must be called when the client has closed its sending side and all of its requests have been
    // handled. The client may still read responses. Cancels the client's waiting calls, and ends
    // the sessions that are bound to the connection.
    void end_of_input() ROCKLOCK_EXCLUDES(mutex_);
    // Must be called when the connection is closed. `read` is the number of output bytes that the
    // client is assumed to have read: the number that was sent or, if the socket reports that the
    // client may not have read all of them, the number that the client has certainly read.
    void hang_up(std::uint64_t read) ROCKLOCK_EXCLUDES(mutex_);
    // Must be called in place of hang_up() if the connection to the client's relay was lost, so
    // that it is unknown whether the client still exists and what it has read. It may have read the
    // `sent` bytes of output.
    void lose_relay(std::uint64_t sent) ROCKLOCK_EXCLUDES(mutex_);

private:
    // A call in progress.
    struct Asked {
        std::optional<Ticket> ticket;
        // Whether the call opens a session that is bound to the connection.
        bool opens_with_connection = false;
        // Whether the client can get the grant again with another request. If so, the grant is not
        // returned to the lock manager.
        bool may_ask_again = false;
        // A session that was bound to a connection of the previous daemon process, and that this
        // call binds to this connection.
        std::optional<SessionId> rebinds;
        // Whether cancel() was called, possibly before there was a ticket.
        bool withdrawn = false;
    };

    // A grant in a response that no later request has confirmed.
    struct Unconfirmed {
        std::uint64_t number = 0;
        // The end of the response in the output; nullopt until it is placed.
        std::optional<std::uint64_t> end{};
        UndeliveredGrant grant;
    };

    // A direct call during decide_now().
    class Deciding;
    void decided(const DirectCall& call, std::uint64_t number, const Result<Answer>& answer)
        ROCKLOCK_EXCLUDES(mutex_);

    // Keeps the ticket of a call in progress. If the call was cancelled before, or the client has
    // closed its sending side, cancels the wait of the call instead.
    void keep_ticket(std::uint64_t number, Ticket ticket) ROCKLOCK_EXCLUDES(mutex_);
    std::vector<Ticket> tickets() const ROCKLOCK_REQUIRES(mutex_);
    Disconnect leave() ROCKLOCK_REQUIRES(mutex_);
    void answered(std::uint64_t number, Result<Reply>&& reply, const Dispatcher::Done& done)
        ROCKLOCK_EXCLUDES(mutex_);

    Dispatcher& dispatcher_;
    const Caller caller_;
    // Used only by ask(), and therefore by one thread at a time.
    ProvenSession proven_;
    Mutex mutex_;
    bool gone_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool waits_no_more_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::atomic<std::uint64_t> last_number_{0};
    boost::unordered_flat_map<std::uint64_t, Asked> asked_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<Unconfirmed> unconfirmed_ ROCKLOCK_GUARDED_BY(mutex_);
    // The numbers of the calls whose grants hang_up() has returned to the lock manager.
    std::vector<std::uint64_t> given_back_ ROCKLOCK_GUARDED_BY(mutex_);
    // The size of `unconfirmed_`, readable without the mutex.
    std::atomic<std::size_t> unconfirmed_count_{0};
    // The sessions that end with this connection.
    std::vector<SessionId> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
