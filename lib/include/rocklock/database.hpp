// The entry point of the library: a Database is either an open store or a connection to a daemon.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/rehearsal.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/session.hpp>
#include <rocklock/storage/etcd.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

struct DatabaseOptions {
    // Whether to create the directory and an empty store if there is none.
    bool create_if_missing = true;
    // Determines when a request whose result must be durable, such as an acquire, is answered. With
    // Durability::durable, it is answered after the sync to disk. With `written`, it is answered as
    // soon as the operating system has accepted the commit, which is faster, but a power cut may
    // revoke the last grants. With `deferred`, the database cannot be opened (invalid_argument).
    Durability durability = Durability::durable;
    // Whether the directory was restored from a copy. If true, all sessions and grants in it end
    // (`broken`, reason "restored"). New tokens are then greater than every token that the original
    // store may have issued after the copy was made. Copies made by backup() or restore_store() are
    // marked, so they do not need this option.
    bool restored = false;
    // Whether the database has background threads. If false, the caller must call Database::tick(),
    // which renews sessions, ends sessions whose lease has expired, and refuses requests whose wait
    // timeout has passed. Use false for simulations, and in programs that manage all their threads
    // themselves. A store on disk has a thread in any case, which writes files while the store is
    // idle.
    bool background = true;
    // The maximum number of events that are kept in memory for LockService::watch(). With 0, no
    // events are kept and watch() fails.
    std::size_t events_kept = 0;
    // Whether the duration of each acquire is measured (LockStatistics::acquire). The measurement
    // reads the clock once more for each acquire.
    bool timings = false;
    // If a request has waited for this time and still waits, `on_slow_wait` is called for it once,
    // on a thread of the database. With zero, it is never called.
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    // The limits of each user, for a server. The default is no limits.
    UserLimits user_limits{};
    // Whether the usage of each user is counted even if there is no limit. Must be true if
    // `user_limits` contains no limit and set_user_limits() will set one later.
    bool count_users = false;
    // The time for which the history, drafts and the audit log are kept.
    Retention retention{};
    // For tables: the time from the start of one sweep for expired items to the start of the next.
    std::chrono::milliseconds sweep_period{10'000};
    // For tables: the region in their ARNs (Amazon resource names), such as "eu-west-1". Must
    // satisfy is_region(). An ARN with another region matches no table.
    std::string region = "local";
    // For tables: faults to inject, for tests of programs that use the tables.
    Rehearsal rehearsal;
    // The clock; must outlive the database. If null, the clock of the machine is used.
    Clock* clock = nullptr;
    // For a directory in Database::open() only. RocksdbOptions::create_if_missing is ignored;
    // DatabaseOptions::create_if_missing applies instead.
    RocksdbOptions rocksdb;
    // For an etcd:// URL in Database::open() only.
    EtcdOptions etcd;
};

// Options of Database::connect().
struct ConnectOptions {
    // The maximum time that a call waits for a connection, and the maximum time that it then waits
    // for the response. If the request has a wait timeout, the time for the response is counted
    // from the end of the wait timeout. Renewals, releases and closings of sessions wait for a
    // shorter time.
    std::chrono::milliseconds patience{10'000};
    // Whether the database has background threads. If false, the caller must call Session::renew()
    // for each session, or call Database::tick().
    bool background = true;
    // The clock; must outlive the database. If null, the clock of the machine is used.
    Clock* clock = nullptr;
    // Used if the socket path is empty and the selected manager is the private daemon of this user:
    // whether to start this daemon if it is not running. It is then started by connect(), and again
    // later if a call or a renewal needs it. Other managers are started by the system.
    bool start = false;
    // Used if the socket path is empty: the program `rocklock`, as a path or as a name that is
    // searched for in PATH. The program selects the manager and starts the daemon.
    std::string program = "rocklock";
};

// An open store, or a connection to a daemon.
//
// Threads:    thread-safe. In a child process after a fork, calls fail with store_in_use; the child
//             may destroy its copies of the objects.
// Lifetime:   must outlive its sessions and guards. After a move, calls of the moved-from object
//             fail with invalid_argument.
// Durability: with Durability::durable, a grant is synced to disk before acquire() returns it. A
//             release may be lost in a crash; the grant then ends with its lease. A renewal
//             returns after the operating system has accepted its commit.
class ROCKLOCK_API Database {
public:
    // Opens the store in a directory, or the store on etcd whose URL has the form
    // etcd://HOST:PORT[,HOST:PORT...][/PREFIX][?tls] (see <rocklock/storage/etcd.hpp>). Only one
    // process at a time can have a store open.
    //
    // Errors: invalid_argument (an option), store_in_use (with the pid, or with the manager of a
    //         store on etcd), not_a_store, read_only, newer_format, corrupt, no_space, io_error;
    //         for a store on etcd also those of open_etcd_storage(). If open() cannot open an
    //         existing store, no committed data is changed.
    static Result<Database> open(const std::string& directory, DatabaseOptions options = {});
    // Creates a store in memory. It is lost when the object is destroyed. Errors: invalid_argument.
    static Result<Database> in_memory(DatabaseOptions options = {});
    // Opens a store on another Storage, such as the test kit's. Errors: invalid_argument, corrupt,
    // and those of the storage.
    static Result<Database> open_on(std::unique_ptr<Storage> storage, DatabaseOptions options = {});

