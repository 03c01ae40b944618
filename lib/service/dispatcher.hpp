// Executes a call: checks the caller's rights and the secret of the session, binds sessions to
// processes, and passes the call to the lock service.
//
// The dispatcher does not depend on the transport. Calls from sockets pass through a dispatcher,
// and so do the calls of a program that opens a store without a daemon. The same rules therefore
// apply to all calls.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "lock/manager/server_service.hpp"
#include "service/cluster_service.hpp"
#include "service/log_event.hpp"
#include "service/principal_rule.hpp"
#include "service/remote_users.hpp"
#include "service/user_identities.hpp"
#include "wire/call.hpp"

namespace rocklock {

// The uid of every caller over TCP, because the kernel cannot identify such callers.
inline constexpr uid_t nobody_known = static_cast<uid_t>(-1);
// Returns true if `user` is the user of all callers over TCP of some host: the manager's or another
// one.
constexpr bool is_unknown(UserId user) { return uid_of(user) == nobody_known; }

// The caller, as identified by the kernel of its host.
struct Caller {
    // See Dispatcher::user_here().
    UserId uid = 0;
    // 0 if the calling process is in another pid namespace or calls over TCP.
    pid_t pid = 0;
    // Whether the caller is an administrator although it is neither root nor the user of the
    // daemon.
    bool administrator = false;
    // The host of the caller. Null for the host of the manager, also in a cluster.
    std::shared_ptr<const RemoteNode> node{};
    // The start time of the process with the number `pid`. Set only for callers of another host.
    std::uint64_t start_time = 0;
};

// The last session for which a client has presented the right secret. The secret of a session never
// changes, so a later call with the same secret need not be checked again. The service checks
// whether the session still exists.
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

    // Binds the session to `processes` of `host`, in addition to those to which it is already
    // bound.
    virtual void watch(const SessionId& session, const ClientHost& host,
                       const std::vector<ProcessId>& processes) = 0;

    struct FoundProcess {
        // nullopt if there is no such process.
        std::optional<ProcessId> process;
        // Whether the process belongs to another user than `uid`, and `uid` is not root.
        bool of_another_user = false;
    };
    using FindDone = std::function<void(const Result<FoundProcess>&)>;
    // Searches for the process with the number `pid` on another host. `uid` is the uid of the
    // caller on that host, which wants to bind a session to the process. Calls `done` exactly
    // once, immediately or later, on any thread.
    //
    // Errors: unreachable     the relay of the host is not connected, or has not answered
    //         limit_exceeded  too many searches on this host are in progress
    //         closing         the server shuts down
    virtual void find(const ClientHost& host, std::uint32_t uid, std::int32_t pid,
                      FindDone done) = 0;
};

class DirectCall;

// Observes each call. Implementations must be thread-safe.
class CallObserver {
public:
    CallObserver() = default;
    CallObserver(const CallObserver&) = delete;
    CallObserver& operator=(const CallObserver&) = delete;
    virtual ~CallObserver() = default;

    using Done = std::function<void(Result<Reply>&&)>;

    // The facts about a call that are needed when its reply is recorded.
    struct Started {
        // The index of the verb in CallBody.
        std::size_t verb = 0;
        // Whether the call can change something.
        bool decides = false;
        // The time of begin().
        std::chrono::steady_clock::time_point at;
        // The event that is logged if the call succeeds. Null for most calls.
        std::shared_ptr<const LogEvent> action;
    };
    // Called before each call is executed, unless it is a direct call (direct_call.hpp).
    virtual Started begin(const Call& call, const Caller& caller) = 0;
    // Called once for each call with its reply, on any thread. Must call `done` with the reply.
    virtual void end(const Started& started, Result<Reply>&& reply, const Done& done) = 0;
    // Called instead of the function above for a direct call that did not wait, on any thread. If
    // `error` is null, the call has succeeded, and a mutex of its connection may be held: the
    // function must not call the connection. `now` is the time at which the call ended; it was read
    // once for several calls.
    virtual void end(const Started& started, const Error* error,
                     std::chrono::steady_clock::time_point now) = 0;
};

