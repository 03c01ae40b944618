// Sessions with automatic renewal, and guards that release their grants.
//
//     auto session = database.open_session("ann");
//     auto guard = session->acquire("orders/42");
//     if (!guard) complain(guard.error());         // names the holder and when its lease ends
//     ...                                          // edit; the lease is renewed in the background
//     guard->release();                            // or let the guard go out of scope
//
// A process can be suspended for longer than its lease, and then loses its locks without noticing.
// Guard::valid() compares the deadline of the lease with the clock and leaves a safety margin, but
// the process can also be suspended directly after the call. Only the fencing token prevents a
// process that has lost its lock from overwriting data: present the token with each write. See
// docs/guarantees.md.
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

// The lease of a session, how it is renewed, and the texts shown with it. open_session() fails with
// invalid_argument unless margin < lease. If `renew` is true, two more conditions must hold:
// renew_every * 3 <= lease, and margin < warn_at < lease - renew_every.
struct SessionOptions {
    // The maximum time between two automatic renewals. A random part is subtracted from it each
    // time, so that sessions are not all renewed at once. 0 means a third of the lease.
    std::chrono::milliseconds renew_every{0};
    // Whether the session is renewed automatically. If false, the caller must call
    // Session::renew().
    bool renew = true;
    // The callback set with Session::on_warning() is called when this time or less is left of the
    // lease. 0 means a third of the lease.
    std::chrono::milliseconds warn_at{0};
    // If this time or less is left until the deadline, valid() returns false. 0 means the larger of
    // 200 ms and a tenth of the lease, but at most a quarter of the lease.
    std::chrono::milliseconds margin{0};
    // The time limit of the session if it is not renewed: 100 ms to 30 days, or `no_expiry`. A
    // session with `no_expiry` ends only when it is closed or when an administrator ends it. It
    // therefore outlives a crash of the program; see Database::resume_session().
    std::chrono::milliseconds lease = limits::lease_default;
    // A text that other clients see with each grant of the session that has no note of its own.
    std::string note;
    Metadata metadata;
};

// Options of Session::acquire() and the functions like it. Each member has the meaning of the
// member of Acquire with this name.
struct AcquireOptions {
    // The wait timeout: the maximum time for which the request waits. With zero, the request does
    // not wait. With `no_limit`, it waits without a time limit.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    std::string note;
    Metadata metadata;
    std::optional<std::chrono::milliseconds> max_hold;
    std::uint32_t priority = 0;
    std::optional<std::chrono::milliseconds> min_hold{};
};

// The key of an item, and the version that the item had when it was read.
struct ItemVersion {
    std::string table;
    AttributeMap key;
    // 0 if the item did not exist.
    std::uint64_t version = 0;
};

class SessionKeeper;
struct KeptSession;

