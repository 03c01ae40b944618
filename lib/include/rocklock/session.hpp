// Sessions that renew themselves, and guards that release.
//
//     auto session = database.open_session("ann");
//     auto guard = session->acquire("orders/42");
//     if (!guard) complain(guard.error());         // names who has it, since when, until when
//     ...                                          // edit; the lease is renewed in the background
//     guard->release();                            // or let the guard go out of scope
//
// A holder can be stopped for longer than its lease without noticing. valid() tells what this
// process knows of its own lease, on the safe side of the manager; it proves nothing to others.
// What does is the token: docs/guarantees.md.
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

// How a session is kept. Refused at open_session() unless renew_every * 3 <= lease and
// margin < warn_at < lease - renew_every, when it renews itself.
struct SessionOptions {
    // Before this, it is renewed by itself. 0: a third of the lease. Some jitter is added
    // downwards.
    std::chrono::milliseconds renew_every{0};
    // Off: the caller renews, with Session::renew().
    bool renew = true;
    // Warned when this much of the lease is left. 0: a third of it.
    std::chrono::milliseconds warn_at{0};
    // valid() ends this long before the deadline. 0: the larger of 200 ms and a tenth of the lease,
    // but at most a quarter of it.
    std::chrono::milliseconds margin{0};
    // 100 ms to 30 days.
    std::chrono::milliseconds lease = limits::lease_default;
    // Shown to others with each of its grants that has none of its own.
    std::string note;
    Metadata metadata;
};

// See Acquire, which has the same members.
struct AcquireOptions {
    // Zero: try, never wait. no_limit: wait for ever.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    std::string note;
    Metadata metadata;
    std::optional<std::chrono::milliseconds> max_hold;
};

// An item as it was when somebody read it.
struct ItemVersion {
    std::string table;
    AttributeMap key;
    // 0: it was not there.
    std::uint64_t version = 0;
};

class SessionKeeper;
struct KeptSession;

// Holds a grant, and releases it when it goes.
//
// Threads: valid(), remaining() and assert_held() from any, the rest from one at a time. The
// destructor never throws, and leaves the grant to its lease rather than wait for a manager that
// fails. Lifetime: may outlive its Session object, not the Database.
class ROCKLOCK_API Guard {
public:
    Guard() = default;
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&& other) noexcept;
    ~Guard();

    // False for an empty, released or detached guard.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    GrantId id() const { return grant_.id; }
    Token token() const { return grant_.token; }
    const Grant& grant() const { return grant_; }
    // What a write of data shows to be let in; see <rocklock/lock_proof.hpp>.
    LockProof proof() const { return {grant_.session, grant_.token}; }

    // Whether the grant may still be relied upon: not lost, and the lease not within its margin of
    // the end. Ask before each step, and still let the write carry the token.
    bool valid() const;
    // Until valid() ends; never negative.
    std::chrono::milliseconds remaining() const;

    // Gives the grant back. Errors: as Release; the guard is empty afterwards all the same.
    Result<Released> release();

    // Saves all actions in one commit, if the grant lives and covers their items; the actions show
    // it, and it is held further. Errors: as save_and_release().
    Result<TransactWriteAnswer> save(TableService& tables, TransactWrite save);

    // Saves all actions, and gives the grant back or keeps it in `read`, in one commit: a crash
    // leaves both done or neither, and nobody is let in before the data is there. The actions show
    // this grant. The guard is empty after a release that was done.
    //
    // Errors: those of TableService::transact_write(); the grant is as it was. stale_token,
    //         lock_required  among error().reasons: it is lost, or does not cover an item
    Result<TransactWriteAnswer> save_and_release(TableService& tables, TransactWrite save);
    Result<TransactWriteAnswer> save_and_downgrade(TableService& tables, TransactWrite save);

    // Changes its modes; see Convert. The guard carries the new token afterwards. Errors: conflict,
    // patience_expired, cancelled, deadlock, grant_ended, session_expired, kind_mismatch,
    // invalid_argument, io_error, no_space, closing; the grant is as it was.
    Result<void> convert(Mode mode, std::chrono::milliseconds patience = {},
                         std::stop_token stop = {});

    // Lets go without releasing: the grant stays until its lease ends or somebody who has the
    // session's credentials releases it. For offline locks that outlive the process.
    Grant detach();

    // Nothing when this grant is valid() and covers `resource` in `mode` or a stronger one; else
    // what is missing. For code that must not run without its lock. A permit covers no mode.
    // Errors: not_owner.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

