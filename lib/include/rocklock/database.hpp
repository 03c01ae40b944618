// A store, opened, or a daemon that has one: the way in for a program.
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
    // Makes the directory and an empty store where there is none.
    bool create_if_missing = true;
    // `written` answers what is durable by default once the operating system has it: faster, and a
    // power cut may take back the last grants. `deferred` is refused.
    Durability durability = Durability::durable;
    // The directory was put back from a copy. Every session and grant in it ends (`broken`,
    // "restored"), and tokens go on above all that may have been handed out since the copy was
    // made. A copy that backup() or restore_store() made says so itself.
    bool restored = false;
    // Off: nothing happens by itself. The caller renews, and calls tick() for waiters to be woken
    // by time. For simulations, and for programs that own their threads.
    bool background = true;
    // How many events are kept in memory for LockService::watch(); with 0 none are made.
    std::size_t events_kept = 0;
    // Counts how long acquires take (LockStatistics::acquire), for two readings of the clock each.
    bool timings = false;
    // Told of a wait that lasts so long, once, while it waits; zero: never. On a thread of the
    // database's.
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    // What each user may have: for a server. None by default.
    UserLimits user_limits{};
    // Of tables: from the beginning of one sweep for expired items to that of the next.
    std::chrono::milliseconds sweep_period{10'000};
    // Of tables: the region in their ARNs, as in "eu-west-1": is_region() must accept it. Requests
    // with an ARN of another region name no table.
    std::string region = "local";
    // Of tables: nuisances of the service, to try a program with.
    Rehearsal rehearsal;
    // None: the machine's. It must outlive the database.
    Clock* clock = nullptr;
    // For open() only. Its `create_if_missing` does not count: the one above does.
    RocksdbOptions rocksdb;
};

// For Database::connect().
struct ConnectOptions {
    // How long a daemon that has gone away is waited for, and how long one that does not answer. A
    // renewal, a release and a closing of a session wait less long.
    std::chrono::milliseconds patience{10'000};
    // Off: sessions are not renewed by themselves; the caller does it, or calls tick().
    bool background = true;
    // None: the machine's. It must outlive the database.
    Clock* clock = nullptr;
};

// Threads:    thread-safe. Not after a fork: a child is answered store_in_use, and may end its
//             copies.
// Lifetime:   sessions and guards must end before it does. One that was moved from answers
//             invalid_argument.
// Durability: a grant is synced to the disk before it is answered (with Durability::durable). A
//             release may be lost in a crash, and leaves the grant to its lease. A renewal is in
//             the operating system before it returns.
class ROCKLOCK_API Database {
public:
    // Opens a directory, which one process at a time may do.
    //
    // Errors: store_in_use (with the pid), not_a_store, read_only, newer_format, corrupt, no_space,
    //         io_error. A failed open changes nothing.
    static Result<Database> open(const std::string& directory, DatabaseOptions options = {});
    // Without a directory: gone with the object. Errors: invalid_argument.
    static Result<Database> in_memory(DatabaseOptions options = {});
    // On a storage of one's own: the test kit's, for example. Errors: invalid_argument, corrupt,
    // and those of the storage.
    static Result<Database> open_on(std::unique_ptr<Storage> storage, DatabaseOptions options = {});

    // The store of the daemon that listens on a Unix socket. Everything below holds, with these
    // differences:
    //   - The connection comes back by itself, and what can be sent again without harm is. Besides
    //     the errors named below there are `unreachable`, when nothing was done, and
    //     `indeterminate`, when nobody can say whether it was.
    //   - Leases are counted from when they were asked for, so they end a little earlier.
    //   - What happens to a session's grants is heard with its next renewal.
    //   - A session's grants outlive the connection: close() leaves them to their leases.
    //   - Looking at what has no error to return (classes(), statistics()) finds nothing when the
    //     daemon cannot be asked.
    //   - Who administers the daemon may break grants, back up, change classes and bind tables,
    //     others get access_denied; and steal what its class says `never` of. Breaks are in the
    //     user's name.
    //   - backup() has the daemon make the copy, on this machine and as the daemon's user: it is
    //     waited for as long as the connection stands, and store_in_use with another one under way.
    //   - Of service(): grants() and requests are for sessions whose secret was given or answered
    //     here, and a session is opened for one process at most; more join it.
    //   - With ConnectOptions::background off, tick() renews sessions and looks after those whose
    //     lease has run out; waiting takes no tick().
    // Errors: unreachable, invalid_argument.
    static Result<Database> connect(const std::string& socket_path, ConnectOptions options = {});

    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    // Closes; errors go unseen, so call close() where they matter.
    ~Database();

