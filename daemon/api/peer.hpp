// One connected client: what it waits for, and which sessions end with its connection.
//
//     asked ──► waiting ──► answered ──► confirmed by the next call
//                  └─ hang_up() ──► withdrawn; a grant that was faster, or was not read, is
//                                   given back
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
#include "daemon/api/dispatcher.hpp"
#include "wire/call.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the dispatcher. Owned by shared pointers: answers may come when the client is
//           gone.
class Peer : public std::enable_shared_from_this<Peer> {
public:
    Peer(Dispatcher& dispatcher, const Caller& caller) : dispatcher_(dispatcher), caller_(caller) {}
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

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

    // The client is gone, or hears no more. `unread`: the last answers did not reach it for
    // certain.
    void hang_up(bool unread) ROCKLOCK_EXCLUDES(mutex_);

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

    std::vector<Ticket> tickets() const ROCKLOCK_REQUIRES(mutex_);
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
    // Grants in answers since the last call: whoever calls again has read what came before.
    std::vector<Grant> unconfirmed_ ROCKLOCK_GUARDED_BY(mutex_);
    // Sessions that end with this connection.
    std::vector<SessionId> sessions_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
