// Sessions with automatic renewal, and guards that release their grants.
//
//     auto session = database.open_session("ann");
//     auto guard = session->acquire("orders/42");
//     if (!guard) complain(guard.error());         // names the holder, since when, until when
//     ...                                          // edit; the lease is renewed in the background
//     guard->release();                            // or let the guard go out of scope
//
// A holder can be stopped for longer than its lease without noticing it. valid() returns what this
// process knows about its own lease, with a margin of safety. Other programs cannot rely on it;
// they can rely only on the token: docs/guarantees.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/export.hpp>
#include <rocklock/items/edit.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// When and how a session is renewed. With automatic renewal, open_session() fails with
// invalid_argument unless renew_every * 3 <= lease and margin < warn_at < lease - renew_every.
struct SessionOptions {
    // The maximum time between two automatic renewals; a random part of it is subtracted each time.
    // 0: a third of the lease.
    std::chrono::milliseconds renew_every{0};
    // Whether the session is renewed automatically. If false, the caller must call
    // Session::renew().
    bool renew = true;
    // on_warning() is called when this part of the lease is left. 0: a third of the lease.
    std::chrono::milliseconds warn_at{0};
    // valid() returns false from this time before the deadline on. 0: the larger of 200 ms and a
    // tenth of the lease, but at most a quarter of the lease.
    std::chrono::milliseconds margin{0};
    // 100 ms to 30 days.
    std::chrono::milliseconds lease = limits::lease_default;
    // Shown to other clients with each grant of the session that has no note of its own.
    std::string note;
    Metadata metadata;
};

// The members have the same meaning as in Acquire.
struct AcquireOptions {
    // Zero: do not wait. no_limit: wait without a limit.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    std::string note;
    Metadata metadata;
    std::optional<std::chrono::milliseconds> max_hold;
};

// The version of an item at the time when it was read.
struct ItemVersion {
    std::string table;
    AttributeMap key;
    // 0 if the item did not exist.
    std::uint64_t version = 0;
};

class SessionKeeper;
struct KeptSession;

// Owns a grant. The destructor releases it.
//
// Threads:  valid(), remaining() and assert_held() are thread-safe. Only one of the other functions
//           may be called at a time.
// Lifetime: may outlive its Session object, but not the Database.
//
// The destructor does not throw. After Database::connect(), it does not wait for the daemon: the
// release is sent before later calls of the Database, so these see its effect, and
// Database::close() waits until the daemon has decided it, for at most 100 ms. If the release
// fails, the grant ends with its lease.
class ROCKLOCK_API Guard {
public:
    Guard() = default;
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&& other) noexcept;
    ~Guard();

    // Returns false if the guard is empty, released or detached.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    GrantId id() const { return grant_.id; }
    Token token() const { return grant_.token; }
    const Grant& grant() const { return grant_; }
    // Returns the proof that a write must present; see <rocklock/lock_proof.hpp>.
    LockProof proof() const { return {grant_.session, grant_.token}; }

    // Returns whether the caller can still rely on the grant: it is not lost, and the lease does
    // not end within the margin. Call this before each step. It does not replace the token:
    // present the token with each write.
    bool valid() const;
    // Returns the time until valid() becomes false. Never negative.
    std::chrono::milliseconds remaining() const;
    // Returns a token whose stop is requested when valid() becomes false because the grant is lost,
    // its lease or its cap is about to end, or the session or the database is closed. It is not
    // requested by release(), detach() or the destructor. Stop callbacks run on the database's own
    // thread, or within the call or the tick() that finds the loss; they must not block for long. A
    // stop that was requested is not undone, even if a late renewal makes the grant valid again.
    // For an empty guard, returns a token whose stop is requested already.
    std::stop_token stop_token() const;

    // Releases the grant. The guard is empty afterwards, even if the release fails. Errors: as
    // Release.
    Result<Released> release();

    // Executes all actions in one commit if the grant is live and covers their items. Presents the
    // grant with each action and keeps it. Errors: as save_and_release().
    Result<TransactWriteAnswer> save(TableService& tables, TransactWrite save);

    // As save(), but also releases the grant or downgrades it to `read` in the same commit. After a
    // crash both are done or neither, and no other session is granted the lock before the data is
    // saved. After a successful save_and_release() the guard is empty.
    //
    // Errors: those of TableService::transact_write(). If the grant is lost or does not cover an
    //         item, error().reasons contains stale_token or lock_required. After an error, the
    //         grant is unchanged.
    Result<TransactWriteAnswer> save_and_release(TableService& tables, TransactWrite save);
    Result<TransactWriteAnswer> save_and_downgrade(TableService& tables, TransactWrite save);

    // Changes the mode of all locks of the grant; see Convert. The guard has the new token
    // afterwards. After an error, the grant is unchanged. Errors: conflict, patience_expired,
    // cancelled, deadlock, grant_ended, session_expired, kind_mismatch, invalid_argument, io_error,
    // no_space, closing.
    Result<void> convert(Mode mode, std::chrono::milliseconds patience = {},
                         std::stop_token stop = {});

    // Empties the guard without releasing the grant. The grant stays until its lease ends or a
    // program with the session's credentials releases it. Use it for offline locks that outlive
    // the process.
    Grant detach();

    // Fails with not_owner, and a message that names the missing lock, unless the grant is valid()
    // and covers `resource` in `mode` or a stronger one. For code that must not run without its
    // lock. A permit covers no mode.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

