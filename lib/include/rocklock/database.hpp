// The entry point of the library: a Database is an open store, or a connection to a daemon.
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
#include <rocklock/items/rehearsal.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/session.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

struct DatabaseOptions {
    // Whether to create the directory and an empty store if there is none.
    bool create_if_missing = true;
    // With `written`, commits that are durable by default are answered when the operating system
    // has accepted them. That is faster, but a power cut may revoke the last grants. With
    // `deferred`, the database cannot be opened (invalid_argument).
    Durability durability = Durability::durable;
    // Whether the directory was restored from a copy. If so, all sessions and grants in it end
    // (`broken`, reason "restored"), and new tokens are greater than every token that the original
    // store may have issued after the copy was made. A copy made by backup() or restore_store() is
    // marked and does not need this option.
    bool restored = false;
    // Whether the database has background threads. If false, the caller must renew sessions, and
    // must call tick(), which ends the leases and wait timeouts that have expired. For simulations,
    // and for programs that manage all their threads themselves.
    bool background = true;
    // The maximum number of events that are kept in memory for LockService::watch(). 0: no events.
    std::size_t events_kept = 0;
    // Whether the duration of each acquire is measured (LockStatistics::acquire). This reads the
    // clock twice for each acquire.
    bool timings = false;
    // `on_slow_wait` is called once for each request that has waited this long and still waits, on
    // a thread of the database. Zero: never.
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    // The limits of each user, for a server. Default: no limits.
    UserLimits user_limits{};
    // For tables: the time from the start of one sweep for expired items to the start of the next.
    std::chrono::milliseconds sweep_period{10'000};
    // For tables: the region in their ARNs, such as "eu-west-1"; must satisfy is_region(). A
    // request with an ARN of another region does not find its table.
    std::string region = "local";
    // For tables: faults to inject, to test the programs that use the tables.
    Rehearsal rehearsal;
    // The clock; none: the clock of the machine. Must outlive the database.
    Clock* clock = nullptr;
    // For open() only. Its `create_if_missing` is ignored; the member above applies.
    RocksdbOptions rocksdb;
};

// Options of Database::connect().
struct ConnectOptions {
    // The maximum time that a call waits for a connection, and for a response in addition to the
    // wait timeout of the request. Renewals, releases and closings of sessions wait for a shorter
    // time.
    std::chrono::milliseconds patience{10'000};
    // Whether the database has background threads. If false, the caller must renew sessions, or
    // call tick().
    bool background = true;
    // The clock; none: the clock of the machine. Must outlive the database.
    Clock* clock = nullptr;
};

// An open store, or a connection to a daemon.
//
// Threads:    thread-safe. In a child after a fork, calls fail with store_in_use; the child may
//             destroy its copies.
// Lifetime:   must outlive its sessions and guards. After a move, calls to the old object fail
//             with invalid_argument.
// Durability: a grant is synced to the disk before it is answered (with Durability::durable). A
//             release may be lost in a crash; the grant then ends with its lease. A renewal is
//             accepted by the operating system before it returns.
class ROCKLOCK_API Database {
public:
    // Opens the store in a directory. One process can have it open at a time.
    //
    // Errors: store_in_use (with the pid), not_a_store, read_only, newer_format, corrupt, no_space,
    //         io_error. If open() fails, it changes nothing.
    static Result<Database> open(const std::string& directory, DatabaseOptions options = {});
    // Creates a store in memory. It is lost when the object is destroyed. Errors: invalid_argument.
    static Result<Database> in_memory(DatabaseOptions options = {});
    // Opens a store on another Storage, such as the test kit's. Errors: invalid_argument, corrupt,
    // and those of the storage.
    static Result<Database> open_on(std::unique_ptr<Storage> storage, DatabaseOptions options = {});

    // Connects to the daemon that listens on a Unix socket and uses its store. The functions below
    // work as documented, with these differences:
    //   - After a connection is lost, the client reconnects and repeats the requests that can be
    //     repeated safely. In addition to the errors below, a call can fail with `unreachable` if
    //     the request had no effect, and with `indeterminate` if it is unknown whether it had one.
    //   - The client counts a lease from the time at which it requested the lease, so the lease
    //     ends slightly earlier for the client than for the daemon.
    //   - The daemon pushes the notices about the grants of a session when they are decided. Those
    //     that are decided while there is no connection are received with the next renewal.
    //   - The grants of a session outlive the connection: close() does not release them. They end
    //     with the lease of the session.
    //   - Functions that cannot return an error (classes(), statistics()) return empty values while
    //     the daemon is unreachable.
    //   - Only administrators of the daemon may break grants, end sessions with end_session() and
    //     the two functions after it, make backups, change classes and bind tables. For other
    //     users, these calls fail with access_denied. Administrators may also steal from classes
    //     with StealPolicy::never. Breaks are recorded with the user's name.
    //   - backup() makes the daemon write the copy, on its machine and as its user. The call has no
    //     time limit; it fails if the connection is lost. It fails with store_in_use while another
    //     backup runs.
    //   - With service(), grants() and requests work only for sessions with a secret that was
    //     passed to or returned by this object. OpenSession::processes may contain at most one
    //     process; JoinProcess adds more.
    //   - With ConnectOptions::background off, tick() renews sessions and handles those with an
    //     expired lease. Waits for locks do not need tick().
    //
    // Errors: unreachable (also if the path is too long), invalid_argument (a negative patience).
    static Result<Database> connect(const std::string& socket_path, ConnectOptions options = {});

    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    // Closes the database and ignores errors; call close() to see them.
    ~Database();