private:
    friend class Session;
    friend class SessionKeeper;
    Guard(std::shared_ptr<KeptSession> kept, Grant grant);

    Result<TransactWriteAnswer> save_and(AfterSave after, TableService& tables, TransactWrite save);
    // It is given back: what is known about it is not wanted any more.
    void forget();

    std::shared_ptr<KeptSession> kept_;
    Grant grant_;
};

// A lock and the item under it as the lock found it: until the lock ends only its own session
// writes there.
struct LockedItem {
    Guard guard;
    std::optional<Item> item;
    // 0 where there is no item.
    std::uint64_t version = 0;
    std::optional<LastWrite> last_write;
};

// What is to be edited: one of the two at least.
struct EditRequest {
    // The resources that they belong to are locked.
    std::vector<ItemToLock> items;
    // Besides: what is no item, as a whole table by its name.
    std::vector<LockRequest> locks{};
};

// Items that are edited, with their locks: until those end only their session writes there.
struct Edit {
    // Of all locks: saves, and gives them back.
    Guard guard;
    // In the request's order.
    std::vector<ItemUnderLock> items;
};

// What resume_session() asks for: whoever has this is the session's owner.
struct SessionCredentials {
    SessionId id;
    Secret secret;
};

// A business transaction of a principal: what it holds is renewed, and expires, as one.
//
// Threads:  thread-safe, but for moving, close(), detach() and destroying. Callbacks run one at a
//           time on the database's own thread, within Database::tick() where there is none.
// Lifetime: must end before its Database does. The destructor closes the session, which releases
//           all it holds; detach() prevents that.
class ROCKLOCK_API Session {
public:
    Session() = default;
    Session(Session&& other) noexcept;
    Session& operator=(Session&& other) noexcept;
    ~Session();

    // False for an empty, closed or detached session.
    explicit operator bool() const noexcept { return kept_ != nullptr; }

    SessionId id() const;
    // The proof of ownership, for reclaiming it in another process.
    SessionCredentials credentials() const;

    // Takes one resource to edit, or `locks` all together.
    //
    // Errors: conflict, patience_expired, cancelled, deadlock, already_held, session_expired,
    //         queue_full, limit_exceeded, kind_mismatch, invalid_argument, io_error, no_space,
    //         closing, store_in_use in a child of the process; each with its facts.
    Result<Guard> acquire(std::string_view resource, AcquireOptions options = {},
                          std::stop_token stop = {});
    Result<Guard> acquire(std::vector<LockRequest> locks, AcquireOptions options = {},
                          std::stop_token stop = {});

    // Lock before load (Fowler): locks all that is to be edited, together or not at all, and reads
    // the items under their locks. What all earlier holders have saved is there, and from the grant
    // on nobody writes but who shows a grant of this session.
    //
    // Errors: as acquire(), where a conflict's error().blockers are those who edit it; those of
    //         TableService::get_item(); invalid_argument, when a table is not bound; grant_ended,
    //         when the lock was lost while they were read; resource_in_use, when a table was bound
    //         to something else meanwhile. Nothing is held then that was not before.
    Result<Edit> begin_edit(TableService& tables, const EditRequest& wanted,
                            AcquireOptions options = {}, std::stop_token stop = {});
    // Takes another's edit over, as its classes allow: steal(), and these of its items as they are
    // then. Where the class says `ask`, the first call asks the holder; steal_refused says when to
    // call again. Errors: as steal() and begin_edit().
    Result<Edit> take_over(TableService& tables, GrantId grant, std::string_view reason,
                           const std::vector<ItemToLock>& items);

    // begin_edit() of one item. It takes the resource that the item's table is bound to, and reads
    // the item under the lock. What all earlier holders have saved is there, and from the grant on
    // nobody writes but who shows a grant of this session.
    //
    // Errors: as acquire(); those of TableService::get_item(); invalid_argument, when the table is
    //         not bound; grant_ended, when the lock was lost while it was read; resource_in_use,
    //         when the table was bound to something else meanwhile. Nothing is held then.
    Result<LockedItem> acquire_item(TableService& tables, const ItemToLock& wanted,
                                    AcquireOptions options = {}, std::stop_token stop = {});

    // Takes a lock again that was lost, under a new token, only if nobody was granted any of it
    // since: then all that was loaded under it still holds. The session may be another one of the
    // same principal, and the store may have been opened anew. See Reacquire.
    //
    // Errors: precondition_failed, where error().blockers are those who had it since, newest first;
    //         grant_ended, when it was released, stolen or transferred; not_owner; conflict, with
    //         those who wait; already_held, deadlock, limit_exceeded, invalid_argument (the
    //         session's lease), session_expired, io_error, no_space, closing.
    Result<Guard> reacquire_if_untouched(const Grant& lost);

