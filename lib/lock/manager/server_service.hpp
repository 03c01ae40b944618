// The part of the lock service that only a server uses: requests in groups, the disconnection of
// clients, and stalls.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <rocklock/lock.hpp>

#include "lock/model/disconnect.hpp"

namespace rocklock {

// The defaults are for a service that decides and delivers each request by itself.
//
// Threads: as LockService.
class ServerService : public LockService {
public:
    // As submit(), but the answer may be delivered by flush() only. Many requests then share one
    // commit, and no switch of threads is needed.
    virtual Ticket enqueue(Request request, Completion done) {
        return submit(std::move(request), std::move(done));
    }
    // Commits the enqueued requests and delivers the answers. The completions run on the calling
    // thread. The server calls flush() after it has read the input of its clients, and when the
    // service calls `notify` of on_flush_needed().
    //
    // Returns the time after which it must be called again at the latest, or nullopt if no call is
    // needed. Zero means: as soon as the delivered answers have been sent. (This call has delivered
    // the answers that need no commit; the next call may wait for a sync.)
    virtual std::optional<std::chrono::milliseconds> flush() { return std::nullopt; }
    // `notify` is called on the service's own thread and must not block. If `notify` is not set,
    // that thread delivers the remaining answers. Must be called before the first request.
    virtual void on_flush_needed(std::function<void()> notify);

    // Cancels all of these waits, closes all of these sessions and gives back all of these grants
    // as one decision, so that a lock that one of them releases is not granted to another one of
    // them. Those that have already ended are ignored. The completions of the waits run on the
    // calling thread.
    virtual void disconnect(Disconnect disconnected);
    // Reports that a client has proven the session and presented this token with a call, regardless
    // of the result of the call. From now on, disconnect() does not give back the grant of the
    // token. authenticate() reports the same for the grant for which the session was opened.
    virtual void note_token(const SessionId& /*session*/, Token /*token*/) {}

    // Watches for stalls. When the server continues after a stall (it was stopped, swapped out or
    // suspended), it may read a request for a lock before it reads a renewal of that lock that was
    // sent in time. Must be called before the first request. If `notify` is set, the service checks
    // the time regularly. If more than 250 ms have passed since the last check, it judges renewals
    // as of its last check, and defers every other request and all expiries until resume().
    // `notify` is called once for each stall, on the thread that finds it, and must not block. It
    // must cause the server to read all of its sockets and then to call resume().
    //
    // `unread_for` returns the longest time for which a thread of the server has not polled its
    // sockets, and zero if all threads are polling. If that is more than 250 ms, it counts as a
    // stall that began when that thread last polled. `unread_for` is called with locks held: it
    // must neither block nor call the service.
    virtual void on_stall(std::function<void()> notify,
                          std::function<std::chrono::nanoseconds()> unread_for = {});
    virtual void resume() {}
};

// Returns the ServerService of a service that decides in this process, or null for the service of a
// remote daemon.
inline ServerService* server_service(LockService& service) {
    return dynamic_cast<ServerService*>(&service);
}

}  // namespace rocklock