// Returns true if the call searches much of the lock table or the history, or waits for a sync. A
// thread that reads from clients must not execute such a call, because this would delay the other
// clients.
bool may_take_long(const CallBody& body);
// Returns true if the call changes nothing, so that its reply can be replaced by an error.
bool only_reads(const CallBody& body);
// Returns whether a call may be refused if the client has reached a limit. Returns false for calls
// that renew or end something and for Ping: their replies are small, and a client needs these calls
// even at its limit.
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
    // The clock of the service. If null, the clock of the machine.
    Clock* clock = nullptr;
    // These two functions run their argument on a thread that processes no calls. `background` runs
    // long searches; `cleanup` runs the release of the locks of disconnected clients. If one is
    // empty, its argument runs on the calling thread.
    std::function<void(std::function<void()> search)> background{};
    std::function<void(std::function<void()> clean)> cleanup{};
    // Called after each request. The server must then soon call ServerService::flush(); one call of
    // flush() can complete many requests. If `flush_soon` is empty, the service completes each
    // request without flush().
    std::function<void()> flush_soon{};
    // Manages the bindings of tables to resources, and the drafts. Null if there are no tables.
    TableService* tables = nullptr;
    // Executes the calls about the nodes of a cluster. Null if this process is not a node.
    ClusterService* cluster = nullptr;
    // The host of the callers without a node. Empty if only this host can have the manager. In a
    // cluster, it is stored with the sessions of these callers, because another node can become the
    // manager.
    ClientHost own_host{};
    // The rule for the principals that clients may use. It does not apply to administrators.
    PrincipalFromUid principal_from_uid = PrincipalFromUid::off;
    // Finds the user and the groups of a uid, for the rights of classes. If empty, they are looked
    // up in the databases of the system.
    UserIdentities::Lookup identities{};
    // Returns whether the disk is almost full (Storage::accepts_growth()). If empty, the disk
    // counts as not full.
    std::function<bool()> low_space{};
    // Whether clients may ask for shared memory.
    bool shared_memory = false;
};

// The reasons that are stored when a session ends with its process or its connection.
inline constexpr std::string_view process_gone = "its process has ended";
inline constexpr std::string_view connection_gone = "its connection has ended";

// Threads:  thread-safe.
// Lifetime: borrows the service, the watch and the observer. The watch and the observer may be
// null.
class Dispatcher {
public:
    using Done = CallObserver::Done;

    Dispatcher(ServerService& service, SessionWatch* watch, DispatcherOptions options)
        : service_(service),
          watch_(watch),
          options_(std::move(options)),
          remote_users_(options_.own_host.node),
          principals_(options_.principal_from_uid, remote_users_),
          identities_(remote_users_, options_.identities),
          boot_id_(clock().boot_id()) {}
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;
    // Waits for a running backup.
    ~Dispatcher();

    // Returns whether the call names a process of another host, which must be found first.
    static bool searches_for_process(const Call& call, const Caller& caller);
    // Executes a call. Calls `done` exactly once, immediately or later, on any thread. If the call
    // waits and can be cancelled, returns its ticket. `proven` is that of the calling client; it
    // may be null, and no other thread may use it during submit().
    //
    // If searches_for_process() returns true, submit() returns no ticket. If the call waits after
    // the process was found, `late_ticket` is called once with the ticket, on any thread.
    std::optional<Ticket> submit(Call&& call, const Caller& caller, Done done,
                                 ProvenSession* proven = nullptr,
                                 std::function<void(Ticket)> late_ticket = {});
    // Decides a direct call immediately; see ServerService::decide_now(). Returns false without
    // effect if the call must be passed to submit().
    bool decide_now(const DirectCall& call, const Caller& caller, const ProvenSession& proven,
                    DirectRequest& request);
    // Returns the function that must receive the response of the service to a direct call that
    // waits. It passes the reply to `done`.
    LockService::Completion completion_of(const CallObserver::Started& started, Done done);
    // Begins and ends the observation of a direct call. `error` is null if the call has succeeded.
    CallObserver::Started begin(const DirectCall& call) const;
    void end(const CallObserver::Started& started, const Error* error,
             std::chrono::steady_clock::time_point now) const;
    void cancel(Ticket ticket) { service_.cancel(ticket); }
    // Records the waits, sessions and undelivered grants of a disconnected client.
    // release_disconnected() ends them, together with those of other disconnected clients.
    void disconnect(Disconnect disconnected) ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Cancels the waits, ends the sessions and releases the undelivered grants that disconnect()
    // has recorded. Must be called before ServerService::flush().
    void release_disconnected() ROCKLOCK_EXCLUDES(disconnecting_mutex_);
    // Returns true if the caller is an administrator.
    bool may_administer(const Caller& caller) const;
    Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock(); }

    // unbind() records a recovered session that was bound to a connection of the previous daemon
    // process. For such a session, the first call of rebind() returns true and later calls false,
    // so that only the first connection that claims the session gets it.
    void unbind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);
    bool rebind(const SessionId& session) ROCKLOCK_EXCLUDES(unbound_mutex_);

    // Ends the session of a client that has disconnected or whose process has ended. `why` is the
    // reason that is recorded for the end of the session's grants.
    void close_session(const SessionId& session, std::string_view why);

    // Returns the rule for principals. Requests for tables, which are not calls of the lock API and
    // can name a principal, use it too.
    PrincipalRule& principals() { return principals_; }
    // Returns the users of other hosts. A server adds a user before the first call of its client.
    RemoteUsers& remote_users() { return remote_users_; }
    // Returns the user with this uid on the manager's host.
    UserId user_here(std::uint32_t uid) const { return remote_users_.user_here(uid); }
    // Returns whether the caller has another boot clock than the manager.
    bool has_other_boot(const Caller& caller) const {
        return caller.node && caller.node->host.boot_id != boot_id_;
    }
    // Returns the name of the user of the caller, for messages and the audit log.
    std::string name_of(const Caller& caller) const;

