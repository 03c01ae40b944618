// A store, opened: the way in for a program that embeds Rocklock.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/session.hpp>
#include <rocklock/storage.hpp>

namespace rocklock {

struct DatabaseOptions {
    // Makes the directory and an empty store where there is none.
    bool create_if_missing = true;
    // `written` answers what is durable by default once the operating system has it: faster, and a
    // power cut may take back the last grants.
    Durability durability = Durability::durable;
    // The directory was put back from a copy. Every session and grant in it ends (`broken`,
    // "restored"), and tokens go on above all that may have been handed out since the copy was
    // made.
    bool restored = false;
    // Off: nothing happens by itself. The caller renews, and calls tick() for waiters to be woken
    // by time. For simulations, and for programs that own their threads.
    bool background = true;
    // None: the machine's. It must outlive the database.
    Clock* clock = nullptr;
    RocksdbOptions rocksdb;
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
    // Without a directory: gone with the object.
    static Result<Database> in_memory(DatabaseOptions options = {});
    // On a storage of one's own: the test kit's, for example.
    static Result<Database> open_on(std::unique_ptr<Storage> storage, DatabaseOptions options = {});

    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    // Closes; errors go unseen, so call close() where they matter.
    ~Database();

    // A session that renews itself.
    Result<Session> open_session(std::string_view principal, SessionOptions options = {});
    // Takes up a session that was detached, or whose process ended. Errors: not_owner,
    // session_expired, session_not_found.
    Result<Session> resume_session(const SessionCredentials& credentials,
                                   SessionOptions options = {});

    // Classes. Errors: invalid_argument.
    Result<LockClass> put_class(const LockClass& lock_class);
    Result<LockClass> delete_class(std::string_view pattern);
    std::vector<LockClass> classes() const;

    Result<LockView> show(std::string_view resource) const;
    Result<LockPage> list(const ListLocks& request = {}) const;
    Result<std::vector<SessionView>> sessions(std::string_view principal = {}) const;
    LockStatistics statistics() const;
    // Ends another's grant; `by` and `reason` go into the audit and to the loser.
    Result<Released> break_grant(GrantId grant, std::string_view by, std::string_view reason);

    // Everything above and more, as requests: for servers and tools. Not of one that was moved
    // from.
    LockService& service();
    Storage& storage();

    // With DatabaseOptions::background off: does what is due now, and says when to come again.
    std::optional<BootTime> tick();

    // Tells the waiters, writes and syncs what is queued. Sessions keep their leases. Nothing is
    // answered afterwards but `closing`.
    Result<void> close();

private:
    struct State;
    explicit Database(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rocklock