    // Opens a session with automatic renewal. Errors: invalid_argument (the principal, the lease,
    // or times that violate the constraints of SessionOptions), limit_exceeded (note and metadata),
    // io_error, no_space, closing.
    Result<Session> open_session(std::string_view principal, SessionOptions options = {});
    // Resumes a session that was detached, or that outlived its process, and renews it. `lease`,
    // `note` and `metadata` of `options` are ignored: the session keeps its own. Errors: not_owner,
    // session_expired, session_not_found, invalid_argument, io_error, no_space, closing.
    Result<Session> resume_session(const SessionCredentials& credentials,
                                   SessionOptions options = {});

    // Adds a class, or replaces the class with the same pattern. It takes effect immediately.
    // Errors: invalid_argument; kind_mismatch if a resource in use would change between modes and
    // permits, or would have fewer permits.
    Result<LockClass> put_class(const LockClass& lock_class);
    // Deletes a class and returns it. Errors: invalid_argument if there is none with this pattern;
    // otherwise as put_class().
    Result<LockClass> delete_class(std::string_view pattern);
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
    // Ends a grant of another session. `by` and `reason` are stored in the audit log and reported
    // to the holder. Errors: as Break.
    Result<Released> break_grant(GrantId grant, std::string_view by, std::string_view reason);

    // Ends a session and all of its grants. Errors: as EndSession.
    Result<ClosedSession> end_session(const SessionId& session, std::string_view by,
                                      std::string_view reason);
    // Ends all sessions of a principal one after the other. If sessions were opened meanwhile, ends
    // these too, in up to five rounds in total. Returns the number of ended sessions. After an
    // error, the sessions that were ended before the failed one stay ended. Errors: as EndSession.
    Result<std::uint64_t> end_sessions(std::string_view principal, std::string_view by,
                                       std::string_view reason);
    // As end_sessions(), for all sessions that a user of the machine has opened (SessionView::uid).
    Result<std::uint64_t> end_sessions_of_user(std::uint32_t uid, std::string_view by,
                                               std::string_view reason);

    // Returns the tables in the same store; the pointer is valid as long as the database. After the
    // first call, expired items are deleted in the background. After close(), the tables fail with
    // `closing`. Errors: invalid_argument after connect(); the tables of a daemon are accessed over
    // HTTP, with any SDK for DynamoDB.
    Result<TableService*> tables();

    // Bind a table to resources, and remove its binding, as the functions of TableService with
    // these names do. After connect(), these functions require administrator rights.
    Result<TableBinding> bind_table(const TableBinding& binding);
    Result<TableBinding> unbind_table(const std::string& table);
    // Returns all bindings. Requires no special rights.
    Result<std::vector<TableBinding>> bindings() const;
    // Returns show() of the resource to which an item of a bound table belongs. Errors: as show()
    // and tables(); invalid_argument if the table is not bound or `key` is not a key of the table.
    Result<LockView> who_edits(const std::string& table, const AttributeMap& key);

    // Returns the interface for requests, for servers and tools. It executes all lock requests and
    // queries above, and others. Must not be called after the database was moved from.
    LockService& service();
    // Returns the storage of the records, for inspection and tests. Must not be called after the
    // database was moved from. After connect(), returns a closed storage, since the daemon has the
    // records.
    Storage& storage();

    // Makes a consistent copy of the store in `directory`, which must not exist or must be empty.
    // Other calls continue meanwhile. The first open of the copy acts as with
    // DatabaseOptions::restored. Errors: invalid_argument (the directory, or a store that is not on
    // a disk), store_in_use (another backup writes into the directory), io_error, no_space,
    // read_only.
    Result<void> backup(const std::string& directory);

    // If DatabaseOptions::background is false: does the work that is due and returns the time at
    // which tick() must be called again. Returns none if no work depends on time.
    std::optional<BootTime> tick();

    // Completes all waiting requests with `closing`, then writes and syncs all queued commits.
    // Sessions keep their leases. Later calls fail with `closing`. Errors: those of the storage;
    // the database is closed nevertheless. A second call, even a concurrent one, succeeds
    // immediately.
    Result<void> close();

private:
    struct State;
    explicit Database(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rocklock