private:
    friend class Session;
    friend class SessionKeeper;
    Guard(std::shared_ptr<KeptSession> kept, Grant grant);

    Result<TransactWriteAnswer> save_and(AfterSave after, TableService& tables, TransactWrite save);
    // Empties the guard after its grant was released, and removes the notes about the grant.
    void forget();
    void release_without_waiting();

    std::shared_ptr<KeptSession> kept_;
    Grant grant_;
};

// A lock and the item that it protects, as read under the lock. Until the lock ends, only its
// session can write the item.
struct LockedItem {
    Guard guard;
    std::optional<Item> item;
    // 0 if there is no item.
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write;
};

// The items and resources of an edit. At least one of the two lists must not be empty.
struct EditRequest {
    // The resources of these items are locked.
    std::vector<ItemToLock> items;
    // Additional resources that belong to no item, such as a whole table by its name.
    std::vector<LockRequest> locks{};
};

// The items of an edit with their locks. Until the locks end, only their session can write the
// items.
struct Edit {
    // Owns all locks of the edit; saves, and releases them.
    Guard guard;
    // In the order of the request.
    std::vector<ItemUnderLock> items;
};

// The argument of resume_session(). A program that knows them owns the session.
struct SessionCredentials {
    SessionId id;
    Secret secret;
};

// A business transaction of a principal. All grants of the session are renewed and expire together.
//
// Threads:  thread-safe, except for moving, close(), detach() and the destructor. Callbacks run
//           one at a time on the database's own thread, or within Database::tick() if it has none.
// Lifetime: must end before its Database. The destructor closes the session, which releases all of
//           its grants, unless detach() was called.
class ROCKLOCK_API Session {
public:
    Session() = default;
    Session(Session&& other) noexcept;
    Session& operator=(Session&& other) noexcept;
    ~Session();

    // Returns false if the session is empty, closed or detached.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    SessionId id() const;
    // Returns the credentials with which another process can resume the session.
    SessionCredentials credentials() const;

    // Acquires one resource for editing, or all `locks` together. Returns a guard that owns the
    // grant.
    //
    // Errors: conflict, patience_expired, cancelled, deadlock, already_held, session_expired,
    //         queue_full, limit_exceeded, kind_mismatch, invalid_argument, io_error, no_space,
    //         closing, store_in_use in a child of the process. Each contains its facts.
    Result<Guard> acquire(std::string_view resource, AcquireOptions options = {},
                          std::stop_token stop = {});
    Result<Guard> acquire(std::vector<LockRequest> locks, AcquireOptions options = {},
                          std::stop_token stop = {});

    // Lock before load (Fowler): locks everything that is to be edited, either all or nothing, and
    // reads the items under their locks. The items contain all that earlier holders have saved.
    // From the grant on, only writes that present a grant of this session are accepted.
    //
    // Errors: as acquire(), and those of TableService::get_item(); also
    //         conflict          error().blockers are the sessions that edit the items
    //         invalid_argument  a table is not bound
    //         grant_ended       the lock was lost while the items were read
    //         resource_in_use   the binding of a table was changed meanwhile
    //         After an error, the session holds no more than before, except with Held::join: a
    //         grant that the call acquired is then kept until the session releases it or ends.
    Result<Edit> begin_edit(TableService& tables, const EditRequest& wanted,
                            AcquireOptions options = {}, std::stop_token stop = {});
    // Takes over the edit of another session if the classes of the grant's resources allow it:
    // steals the grant as steal() does, and reads `items` under it. If a class has
    // StealPolicy::ask, the first call asks the holder, and the error steal_refused says when to
    // retry. Errors: as steal() and begin_edit().
    Result<Edit> take_over(TableService& tables, GrantId grant, std::string_view reason,
                           const std::vector<ItemToLock>& items);

    // As begin_edit() for one item: locks the resource to which the item's table is bound, and
    // reads the item under the lock. Errors: as begin_edit().
    Result<LockedItem> acquire_item(TableService& tables, const ItemToLock& wanted,
                                    AcquireOptions options = {}, std::stop_token stop = {});

    // Acquires a lost lock again, with a new token. Succeeds only if none of its resources has been
    // granted since, so all data that was loaded under the lock is still current. `lost` may be a
    // grant of another session of the same principal, and may be from before the store was
    // reopened. See Reacquire.
    //
    // Errors: precondition_failed  error().blockers are the holders since then, newest first
    //         grant_ended          the grant was released, stolen or transferred
    //         conflict             error().waiters wait for the lock
    //         not_owner, already_held, deadlock, limit_exceeded, invalid_argument (the session's
    //         lease), session_expired, io_error, no_space, closing
    Result<Guard> reacquire_if_untouched(const Grant& lost);