    // Takes a lock again however it was lost, and whoever had it since, if the items are as they
    // were: a lost lock whose data nobody changed is not a lost edit. They are compared under the
    // lock. Items of bound tables must be under it; of others a save must compare the version again
    // (WriteItem::expected_version).
    //
    // Errors: as acquire(); those of TableService::get_item(); lock_required, when it does not
    //         cover an item; condition_failed, where error().changes are the items and
    //         error().blockers those who had the lock since; grant_ended, when it was lost again
    //         meanwhile. Nothing is held then that was not before.
    Result<Guard> reacquire_if_unchanged(TableService& tables, const Grant& lost,
                                         const std::vector<ItemVersion>& seen,
                                         AcquireOptions options = {}, std::stop_token stop = {});

    // acquire() without waiting here: `done` gets the guard or the error, exactly once: on a thread
    // of the database, within tick() where there is none, or in this call when the session is empty
    // or the database closed. It must not block for long.
    Ticket async_acquire(std::vector<LockRequest> locks, AcquireOptions options,
                         std::function<void(Result<Guard>)> done);
    // Withdraws an async_acquire; its completion gets `cancelled`, or the guard if that came first.
    void cancel(Ticket ticket);

    // The live grants of this session, each in a guard: after resume_session(), one's own from
    // before. Errors: io_error, no_space.
    Result<std::vector<Guard>> reclaim();

    // Renews by hand, with another lease from now on if one is given. Errors: session_expired,
    // session_not_found, invalid_argument (the lease), io_error, no_space, closing.
    Result<SessionInfo> renew(std::optional<std::chrono::milliseconds> lease = {});

    // Renews by hand, and tells that a person is at it: what others may steal from an inactive
    // holder they may not for a while. Errors: as renew().
    Result<SessionInfo> note_activity();

    // Takes another session's grant away, as its classes allow. See Steal. Errors: steal_refused,
    // with the policy in the way and when to try again; grant_ended, not_owner (unknown),
    // already_held, conflict, deadlock, limit_exceeded, invalid_argument (no reason),
    // session_expired, io_error, no_space, closing.
    Result<Guard> steal(GrantId grant, std::string_view reason);
    // Answers those who want a grant of this session's. See AnswerWanted. The guard of a grant that
    // is released by it is not valid() any more. Errors: not_owner, grant_ended, session_expired,
    // session_not_found, io_error, no_space, closing.
    Result<Released> answer_wanted(GrantId grant, bool allow);

    // Callbacks may call anything of this session. One that is set anew, or taken away with {},
    // does not run any more once that returns, and none does once close(), detach() or the
    // destructor returns, so that what it refers to may go then: they wait for a call that is under
    // way, unless they are called within one. So don't hold a mutex then that a callback takes.

    // Called once for every grant that ends otherwise than by release. Set before acquiring.
    void on_lost(std::function<void(const LostNotice&)> callback);
    // Called when less than `warn_at` of the lease is left, once for each time that happens.
    void on_warning(std::function<void(std::chrono::milliseconds remaining)> callback);

    // Called when somebody begins to wait for what this session holds, or asks to take it over.
    void on_wanted(std::function<void(const Wanted&)> callback);

    // Whether the session may still be relied upon: not over, and its lease not within its margin
    // of the end. What holds for Guard::valid() holds here.
    bool valid() const;
    // Until valid() ends; never negative.
    std::chrono::milliseconds remaining() const;
    // Nothing when the session is valid() and holds `resource` in `mode` or a stronger one, by any
    // of its grants; else what is missing. Errors: not_owner.
    Result<void> assert_held(std::string_view resource, Mode mode) const;

    // Calls nobody back any more, releases all it holds and ends it. Errors: session_expired,
    // session_not_found, io_error, no_space, closing; the session is empty afterwards all the same.
    Result<ClosedSession> close();
    // Stops renewing and lets go: the session stays until its lease ends or somebody resumes it.
    // Guards that are to stay must be detached too.
    SessionCredentials detach();

private:
    friend class Database;
    // Of a lock that was lost: who has been granted any of it since, newest first, as far as the
    // history tells.
    std::vector<Holder> granted_since(const Grant& lost) const;
    explicit Session(std::shared_ptr<KeptSession> kept) : kept_(std::move(kept)) {}

    std::shared_ptr<KeptSession> kept_;
};

}  // namespace rocklock