    // Connects to the daemon that listens on a Unix socket; the daemon has the store. If the path
    // is empty, connects to the manager that the command line would use (docs/cli.md, "Selecting
    // the daemon"). `rocklock status` shows which manager that is.
    //
    // The functions below work as documented, with these differences:
    //   - If the connection is lost, the client connects again and repeats those requests that can
    //     be repeated safely. In addition to the errors below, a call can fail with `unreachable`
    //     if its request had no effect, and with `indeterminate` if it is unknown whether the
    //     request had an effect.
    //   - The client counts a lease from the time at which it sent the request. For the client, the
    //     lease therefore ends slightly earlier than for the daemon.
    //   - The daemon sends a notice about a grant of a session as soon as the event is committed.
    //     Notices about events that occur while there is no connection arrive with the next
    //     renewal.
    //   - The grants of a session outlive the connection. close() does not release them; they end
    //     with the lease of the session.
    //   - Functions that cannot return an error (classes(), statistics()) return empty values while
    //     the daemon is unreachable.
    //   - Only administrators of the daemon may break grants, end sessions with end_session(),
    //     end_sessions() or end_sessions_of_user(), make backups, change classes and bind tables.
    //     For other users, these calls fail with access_denied. LockClass::break_by and
    //     LockClass::bind_by make exceptions for single classes. Administrators may also steal from
    //     classes with StealPolicy::never. The audit log records a break with the name of the user.
    //   - backup() makes the daemon write the copy, on the daemon's machine and as the daemon's
    //     user. The call has no time limit. It fails if the connection is lost, and with
    //     store_in_use while another backup runs.
    //   - tables() returns the daemon's tables. A LockProof must name a session that was opened or
    //     resumed by this object; otherwise the request fails with not_owner. If the connection is
    //     lost, reads and transactions with an idempotency token are repeated. list_drafts(),
    //     take_draft() and discard_draft() require an open session of the principal, or
    //     administrator rights. sweep_expired() fails with invalid_argument. get_cached_item()
    //     returns none, begin_write() null, and user_usage() an empty list.
    //   - The service() accepts requests for a session, and returns the grants() of a session, only
    //     if the secret of the session was passed to this Database or returned by it.
    //     OpenSession::processes may contain at most one process; JoinProcess adds more.
    //   - If ConnectOptions::background is false, tick() renews sessions and handles those whose
    //     lease has expired. Waits for locks do not need tick().
    //
    // Errors: unreachable (for example because the path is too long, or the program is not found),
    //         invalid_argument (a negative patience, or an invalid configuration), access_denied
    //         (this user may not connect to the configured manager).
    static Result<Database> connect(const std::string& socket_path,
                                    const ConnectOptions& options = {});

    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    // Closes the database and ignores errors; call close() to see them.
    ~Database();

    // Opens a session, by default with automatic renewal. Errors: invalid_argument (the principal,
    // the lease, or times that violate the constraints of SessionOptions), limit_exceeded (the size
    // of note and metadata, or a limit of the user), io_error, no_space, closing.
    Result<Session> open_session(std::string_view principal, SessionOptions options = {});
    // Resumes and renews a session that was detached or has outlived its process. The members
    // `lease`, `note` and `metadata` of `options` are ignored: the session keeps its values.
    // Errors: not_owner, session_expired, session_not_found, invalid_argument, io_error, no_space,
    // closing.
    Result<Session> resume_session(const SessionCredentials& credentials,
                                   SessionOptions options = {});

    // Adds a class, or replaces the class that has the same pattern. The change takes effect
    // immediately. Errors: invalid_argument; kind_mismatch if a resource in use would change
    // between modes and permits, or would get fewer permits.
    Result<LockClass> put_class(const LockClass& lock_class);
    // Deletes a class and returns it. Errors: invalid_argument if no class has this pattern, or if
    // the class is drained; and kind_mismatch as for put_class().
    Result<LockClass> delete_class(std::string_view pattern);
    // Drain and resume a class; see DrainClass. `by` is the name of the administrator for the audit
    // log; a daemon records the name of the caller's user instead. Errors: invalid_argument if no
    // class has this pattern, or if `by` is empty; access_denied.
    Result<LockClass> drain_class(std::string_view pattern, std::string_view reason,
                                  std::string_view by);
    Result<LockClass> resume_class(std::string_view pattern, std::string_view by);
    // Returns the classes, most specific first.
    std::vector<LockClass> classes() const;