// Owns a grant and releases it in the destructor.
//
// Threads:  several threads can call valid(), remaining() and assert_held() at the same time. While
//           a thread calls any other function of a guard, no other thread may call a function of
//           this guard.
// Lifetime: may outlive its Session object, but not the Database.
//
// The destructor does not throw. If the database is a connection to a daemon, the destructor does
// not wait for the daemon's answer. The release is sent before the requests of later calls of the
// Database, so those requests see its effect. Database::close() waits until the daemon has executed
// the release, but for at most 100 ms. If the release fails, the grant ends with the lease of the
// session.
//
// On an empty guard, functions that return a Result fail with invalid_argument.
class ROCKLOCK_API Guard {
public:
    Guard() = default;
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&& other) noexcept;
    ~Guard();

    // Returns whether the guard owns a grant. Returns false if the guard was constructed empty,
    // moved from, released or detached.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    GrantId id() const { return grant_.id; }
    Token token() const { return grant_.token; }
    const Grant& grant() const { return grant_; }
    // Returns the proof that a write must present; see <rocklock/lock_proof.hpp>.
    LockProof proof() const { return {grant_.session, grant_.token}; }

    // Returns whether the caller can still rely on the grant: the grant is not lost, and the lease
    // does not end within SessionOptions::margin. Call valid() before each step of the work.
    // Present the token with each write nevertheless, because the lease can end after valid() has
    // returned.
    bool valid() const;
    // Returns the time until valid() becomes false. Never negative.
    std::chrono::milliseconds remaining() const;
    // Returns a token that signals that valid() has become false. A stop is requested if the grant
    // is lost, if the lease or the `cap` of the grant (see Grant) is about to end, and if the
    // session or the database is closed. release(), detach() and the destructor do not request a
    // stop. A stop is never undone, even if a late renewal makes the grant valid again. For an
    // empty guard, returns a token whose stop is already requested.
    //
    // Stop callbacks run on the database's own thread, or within the call or the Database::tick()
    // that finds the loss. They must not block for long.
    std::stop_token stop_token() const;

    // Releases the grant. The guard is empty afterwards, even if the release fails. The errors are
    // those of the request Release.
    Result<Released> release();

    // Executes all actions of `save` in one commit and keeps the grant. Presents the grant with
    // each action. If an action writes to a bound table, the grant must not have ended and must
    // cover the item. The errors are those of save_and_release().
    Result<TransactWriteAnswer> save(TableService& tables, TransactWrite save);

    // Two variants of save() that also change the grant in the commit of the actions:
    // save_and_release() releases the grant, and save_and_downgrade() changes its mode to `read`.
    // After a crash, either the actions and the change of the grant have taken effect, or neither.
    // No other session is granted the lock before the data is saved. After a successful
    // save_and_release(), the guard is empty.
    //
    // Errors: those of TableService::transact_write(). error().reasons contains stale_token if the
    //         grant is lost, and lock_required if it does not cover an item. After an error, the
    //         grant is unchanged.
    Result<TransactWriteAnswer> save_and_release(TableService& tables, TransactWrite save);
    Result<TransactWriteAnswer> save_and_downgrade(TableService& tables, TransactWrite save);

    // Changes the mode of all locks of the grant, except those that were acquired only as
    // dependants of other locks (see LockClass::dependants and Convert). After an upgrade, the
    // guard has a new token. After an error, the grant is unchanged.
    //
    // Errors: conflict, patience_expired, cancelled, deadlock, queue_full, limit_exceeded,
    // grant_ended, session_expired, kind_mismatch, class_draining, invalid_argument, io_error,
    // no_space, closing.
    Result<void> convert(Mode mode, std::chrono::milliseconds patience = {},
                         std::stop_token stop = {});

    // Empties the guard without releasing the grant, and returns the grant. The grant stays until
    // the session's lease ends or a program with the session's credentials releases the grant. Use
    // detach() for offline locks, which outlive the process.
    Grant detach();

    // Succeeds if the grant is valid() and covers `resource` in `mode` or a stronger mode.
    // Otherwise fails with not_owner and a message that names the missing lock. Permits of a
    // resource are not sufficient, because several sessions can have them at the same time. Code
    // that must not run without its lock can call assert_held() first.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

private:
    friend class Session;
    friend class SessionKeeper;
    Guard(std::shared_ptr<KeptSession> kept, Grant&& grant);

    Result<TransactWriteAnswer> save_and(AfterSave after, TableService& tables, TransactWrite save);
    // Empties the guard after its grant was released, and removes the grant from the state of the
    // session.
    void forget();
    void release_without_waiting();

    std::shared_ptr<KeptSession> kept_;
    Grant grant_;
};

// A lock, and the item that it protects, which was read under the lock. Until the lock ends, only
// the session that holds it can write the item.
struct LockedItem {
    Guard guard;
    // None if the item does not exist.
    std::optional<Item> item;
    // The version of the item; 0 if the item does not exist.
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write;
};

// The items and resources of an edit. The two lists must not both be empty.
struct EditRequest {
    // The items to read. The resource of each item is locked.
    std::vector<ItemToLock> items;
    // Additional resources to lock that belong to no item, for example one resource for a whole
    // table.
    std::vector<LockRequest> locks{};
};

// The items of an edit with their locks. Until the locks end, only the session that holds them can
// write the items.
struct Edit {
    // Owns all locks of the edit. Guard::save_and_release() saves the items and releases the locks.
    Guard guard;
    // In the order of the request.
    std::vector<ItemUnderLock> items;
};

// The id and the secret of a session, for Database::resume_session(). Any program that has them can
// use and end the session.
struct SessionCredentials {
    SessionId id;
    Secret secret;
};

// A session: the lifetime of a client's locks. It belongs to a principal. All grants of the session
// are renewed together and expire together.
//
// Threads:  thread-safe, except for moving, close(), detach() and the destructor. Callbacks run one
//           at a time: on the database's own thread, or, if it has no thread, within
//           Database::tick().
// Lifetime: must be destroyed before its Database. Unless detach() was called, the destructor
//           closes the session, which releases all of its grants. The destructor ignores errors
//           and, like that of Guard, does not wait for a daemon.
class ROCKLOCK_API Session {
public:
    Session() = default;
    Session(Session&& other) noexcept;
    Session& operator=(Session&& other) noexcept;
    ~Session();

    // Returns whether the object has a session. Returns false if it was constructed empty, moved
    // from, closed or detached. Functions that return a Result then fail with invalid_argument.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    SessionId id() const;
    // Returns the credentials with which another process can resume the session.
    SessionCredentials credentials() const;