    // A session that renews itself. Errors: invalid_argument (the principal, the lease, or times
    // that do not fit together), limit_exceeded (note and metadata), io_error, no_space, closing.
    Result<Session> open_session(std::string_view principal, SessionOptions options = {});
    // Takes up a session that was detached, or whose process ended, and renews it. Of `options`
    // only the times count: lease, note and metadata are the session's own. Errors: not_owner,
    // session_expired, session_not_found, invalid_argument, io_error, no_space, closing.
    Result<Session> resume_session(const SessionCredentials& credentials,
                                   SessionOptions options = {});

    // Adds a class, or replaces the one with its pattern; it counts from now on. Errors:
    // invalid_argument; kind_mismatch when resources in use would change between modes and permits,
    // or have fewer permits.
    Result<LockClass> put_class(const LockClass& lock_class);
    // Answers with the class that is gone. Errors: invalid_argument when there is none; as above.
    Result<LockClass> delete_class(std::string_view pattern);
    // Most specific first.
    std::vector<LockClass> classes() const;

    // Who holds one resource, waits for it, and had it last. Errors: invalid_argument (what is no
    // name), io_error, corrupt.
    Result<LockView> show(std::string_view resource) const;
    // Who holds what, a page at a time. Errors: invalid_argument (`limit` or `next`), io_error.
    Result<LockPage> list(const ListLocks& request = {}) const;
    // Live sessions in order of opening, of one principal or of all. Errors: io_error.
    Result<std::vector<SessionView>> sessions(std::string_view principal = {}) const;
    LockStatistics statistics() const;
    // Ends another's grant; `by` and `reason` go into the audit and to the loser. Errors: as Break.
    Result<Released> break_grant(GrantId grant, std::string_view by, std::string_view reason);

    // Ends another's session with all of its grants. Errors: as EndSession.
    Result<ClosedSession> end_session(const SessionId& session, std::string_view by,
                                      std::string_view reason);
    // Ends all sessions of a principal, one after the other, those included that are opened
    // meanwhile. Returns how many. Errors: as EndSession; those before the failed one have ended.
    Result<std::uint64_t> end_sessions(std::string_view principal, std::string_view by,
                                       std::string_view reason);

    // Tables with items, in the same store; until the database is gone. Items that expire are
    // removed in the background, from the first call of this on. After close() they answer
    // `closing`. Errors: invalid_argument after connect(): the tables of a daemon are reached over
    // HTTP, with any SDK for DynamoDB.
    Result<TableService*> tables();

    // Which tables are bound to resources; as the methods of TableService, and through a connection
    // too, for who administers the daemon.
    Result<TableBinding> bind_table(const TableBinding& binding);
    Result<TableBinding> unbind_table(const std::string& table);
    // For everybody.
    Result<std::vector<TableBinding>> bindings() const;
    // Who edits an item of a bound table: show() of its resource. Errors: as show() and tables();
    // invalid_argument, when the table is not bound or the key not its key.
    Result<LockView> who_edits(const std::string& table, const AttributeMap& key);

    // Everything above and more, as requests: for servers and tools. Not of one that was moved
    // from.
    LockService& service();
    // Where it keeps its records; for looking, and for tests. Not of one that was moved from. After
    // connect(), one that is closed: the records are the daemon's.
    Storage& storage();

    // Makes a consistent copy in `directory`, which must not exist yet or be empty, while
    // everything goes on. Whoever opens the copy opens it as with DatabaseOptions::restored, the
    // first time. Errors: invalid_argument (the directory, or a store that is not on a disk),
    // io_error, no_space, read_only.
    Result<void> backup(const std::string& directory);

    // With DatabaseOptions::background off: does what is due now, and says when to come again; none
    // while nothing is to be done by time.
    std::optional<BootTime> tick();

    // Tells the waiters, writes and syncs what is queued. Sessions keep their leases. Nothing is
    // answered afterwards but `closing`. Errors: those of the storage; it is closed all the same. A
    // second call, also one that comes meanwhile, answers success at once.
    Result<void> close();

private:
    struct State;
    explicit Database(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rocklock
