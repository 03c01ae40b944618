// From a call to its reply: who may, with what proof, bound to which process.
//
// It knows no sockets and no bytes. Every way in (HTTP, and the program itself when it opens a
// store without a daemon) ends here, so that all of them are judged alike.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "lock/manager/server_service.hpp"
#include "wire/call.hpp"

namespace rocklock {

// The user of a caller over TCP, of whom the kernel says nothing.
inline constexpr uid_t nobody_known = static_cast<uid_t>(-1);

// Who calls, as the kernel says.
struct Caller {
    uid_t uid = 0;
    // 0: a process in a namespace that has no number here, or one that calls over TCP.
    pid_t pid = 0;
    // May administer, though neither root nor the daemon's own user.
    bool administrator = false;
};

// The last session that a client has proven to be its own: it need not be computed again whether
// the secret belongs to it, which never changes. Whether there still is such a session is judged
// by whoever decides.
class ProvenSession {
public:
    bool is(const SessionId& session, const Secret& secret) const {
        return known_ && session_ == session && secret_ == secret;
    }
    void set(const SessionId& session, const Secret& secret) {
        session_ = session;
        secret_ = secret;
        known_ = true;
    }

private:
    SessionId session_;
    Secret secret_;
    bool known_ = false;
};

// Ends sessions whose processes have gone.
class SessionWatch {
public:
    SessionWatch() = default;
    SessionWatch(const SessionWatch&) = delete;
    SessionWatch& operator=(const SessionWatch&) = delete;
    virtual ~SessionWatch() = default;

    // Adds processes to those that the session is bound to.
    virtual void watch(const SessionId& session, const std::vector<ProcessId>& processes) = 0;
};

class CallObserver;

// Whether a call looks through much of the table or the history, shows nothing before it is synced,
// or waits for a sync: in a thread that reads from clients it would keep others waiting.
bool may_take_long(const CallBody& body);

struct DispatcherOptions {
    // What Ping says of the store.
    std::string store;
    std::string durability;
    // The user who may administer, besides root.
    uid_t administrator = 0;
    // Sees all calls; may be none.
    CallObserver* observer = nullptr;
    // Copies the store into a directory; none where there is nothing to copy.
    std::function<Result<void>(const std::string& directory)> backup{};
    // The service's; none: the machine's.
    Clock* clock = nullptr;
    // Each runs something where it keeps no call waiting: searches one after the other, and what
    // clients leave behind. None: where it comes up.
    std::function<void(std::function<void()> search)> background{};
    std::function<void(std::function<void()> clean)> cleanup{};
    // Called after a request: has the service flush soon (LockService::flush), once for many of
    // them. None: the service tells each by itself.
    std::function<void()> flush_soon{};
    // What is bound to resources, and what keeps drafts; none: no tables.
    TableService* tables = nullptr;
};

// Why sessions end that are bound to their client.
inline constexpr std::string_view process_gone = "its process has ended";
inline constexpr std::string_view connection_gone = "its connection has ended";

// Threads:  thread-safe.
// Lifetime: borrows the service, and the watch and the observer (which may be none).
class Dispatcher {
public:
    using Done = std::function<void(Result<Reply>)>;

    Dispatcher(ServerService& service, SessionWatch* watch, DispatcherOptions options)
        : service_(service), watch_(watch), options_(std::move(options)) {}
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;
    // Waits for a backup that is under way.
    ~Dispatcher();

    // Calls `done` exactly once, at once or later, on any thread. A wait that may be cancelled has
    // a ticket. `proven`, if any, is of the client that asks, and used by nobody else meanwhile.
    std::optional<Ticket> submit(Call call, const Caller& caller, Done done,
                                 ProvenSession* proven = nullptr);
    void cancel(Ticket ticket) { service_.cancel(ticket); }
    // What a client leaves behind that has gone, with grants that did not reach it; soon, together
    // with what others leave (release_disconnected).
    void disconnect(Disconnect disconnected, std::vector<Grant> undelivered = {})
        ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Ends what those have left who departed. To be called before the service flushes.
    void release_disconnected() ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Whether the caller may do what is for administrators only.
    bool may_administer(const Caller& caller) const;
    Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock(); }

    // A session that was bound to a connection of the daemon before; and whether it was one, for
    // the first connection that wants it.
    void unbind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);
    bool rebind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);

    // Takes back a grant that reached nobody, with the session that was made for it.
    void give_back(const Grant& grant);
    // Ends the session of a client that has gone; `why` is kept with the ends of its grants.
    void close_session(const SessionId& session, std::string_view why);

private:
    // What the watch is to be told once a call has succeeded.
    struct Binding {
        std::vector<ProcessId> processes;
        // The session they join; none: the one that the call opens.
        std::optional<SessionId> joined;
    };

    Result<Binding> prepare(Call& call, const Caller& caller, ProvenSession* proven);
    Result<void> prove(const Call& call, ProvenSession* proven);
    void disconnect_in_pieces(const Disconnect& disconnected, std::chrono::microseconds pause);
    void answer_query(Call call, Done done);
    Result<Reply> answer_query(const Call& call);
    Result<SessionDetail> show_session(const ShowSession& request, const Secret& secret);
    Result<SessionPage> list_sessions(const ListSessions& request);
    Result<Reply> bindings(const CallBody& body);
    Result<Reply> drafts(const Call& call);
    void end_sessions(EndSessions request, std::string by, Done done);
    void back_up(const std::string& directory, Done done);
    Ticket watch(WatchRequest request, Done done);
    Ticket decide(Request request, Binding binding, Done done);

    ServerService& service_;
    SessionWatch* watch_;
    DispatcherOptions options_;

    Mutex disconnecting_mutex_;
    Disconnect disconnecting_ ROCKLOCK_GUARDED_BY(disconnecting_mutex_);
    std::vector<Grant> undelivered_ ROCKLOCK_GUARDED_BY(disconnecting_mutex_);

    Mutex unbound_mutex_;
    std::set<SessionId> unbound_ ROCKLOCK_GUARDED_BY(unbound_mutex_);

    // One backup at a time, on a thread of its own: it reads and writes whole files.
    Mutex backup_mutex_;
    bool backing_up_ ROCKLOCK_GUARDED_BY(backup_mutex_) = false;
    std::thread backup_thread_ ROCKLOCK_GUARDED_BY(backup_mutex_);
};

// Sees each call as it comes. Threads: thread-safe.
class CallObserver {
public:
    CallObserver() = default;
    CallObserver(const CallObserver&) = delete;
    CallObserver& operator=(const CallObserver&) = delete;
    virtual ~CallObserver() = default;

    // What is called with the reply instead of `done`, which it calls.
    virtual Dispatcher::Done observe(const Call& call, const Caller& caller,
                                     Dispatcher::Done done) = 0;
};

}  // namespace rocklock