    // Acquires a lost lock again if the items have not changed, independently of how the lock was
    // lost and which sessions held it since. Compares the versions of the items under the new lock.
    // Items of bound tables must be covered by the lock. For items of other tables, a save must
    // compare the version again (WriteItem::expected_version).
    //
    // Errors: as acquire(), and those of TableService::get_item(); also
    //         lock_required     the lock does not cover an item
    //         condition_failed  error().changes are the changed items, error().blockers the
    //                           holders since then, newest first
    //         grant_ended       the lock was lost again meanwhile
    //         After an error, the session holds no more than before.
    Result<Guard> reacquire_if_unchanged(TableService& tables, const Grant& lost,
                                         const std::vector<ItemVersion>& seen,
                                         AcquireOptions options = {}, std::stop_token stop = {});

    // As acquire(), but asynchronous. Calls `done` exactly once, with the guard or the error: on a
    // thread of the database, within tick() if it has none, or in this call if the session is empty
    // or the database is closed. If a daemon is used and it is not connected, cancel() calls `done`
    // itself. `done` must not block for long.
    Ticket async_acquire(std::vector<LockRequest> locks, AcquireOptions options,
                         std::function<void(Result<Guard>)> done);
    // Cancels an async_acquire(). Its completion is called with `cancelled`, or with the guard if
    // the lock was granted first.
    void cancel(Ticket ticket);

    // Returns a guard for each live grant of this session. After resume_session(), these are the
    // grants that the session had before it was resumed. Errors: io_error, no_space.
    Result<std::vector<Guard>> reclaim();

    // Renews the session. If `lease` is given, it becomes the lease of the session. Errors:
    // session_expired, session_not_found, invalid_argument (the lease), io_error, no_space,
    // closing.
    Result<SessionInfo> renew(std::optional<std::chrono::milliseconds> lease = {});

    // Renews the session and reports that a person is working in it, so that it counts as active
    // for StealPolicy::idle. Errors: as renew().
    Result<SessionInfo> note_activity();

    // Steals the grant of another session if the classes of the grant's resources allow it; see
    // Steal. Errors: steal_refused (with the policy and when to retry), grant_ended, not_owner (the
    // grant is unknown), already_held, conflict, deadlock, limit_exceeded, invalid_argument (no
    // reason), session_expired, io_error, no_space, closing.
    Result<Guard> steal(GrantId grant, std::string_view reason);
    // Answers the sessions that want a grant of this session; see AnswerWanted. If that releases
    // the grant, its guard is no longer valid(). Errors: not_owner, grant_ended, session_expired,
    // session_not_found, io_error, no_space, closing.
    Result<Released> answer_wanted(GrantId grant, bool allow);

    // Callbacks may call any function of this session. After a callback was replaced, or removed
    // with {}, the old one does not run any more, and the objects that it uses may be destroyed.
    // The same holds for all callbacks after close(), detach() or the destructor. These functions
    // therefore wait for a running callback to return, unless they are called within a callback. So
    // a caller must not hold a mutex that the callback locks.

    // Called once for each grant that ends without being released by this session, and, when the
    // Database is closed, for each grant that the session still holds (with the outcome `held`).
    // Set it before the first acquire.
    void on_lost(std::function<void(const LostNotice&)> callback);
    // Called when at most `warn_at` of the lease is left. Called at most once until the deadline is
    // extended.
    void on_warning(std::function<void(std::chrono::milliseconds remaining)> callback);

    // Called when another session begins to wait for a resource that this session holds, or asks to
    // take a grant over.
    void on_wanted(std::function<void(const Wanted&)> callback);
    // Called when a holder has answered this session's request to take its grant over: steal() with
    // a class that has StealPolicy::ask.
    void on_take_over_answer(std::function<void(const TakeOverAnswer&)> callback);

    // Returns whether the caller can still rely on the session: it has not ended, and its lease
    // does not end within the margin. The restrictions of Guard::valid() apply.
    bool valid() const;
    // Returns the time until valid() becomes false. Never negative.
    std::chrono::milliseconds remaining() const;
    // Fails with not_owner, and a message that names the missing lock, unless the session is
    // valid() and one of its grants covers `resource` in `mode` or a stronger one.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

    // Removes the callbacks, releases all grants and ends the session. The Session object is empty
    // afterwards, even after an error. Errors: session_expired, session_not_found, io_error,
    // no_space, closing.
    Result<ClosedSession> close();
    // Stops the renewal and empties the Session object. The session exists until its lease ends;
    // until then, a program with the returned credentials can resume it. Detach each guard whose
    // grant is to be kept: the destructor of a guard releases the grant.
    SessionCredentials detach();

private:
    friend class Database;
    // Returns the holders of grants newer than `lost` that covered one of its resources, also by a
    // subtree lock, newest first. Incomplete if the history is.
    std::vector<Holder> granted_since(const Grant& lost) const;
    explicit Session(std::shared_ptr<KeptSession> kept) : kept_(std::move(kept)) {}
    void close_without_waiting();

    std::shared_ptr<KeptSession> kept_;
};

}  // namespace rocklock