private:
    // The processes to watch after a call has succeeded, and the principal to add to its reply.
    struct Binding {
        std::vector<ProcessId> processes;
        ClientHost host;
        // The session that the processes join. If nullopt, the session that the call opens.
        std::optional<SessionId> joined;
        // The principal of the session that the call opens, if it differs from the one that the
        // caller has given.
        std::string principal;
    };

    // Null for most calls, so that these calls do not construct and move an empty Binding.
    using BindingPtr = std::shared_ptr<Binding>;
    // Returns the binding, and creates it if it is null.
    static Binding& binding_of(BindingPtr& binding);

    // Passes the reply to the observer, which calls `done`, or to `done` if there is no observer.
    struct Replier {
        Done done;
        CallObserver* observer = nullptr;
        CallObserver::Started started{};

        void operator()(Result<Reply>&& reply) const {
            if (observer != nullptr) return observer->end(started, std::move(reply), done);
            done(std::move(reply));
        }
    };

    // `found` is the process of another host that the call names, or null if the call names none.
    Result<BindingPtr> prepare(Call& call, const Caller& caller, ProvenSession* proven,
                               const Result<SessionWatch::FoundProcess>* found);
    Result<void> bind_processes(Call& call, const Caller& caller, BindingPtr& binding,
                                const Result<SessionWatch::FoundProcess>* found);
    void search_for_process(Call call, const Caller& caller, Replier done,
                            std::function<void(Ticket)> late_ticket);
    // Returns whether a class gives users or groups a right that the call may need.
    bool depends_on_rights(const CallBody& body);
    // Adds the identities of a caller that is not an administrator to the call, so that the service
    // can check the rights that classes give. Returns an error if the call requires administrator
    // rights and no class gives a right that could replace them.
    Result<void> add_rights(CallBody& body, const Caller& caller);
    std::optional<Ticket> start(Call&& call, const Caller& caller, Replier done,
                                ProvenSession* proven,
                                const Result<SessionWatch::FoundProcess>* found = nullptr);
    Result<void> set_principal(CallBody& body, const Caller& caller, BindingPtr& binding);
    Result<void> prove(const Call& call, ProvenSession* proven);
    void disconnect_in_pieces(const Disconnect& disconnected, std::chrono::microseconds pause);
    void answer_query(Call call, bool administrator, Done done);
    Result<Reply> answer_query(const Call& call, bool administrator);
    Result<SessionDetail> show_session(const ShowSession& request, const Secret& secret);
    Result<SessionPage> list_sessions(const ListSessions& request);
    Result<Reply> bindings(const CallBody& body);
    Result<Reply> cluster_call(const CallBody& body);
    // The principal whose drafts a call reads or deletes, and the restriction
    // DraftsRequest::only_of.
    struct DraftOwner {
        std::string principal;
        std::optional<UserId> only_of;
    };
    Result<DraftOwner> draft_owner(const Call& call, const std::optional<SessionId>& session,
                                   const std::string& named, bool administrator);
    Result<Reply> drafts(const Call& call, bool administrator);
    void end_sessions(EndSessions request, std::string by, Done done);
    void back_up(const std::string& directory, Done done);
    void run_alone(std::function<Result<Reply>()> task, Done done);
    Ticket watch(WatchRequest request, Done done);
    LockService::Completion completion_of(BindingPtr binding, bool opens, Replier&& done);
    Ticket decide(Request&& request, BindingPtr binding, Replier&& done);

    ServerService& service_;
    SessionWatch* watch_;
    DispatcherOptions options_;
    RemoteUsers remote_users_;
    PrincipalRule principals_;
    UserIdentities identities_;
    const std::string boot_id_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

    Mutex disconnecting_mutex_;
    Disconnect disconnecting_ ROCKLOCK_GUARDED_BY(disconnecting_mutex_);

    Mutex unbound_mutex_;
    std::set<SessionId> unbound_ ROCKLOCK_GUARDED_BY(unbound_mutex_);

    // Backups and checks of the node, one at a time, on a thread of their own, because they read
    // the whole store.
    Mutex long_task_mutex_;
    bool long_task_runs_ ROCKLOCK_GUARDED_BY(long_task_mutex_) = false;
    std::thread long_task_thread_ ROCKLOCK_GUARDED_BY(long_task_mutex_);
};

}  // namespace rocklock