    // Returns the holders, the waiters and the last holder of a resource. Errors: invalid_argument
    // (not a valid name), io_error, corrupt.
    Result<LockView> show(std::string_view resource) const;
    // Returns a page of the current holders. Errors: invalid_argument (`limit` or `next`),
    // io_error.
    Result<LockPage> list(const ListLocks& request = {}) const;
    // Returns the live sessions of a principal, or of all principals if `principal` is empty, in
    // the order in which they were opened. Errors: io_error.
    Result<std::vector<SessionView>> sessions(std::string_view principal = {}) const;
    LockStatistics statistics() const;

    // The next three functions change the options `user_limits`, `retention` and `slow_wait` while
    // the database is open. If a limit is lowered below the current usage of a user, the user keeps
    // its sessions, grants and data, but cannot add more. A new `slow_wait` applies to waits that
    // begin after the call.
    //
    // Errors: invalid_argument   a member of `retention` is invalid; or `limits` contains a limit,
    //                            but users are not counted; or the database is a connection to a
    //                            daemon, which reads its settings from its configuration file
    Result<void> set_user_limits(const UserLimits& limits);
    Result<void> set_retention(const Retention& retention);
    Result<void> set_slow_wait(std::chrono::milliseconds slow_wait);

    // Ends a grant. `by` and `reason` are stored in the audit log and reported to the holder. The
    // errors are those of Break.
    Result<Released> break_grant(GrantId grant, std::string_view by, std::string_view reason);

    // Ends a session and all of its grants. The errors are those of EndSession.
    Result<ClosedSession> end_session(const SessionId& session, std::string_view by,
                                      std::string_view reason);
    // Ends all sessions of a principal, one after the other. If sessions of the principal are
    // opened during the call, ends them too, in at most five rounds. Returns the number of ended
    // sessions. If the call fails, the sessions that it has already ended stay ended. The errors
    // are those of EndSession.
    Result<std::uint64_t> end_sessions(std::string_view principal, std::string_view by,
                                       std::string_view reason);
    // As end_sessions(), but for all sessions that a user of the machine has opened
    // (SessionView::uid).
    Result<std::uint64_t> end_sessions_of_user(UserId uid, std::string_view by,
                                               std::string_view reason);

    // Returns the tables in the store. The pointer is valid until the database is destroyed. After
    // close(), the functions of the tables fail with `closing`. From the first call of tables() on,
    // expired items are deleted in the background if DatabaseOptions::background is true.
    Result<TableService*> tables();

    // The same as TableService::bind_table() and TableService::unbind_table(). With a daemon, these
    // functions require administrator rights, or the right of LockClass::bind_by.
    Result<TableBinding> bind_table(const TableBinding& binding);
    Result<TableBinding> unbind_table(const std::string& table);
    // Returns all bindings. Requires no special rights.
    Result<std::vector<TableBinding>> bindings() const;
    // Returns the result of show() for the resource to which an item of a bound table belongs.
    // Errors: those of show() and tables(); invalid_argument if the table is not bound, or if `key`
    // is not a key of the table.
    Result<LockView> who_edits(const std::string& table, const AttributeMap& key);

    // Returns the interface of the lock manager, for servers and tools. It executes all requests
    // and queries in <rocklock/lock.hpp>. service() must not be called after the database was moved
    // from.
    LockService& service();
    // Returns the storage of the records, for inspection and tests. storage() must not be called
    // after the database was moved from. If the database is a connection to a daemon, the daemon
    // has the records, and the returned storage is closed.
    Storage& storage();

    // Makes a consistent copy of the store in `directory`, which must not exist or must be empty.
    // Other calls are not blocked meanwhile. The first open of the copy has the effects of
    // DatabaseOptions::restored. Errors: invalid_argument (the directory, or a store that is not on
    // a disk), store_in_use (another backup writes into the directory), io_error, no_space,
    // read_only.
    Result<void> backup(const std::string& directory);

    // For databases without background threads (DatabaseOptions::background): does the work that is
    // due. Returns the time at which tick() must be called again, or none if no work depends on the
    // time.
    std::optional<BootTime> tick();

    // Completes all waiting requests with the error `closing`, then writes and syncs all queued
    // commits. Sessions and their leases continue in the store. Later calls fail with `closing`.
    // Errors: those of the storage; the database is closed nevertheless. A second call of close(),
    // even a concurrent one, succeeds immediately.
    Result<void> close();

private:
    struct State;
    explicit Database(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rocklock