    // Acquires `resource` with Intent::edit, or all of `locks` with one grant. Returns a guard that
    // owns the grant.
    //
    // Errors: conflict, patience_expired, cancelled, deadlock, already_held, session_expired,
    //         queue_full, limit_exceeded, kind_mismatch, class_draining, invalid_argument,
    //         io_error, no_space, closing, store_in_use (in a child process after a fork). The
    //         facts of each error are described in <rocklock/error.hpp>.
    Result<Guard> acquire(std::string_view resource, AcquireOptions options = {},
                          std::stop_token stop = {});
    Result<Guard> acquire(std::vector<LockRequest> locks, AcquireOptions options = {},
                          std::stop_token stop = {});
    // Acquires any one of `locks`: the first that is free, or, if none is free, the first that
    // becomes free within the wait timeout. Guard::grant() contains the acquired lock. See
    // Acquire::any. The errors are those of acquire().
    Result<Guard> acquire_any(std::vector<LockRequest> locks, AcquireOptions options = {},
                              std::stop_token stop = {});

    // Acquires one grant for the resources of all items in `wanted` and for its additional
    // resources. If one of them cannot be locked, locks none. Then reads the items under their
    // locks ("lock before load" in Fowler's patterns). The items contain everything that earlier
    // holders have saved. As soon as the grant is given, the items can be written only with a grant
    // of this session.
    //
    // Errors: those of acquire() and of TableService::get_item(), and
    //         conflict          error().blockers are the sessions that hold the resources
    //         invalid_argument  a table is not bound
    //         grant_ended       the grant was lost while the items were read
    //         resource_in_use   the binding of a table was changed during the call
    //         After an error, the session holds no more than before the call. Exception: with
    //         Held::join, a grant that the call acquired is kept until the session releases it or
    //         ends.
    Result<Edit> begin_edit(TableService& tables, const EditRequest& wanted,
                            AcquireOptions options = {}, std::stop_token stop = {});
    // Takes over the edit of another session if the classes of the grant's resources allow it.
    // Steals `grant` as steal() does, and reads `items` under the new grant. If a class has
    // StealPolicy::ask, the first call only asks the holder and fails with steal_refused;
    // error().retry_after is then the time after which to retry. The errors are those of steal()
    // and begin_edit().
    Result<Edit> take_over(TableService& tables, GrantId grant, std::string_view reason,
                           const std::vector<ItemToLock>& items);

    // As begin_edit(), for one item: locks the resource to which the item belongs, and reads the
    // item under the lock. The errors are those of begin_edit().
    Result<LockedItem> acquire_item(TableService& tables, const ItemToLock& wanted,
                                    AcquireOptions options = {}, std::stop_token stop = {});

    // Acquires the locks of an expired or broken grant again, with a new token. Fails if one of its
    // resources, or a resource above one of them, was granted after `lost`. If `lost` had a subtree
    // lock, fails if any resource of the store was granted after `lost`. If the call succeeds, the
    // data that was loaded under the old locks is therefore still current. `lost` may be a grant of
    // another session of the same principal. The store may have been closed and opened again since
    // `lost` was given. See Reacquire.
    //
    // Errors: precondition_failed  a resource was granted after `lost`; error().blockers are the
    //                              holders after `lost`, newest first
    //         grant_ended          the grant was released, stolen or transferred
    //         conflict             other sessions wait for a resource (error().waiters), or the
    //                              minimum hold or the lock delay of a resource is not over
    //                              (error().retry_after)
    //         not_owner, already_held, deadlock, limit_exceeded, class_draining,
    //         invalid_argument (the session's lease is too long for a class), session_expired,
    //         io_error, no_space, closing
    Result<Guard> reacquire_if_untouched(const Grant& lost);

    // Acquires the locks of a lost grant again if the items in `seen` have not changed. It does not
    // matter how the grant was lost, or which sessions held its resources afterwards. The versions
    // of the items are compared under the new locks. Each item of a bound table must be covered by
    // the locks. Items of other tables can still change after the call, so a save must compare
    // their versions again (WriteItem::expected_version).
    //
    // Errors: those of acquire() and of TableService::get_item(), and
    //         lock_required     the locks do not cover an item of a bound table
    //         condition_failed  an item has changed; error().changes are the changed items, and
    //                           error().blockers are the holders since the loss, newest first
    //         grant_ended       the new grant was lost during the call
    //         After an error, the session holds no more than before.
    Result<Guard> reacquire_if_unchanged(TableService& tables, const Grant& lost,
                                         const std::vector<ItemVersion>& seen,
                                         AcquireOptions options = {}, std::stop_token stop = {});

