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
    // As submit(), but the answer may be delivered by flush() only, so that many requests share one
    // commit and no change of threads.
    virtual Ticket enqueue(Request request, Completion done) {
        return submit(std::move(request), std::move(done));
    }
    // Commits what was enqueued and delivers the answers: completions run in the caller. The server
    // calls it after it has read what its clients sent, and when the service calls `notify` of
    // on_flush_needed().
    //
    // Returns after which time it must be called again at the latest, or nullopt. Zero: as soon as
    // the delivered answers have been sent, since the next call may then wait for a quick device.
    virtual std::optional<std::chrono::milliseconds> flush() { return std::nullopt; }
    // `notify` is called on the service's own thread and must not block. Without it, that thread
    // delivers what is left. Call this before the first request.
    virtual void on_flush_needed(std::function<void()> notify);

    // Cancels all of these waits, closes all of these sessions and gives back all of these grants
    // as one decision, so that no lock that one of them releases is granted to another one. Those
    // that have ended are ignored. The completions of the waits run in the caller.
    virtual void disconnect(Disconnect disconnected);
    // Reports that a client has proven the session and presented this token with a call, whatever
    // becomes of the call. disconnect() does not give back the grant of the token from now on.
    // authenticate() reports the same for the grant for which the session was opened.
    virtual void note_token(const SessionId& /*session*/, Token /*token*/) {}

    // Watches for stalls. When the server continues after a stall (it was stopped, swapped out or
    // suspended), its sockets may contain renewals that were sent in time, after requests for the
    // locks that they renew. With `notify` set, before the first request, the service checks the
    // time. If more than 250 ms have passed unchecked, it judges renewals as of its last check, and
    // defers every other request and all expiries until resume(). `notify` is called once for each
    // stall, on the thread that finds it, and must not block. It must cause the server to read all
    // of its sockets and then to call resume().
    //
    // `unread_for` returns for how long a thread of the server has not polled its sockets, the
    // maximum over all threads; zero if all of them are polling. A round of more than 250 ms counts
    // as a stall that began with it. `unread_for` is called with locks held: it must neither block
    // nor call the service.
    virtual void on_stall(std::function<void()> notify,
                          std::function<std::chrono::nanoseconds()> unread_for = {});
    virtual void resume() {}
};

// Returns the server's part of a service that decides in this process. Null for the service of a
// remote daemon.
inline ServerService* server_service(LockService& service) {
    return dynamic_cast<ServerService*>(&service);
}

}  // namespace rocklock
