// The part of the lock service that only a server uses: it answers requests in groups, ends the
// requests and sessions of disconnected clients, and handles stalls of the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <rocklock/lock.hpp>

#include "lock/model/disconnect.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock {

// Is notified when the response to a request of ServerService::decide_now() may be sent.
class ResponseReceiver {
public:
    ResponseReceiver() = default;
    ResponseReceiver(const ResponseReceiver&) = delete;
    ResponseReceiver& operator=(const ResponseReceiver&) = delete;
    virtual ~ResponseReceiver() = default;

    // The response with this id may be sent now. If `failure` is not null, its decision was not
    // committed, and this error must be sent instead. `now` is the current time, which the caller
    // reads once for all responses that it releases. Called once for each response, after
    // DirectRequest::decided(), on any thread, possibly before decide_now() returns. Must not call
    // the service.
    virtual void release(std::uint64_t id, const Error* failure,
                         std::chrono::steady_clock::time_point now) = 0;
};

// A request for ServerService::decide_now().
class DirectRequest {
public:
    DirectRequest() = default;
    DirectRequest(const DirectRequest&) = delete;
    DirectRequest& operator=(const DirectRequest&) = delete;
    virtual ~DirectRequest() = default;

    // Returns the receiver of the response, which is kept until it was called, and the id of the
    // response.
    virtual std::shared_ptr<ResponseReceiver> receiver() = 0;
    virtual std::uint64_t id() const = 0;
    // The request has been decided. The response must not be sent before the receiver is notified.
    // Called on the thread of decide_now(), with mutexes held: must not call the service.
    virtual void decided(const Result<Answer>& answer) = 0;
    // The request waits for locks or for the history. Returns the function that receives its
    // response; receiver() is then not used. Called with mutexes held: must not call the service.
    virtual LockService::Completion waits(Ticket ticket) = 0;
};

// The default implementations are for a service that needs no flush(): they decide each request and
// deliver its response as submit() does.
//
// Threads: as LockService.
class ServerService : public LockService {
public:
    // As submit(), but some responses are delivered only by the next call of flush(). Many requests
    // can then share one commit, and no switch of threads is needed.
    virtual Ticket enqueue(Request&& request, Completion done) {
        return submit(std::move(request), std::move(done));
    }
    // As enqueue(), for a request that can usually be decided at once. Calls either
    // `request.decided()` or `request.waits()` before it returns true. A response that was passed
    // to decided() may be sent when a later flush() calls ResponseReceiver::release(). `event` must
    // contain a Request.
    //
    // Returns false without effect if the request must be passed to enqueue().
    virtual bool decide_now(const Event& /*event*/, DirectRequest& /*request*/) { return false; }
    // Delivers the responses to enqueued requests. The server calls flush() after it has read the
    // input of its clients, and when the service calls `notify` of on_flush_needed(). If at most
    // two responses wait for a sync, and syncs are fast, flush() syncs and then delivers them.
    // Otherwise, the service's thread syncs and then calls `notify`. The completions run on the
    // calling thread or, if another thread is already delivering, on that thread.
    //
    // Returns the maximum delay before the next call, or nullopt if no further call is needed. If
    // the delay is zero, this call has delivered only responses that need no commit. The server
    // must then send them and call flush() again, and that call may wait for a sync.
    virtual std::optional<std::chrono::milliseconds> flush() { return std::nullopt; }
    // Sets the function that the service's thread calls when there are responses to deliver; the
    // server must then call flush(). `notify` must not block. If no function is set, the service's
    // thread delivers the responses itself. on_flush_needed() must be called before the first
    // request.
    virtual void on_flush_needed(std::function<void()> notify);

    // Cancels the waits, closes the sessions and releases the undelivered grants in `disconnected`.
    // All this is one decision, so that a lock that one of the disconnected clients held is not
    // granted to a waiting request of another. Elements that have already ended are ignored. See
    // Disconnect for grants that are kept.
    //
    // The completions of lock requests run on the calling thread or, during a stall, on the thread
    // that calls resume(). The completions of watches run on the service's thread.
    virtual void disconnect(Disconnect disconnected);
    // Must be called after a client has used this token together with the secret of the session,
    // even if the call of the client failed. The client has then received the grant, so
    // disconnect() does not release the grant as undelivered. authenticate() has the same effect on
    // the grant for which the session was opened.
    virtual void note_token(const SessionId& /*session*/, Token /*token*/) {}

    // Makes the service watch for stalls. In a stall, the server does not run for some time,
    // because it was stopped, swapped out or suspended. After a stall, the server may read a
    // request for a lock before it reads a renewal that the holder of the lock sent in time.
    // on_stall() must be called before the first request.
    //
    // If `notify` is set, the service checks the time regularly while there are sessions. If more
    // than 250 ms have passed since the last check, there was a stall. Until resume(), renewals are
    // then decided as if they had arrived at the time of the last check before the stall. All other
    // submitted or enqueued requests, cancellations, disconnections and expiries are deferred until
    // resume(); blocking calls are not deferred. `notify` is called once for each stall, on the
    // thread that detects the stall, and must not block. It must cause the server to read all of
    // its sockets and then to call resume().
    //
    // `unread_for` returns the longest time for which a thread of the server has not polled its
    // sockets, or zero if all threads are polling. More than 250 ms count as a stall that began
    // with the last poll of that thread. `unread_for` is called with mutexes held: it must neither
    // block nor call the service.
    virtual void on_stall(std::function<void()> notify,
                          std::function<std::chrono::nanoseconds()> unread_for = {});
    virtual void resume() {}
};

// Returns the ServerService of a service that decides in this process, or null for the client of a
// daemon.
inline ServerService* server_service(LockService& service) {
    return dynamic_cast<ServerService*>(&service);
}

}  // namespace rocklock