    // As acquire() and acquire_any(), but asynchronous. `done` is called exactly once, with the
    // guard or the error, and must not block for long. It is called on a thread of the database, or
    // within Database::tick() if the database has no thread. There are two exceptions. If the
    // session is empty or the database is closed, async_acquire() calls `done` before it returns.
    // While the connection to a daemon is lost, cancel() calls `done` before it returns.
    Ticket async_acquire(std::vector<LockRequest> locks, AcquireOptions options,
                         std::function<void(Result<Guard>)> done);
    Ticket async_acquire_any(std::vector<LockRequest> locks, AcquireOptions options,
                             std::function<void(Result<Guard>)> done);
    // Cancels a request of async_acquire() or async_acquire_any(). Its `done` is called with the
    // error `cancelled`, or with the guard if the lock was granted before the cancellation.
    void cancel(Ticket ticket);

    // Returns a guard for each grant of this session that has not ended. Call reclaim() after
    // Database::resume_session() to get the grants that the session acquired earlier. Errors:
    // io_error, no_space.
    Result<std::vector<Guard>> reclaim();

    // Renews the session. If `lease` is given, it becomes the lease of the session. Errors:
    // session_expired, session_not_found, invalid_argument (the lease), io_error, no_space,
    // closing.
    Result<SessionInfo> renew(std::optional<std::chrono::milliseconds> lease = {});

    // Renews the session and reports that a person is working in it. The session then counts as
    // active for StealPolicy::idle. The errors are those of renew().
    Result<SessionInfo> note_activity();

    // Steals the grant of another session if the classes of the grant's resources allow it; see
    // Steal.
    //
    // Errors: steal_refused (with the policy, and the time after which to retry), grant_ended,
    // not_owner (the grant is unknown), already_held, conflict, deadlock, limit_exceeded,
    // invalid_argument (`reason` is empty), class_draining, session_expired, io_error, no_space,
    // closing.
    Result<Guard> steal(GrantId grant, std::string_view reason);
    // Answers the sessions that want a grant of this session; see AnswerWanted. If the answer
    // releases the grant, the guard of the grant is no longer valid(). Errors: not_owner,
    // grant_ended, session_expired, session_not_found, io_error, no_space, closing.
    Result<Released> answer_wanted(GrantId grant, bool allow);

    // The functions below set a callback; an empty function removes it. Callbacks may call any
    // function of this session.
    //
    // After a callback was replaced or removed, the old callback does not run any more, and the
    // objects that it uses may be destroyed. After close(), detach() or the destructor, no callback
    // of the session runs any more. All of these functions therefore wait until a running callback
    // has returned, unless they are called within a callback. The caller must not hold a mutex that
    // a callback locks.

    // Called once for each grant of the session that expires, is stolen or is broken. When the
    // Database is closed, also called for each grant that the session still holds, with the outcome
    // `held`. Set it before the first acquire().
    void on_lost(std::function<void(const LostNotice&)> callback);
    // Called when SessionOptions::warn_at or less is left of the lease. Called again only after the
    // deadline was extended.
    void on_warning(std::function<void(std::chrono::milliseconds remaining)> callback);

    // Called when another session begins to wait for a resource that this session holds, or asks to
    // take over a grant of this session.
    void on_wanted(std::function<void(const Wanted&)> callback);
    // Called when a holder has answered this session's request to take over the holder's grant.
    // steal() makes such a request if a class has StealPolicy::ask.
    void on_take_over_answer(std::function<void(const TakeOverAnswer&)> callback);

    // Returns whether the caller can still rely on the session: it has not ended, and its lease
    // does not end within SessionOptions::margin. As with Guard::valid(), the lease can end after
    // the function has returned.
    bool valid() const;
    // Returns the time until valid() becomes false. Never negative.
    std::chrono::milliseconds remaining() const;
    // Succeeds if the session is valid() and one of its grants covers `resource` in `mode` or a
    // stronger mode. Otherwise fails with not_owner and a message that names the missing lock.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

    // Removes the callbacks, releases all grants and ends the session. The Session object is empty
    // afterwards, even after an error. Errors: session_expired, session_not_found, io_error,
    // no_space, closing.
    Result<ClosedSession> close();
    // Removes the callbacks, stops the renewal and empties the Session object. The session
    // continues until its lease ends. Until then, a program with the returned credentials can
    // resume it. The destructor of a guard releases the grant even after the session was detached.
    // To keep a grant, call Guard::detach() too.
    SessionCredentials detach();

private:
    friend class Database;
    // Returns, newest first, the holders of the grants that are newer than `lost` and covered one
    // of its resources, directly or by a subtree lock. If the history is incomplete, so is the
    // result.
    std::vector<Holder> granted_since(const Grant& lost) const;
    explicit Session(std::shared_ptr<KeptSession> kept) : kept_(std::move(kept)) {}
    // Returns the guard of a new grant, or the error.
    Result<Guard> guard_of(Result<Answer> answer) const;
    Ticket submit(Request request, std::function<void(Result<Guard>)> done);
    void close_without_waiting();

    std::shared_ptr<KeptSession> kept_;
};

}  // namespace rocklock
