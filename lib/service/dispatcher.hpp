// Executes a call: checks the caller's rights and proof, binds sessions to processes, and passes
// the call to the service.
//
// It does not depend on the transport. Calls from sockets, and calls of a program that opens a
// store without a daemon, pass through it, so the same rules apply to all of them.
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

// The uid of a caller over TCP. The kernel does not identify such callers.
inline constexpr uid_t nobody_known = static_cast<uid_t>(-1);

// The caller, as identified by the kernel.
struct Caller {
    uid_t uid = 0;
    // 0 if the process is in another pid namespace, or if it calls over TCP.
    pid_t pid = 0;
    // True for an administrator that is neither root nor the user of the daemon.
    bool administrator = false;
};

// The last session for which a client has presented the right secret. The secret of a session never
// changes, so the proof need not be computed again. The service checks whether the session still
// exists.
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

// Ends sessions when their processes end.
class SessionWatch {
public:
    SessionWatch() = default;
    SessionWatch(const SessionWatch&) = delete;
    SessionWatch& operator=(const SessionWatch&) = delete;
    virtual ~SessionWatch() = default;

    // Also binds the session to `processes`.
    virtual void watch(const SessionId& session, const std::vector<ProcessId>& processes) = 0;
};

class CallObserver;

// Returns true if the call searches much of the lock table or the history, or waits for a sync. A
// thread that reads from clients must not execute such a call, because it would delay the others.
bool may_take_long(const CallBody& body);
// Returns true if the call changes nothing, so that its reply can be replaced by an error.
bool only_reads(const CallBody& body);
// Returns false for calls that renew or end something, and for Ping: their replies are small, and a
// client at a limit needs them.
bool needs_room(const CallBody& body);

struct DispatcherOptions {
    // The store and its durability, as Ping reports them.
    std::string store;
    std::string durability;
    // The uid of the administrator, in addition to root.
    uid_t administrator = 0;
    // Observes all calls. May be null.
    CallObserver* observer = nullptr;
    // Copies the store into a directory. Empty if there is no store to copy.
    std::function<Result<void>(const std::string& directory)> backup{};
    // The clock of the service. Null: the clock of the machine.
    Clock* clock = nullptr;
    // Run a function on a thread that processes no calls: `background` a long search, `cleanup` the
    // release of the locks of disconnected clients. Empty: the function runs on the calling thread.
    std::function<void(std::function<void()> search)> background{};
    std::function<void(std::function<void()> clean)> cleanup{};
    // Called after each request. The server must then call ServerService::flush() soon; one call
    // can complete many requests. Empty: the service completes each request on its own.
    std::function<void()> flush_soon{};
    // Manages the bindings of tables to resources, and the drafts. Null: there are no tables.
    TableService* tables = nullptr;
};

// The reasons that are stored when a session ends with its process or its connection.
inline constexpr std::string_view process_gone = "its process has ended";
inline constexpr std::string_view connection_gone = "its connection has ended";

// Threads:  thread-safe.
// Lifetime: borrows the service, the watch and the observer. The watch and the observer may be
// null.
class Dispatcher {
public:
    using Done = std::function<void(Result<Reply>)>;

    Dispatcher(ServerService& service, SessionWatch* watch, DispatcherOptions options)
        : service_(service), watch_(watch), options_(std::move(options)) {}
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;
    // Waits for a running backup.
    ~Dispatcher();

    // Executes a call. Calls `done` exactly once, immediately or later, on any thread. Returns a
    // ticket if the call can be cancelled while it waits. `proven` belongs to the calling client
    // and may be null; no other thread may use it meanwhile.
    std::optional<Ticket> submit(Call call, const Caller& caller, Done done,
                                 ProvenSession* proven = nullptr);
    void cancel(Ticket ticket) { service_.cancel(ticket); }
    // Cancels the waits and ends the sessions of a disconnected client, and gives back the grants
    // that did not reach it. This happens soon, together with other clients, in
    // release_disconnected().
    void disconnect(Disconnect disconnected) ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Does the work that disconnect() has collected. Must be called before the service is flushed.
    void release_disconnected() ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Returns true if the caller is an administrator.
    bool may_administer(const Caller& caller) const;
    Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock(); }

    // unbind() records a recovered session that was bound to a connection of the previous daemon.
    // rebind() returns true for the first connection that claims such a session.
    void unbind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);
    bool rebind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);

    // Ends the session of a client that has disconnected or whose process has ended. `why` is the
    // reason that is recorded for the end of its grants.
    void close_session(const SessionId& session, std::string_view why);

private:
    // The processes to watch after a call has succeeded.
    struct Binding {
        std::vector<ProcessId> processes;
        // The session that they join; nullopt: the session that the call opens.
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
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

    Mutex disconnecting_mutex_;
    Disconnect disconnecting_ ROCKLOCK_GUARDED_BY(disconnecting_mutex_);

    Mutex unbound_mutex_;
    std::set<SessionId> unbound_ ROCKLOCK_GUARDED_BY(unbound_mutex_);

    // One backup at a time, on its own thread, because it reads and writes whole files.
    Mutex backup_mutex_;
    bool backing_up_ ROCKLOCK_GUARDED_BY(backup_mutex_) = false;
    std::thread backup_thread_ ROCKLOCK_GUARDED_BY(backup_mutex_);
};

// Observes each call. Threads: thread-safe.
class CallObserver {
public:
    CallObserver() = default;
    CallObserver(const CallObserver&) = delete;
    CallObserver& operator=(const CallObserver&) = delete;
    virtual ~CallObserver() = default;

    // Returns the function that is called with the reply instead of `done`. It must call `done`.
    virtual Dispatcher::Done observe(const Call& call, const Caller& caller,
                                     Dispatcher::Done done) = 0;
};

}  // namespace rocklock
