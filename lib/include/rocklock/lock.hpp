// The requests and the responses of the lock manager.
//
// A session is the lifetime of a client's locks and belongs to a principal; its grants are renewed
// and expire together. A grant is the right of one session to one or more resources. Each resource
// has its own mode, and the grant has one fencing token for all of them. A request that ends or
// changes a lock names the grant and not the resource. The request therefore cannot affect a lock
// that another session has acquired on the resource in the meantime.
//
//     request ──► waiting ──► held ──► released | expired | stolen | broken | transferred
//                    └──► refused | patience expired | cancelled | deadlock
//
// `patience` is the wait timeout of a request: the maximum time that it waits in the queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/lock_class.hpp>
#include <rocklock/notices.hpp>
#include <rocklock/result.hpp>
#include <rocklock/statistics.hpp>
#include <rocklock/types.hpp>
#include <rocklock/user_limits.hpp>
#include <rocklock/watch.hpp>

namespace rocklock {

// The value of `patience` for a wait without a time limit.
inline constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();

// ---- Requests ----

// A session that is bound to its processes or to its connection ends when these end, even if its
// lease has not expired. Only the daemon supports this; an embedded store ignores the binding.
enum class Bound : std::uint8_t { none, process, connection };

struct SessionInfo {
    SessionId id;
    // All bytes are zero in the responses to RenewSession and JoinProcess.
    Secret secret;
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // In the response to a renewal: the notices since the previous renewal; see Notices.
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
    std::vector<TakeOverAnswer> answers;
    // The principal. Set by LockService::authenticate(), and in the response to OpenSession if the
    // server has changed the principal. Otherwise empty.
    std::string principal;
    // The user that opened the session. Set by authenticate() only; not sent to clients.
    UserId uid = 0;
};

struct OpenSession {
    using Answer = SessionInfo;
    // The name of the session's principal: 1 to 1,024 bytes of UTF-8.
    std::string principal;
    // If none, the lease is limits::lease_default. With `no_expiry`, the session has no lease;
    // `bound` must then be `none`, and at least one class must have LockClass::no_expiry.
    std::optional<std::chrono::milliseconds> lease;
    Bound bound = Bound::none;
    // With Bound::process, the session ends when all of these processes have ended.
    std::vector<ProcessId> processes;
    // The user, the process and the host of the caller, which other clients see. A server sets the
    // values that the kernel, or the daemon of the other host, reports.
    UserId uid = 0;
    std::int32_t pid = 0;
    ClientHost host{};
    std::string note;
    Metadata metadata;
    // If not empty, a repetition by the same caller with the same id gets the same session, or
    // fails with parameter_mismatch if its other parameters differ. At most 256 bytes.
    std::string request_id;
};

struct RenewSession {
    using Answer = SessionInfo;
    SessionId session;
    // The new lease of the session. If none, the lease does not change. Must not be `no_expiry`.
    std::optional<std::chrono::milliseconds> lease;
    std::optional<std::string> note;
    std::optional<Metadata> metadata;
    // Set by a server that was stalled and may have read this renewal late: the last time before
    // the stall at which the server was running. The renewal succeeds if the session had not
    // expired at that time. The new deadline is computed from the current time.
    std::optional<BootTime> as_of;
    // Whether a person is working in the session: it then counts as active (StealPolicy::idle).
    bool active = false;
};

// Adds a process to a session that is bound to processes.
struct JoinProcess {
    using Answer = SessionInfo;
    SessionId session;
    ProcessId process;
    // The host of the process. It must be that of the session.
    ClientHost host{};
};

struct ClosedSession {
    // The grants that ended with the session.
    std::vector<GrantId> released;
};
struct CloseSession {
    using Answer = ClosedSession;
    SessionId session;
    // The reason for which a server closes the session; recorded for the grants that end with it.
    std::string reason{};
};

struct LockRequest {
    std::string resource;
    // At most one of `mode`, `to` and `modes` may be set. If none is, `to` is Intent::edit.
    std::optional<Mode> mode{};
    std::optional<Intent> to{};
    // Whether the lock also covers everything below this path.
    bool subtree = false;
    // The number of permits, if the class counts permits; 0 means 1. Must be 0 for other classes.
    std::uint32_t permits = 0;
    // For Acquire only: different modes in order of preference. The lock gets the first mode in
    // which neither the lock itself nor its dependants conflict with other sessions. If there is a
    // conflict in every mode, the lock gets the last mode, and the request waits or is refused as
    // if it had named only the last mode. The mode is chosen when the request arrives; a request
    // that waits keeps its mode. The grant contains the chosen mode.
    //
    // If the request is invalid in the strongest of its modes, it is refused, and the other modes
    // are not tried. With Held::join and Held::count, a grant of the session covers this lock if
    // it covers the weakest of the modes.
    std::vector<Mode> modes{};
};

struct GrantedLock {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    std::uint32_t permits = 0;
    // If this resource was locked as a dependant: the resource that required it. Empty if the
    // request named this resource.
    std::string cause;
};

struct Grant {
    GrantId id{};
    // The fencing token that a write must present; see <rocklock/lock_proof.hpp>.
    Token token{};
    SessionId session;
    std::vector<GrantedLock> locks;
    // Whether the request had to wait.
    bool waited = false;
    // The number of additional acquires with Held::count. A release decrements the count if it is
    // greater than 0; otherwise the release ends the grant.
    std::uint32_t count = 0;
    // The time until the session's deadline or until `cap`, whichever is earlier.
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // The time at which the grant ends even if the session is renewed. None without a `max_hold`.
    std::optional<BootTime> cap;
    // In the response to a repeated request: how the grant has ended. None if it has not ended.
    std::optional<Ending> ended;
    // The session that was opened for this grant alone (Acquire::opens), with its secret.
    std::optional<SessionInfo> own_session;
};

struct Acquire {
    using Answer = Grant;
    // The session that will own the grant. If none, `opens` opens a session for this grant alone,
    // which ends together with the grant.
    std::optional<SessionId> session;
    std::optional<OpenSession> opens;
    // 1 to 100 different resources. Either all are granted or none, unless `any` is set.
    std::vector<LockRequest> locks;
    // The wait timeout. Zero means not to wait, `no_limit` to wait without a limit.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    // Shown to other clients. If empty, they see the note of the session.
    std::string note;
    Metadata metadata;
    // The maximum time from the grant to its end; a shorter max_hold of a class has precedence.
    std::optional<std::chrono::milliseconds> max_hold;
    // The minimum time from the grant until its resources can be granted again to any session, even
    // if they are released earlier. It does not apply to dependants. If the class of a resource has
    // a longer min_hold, the longer time applies to this resource.
    std::optional<std::chrono::milliseconds> min_hold{};
    // If not empty, a repetition of the request with the same id gets the grant of the first
    // request. If the first request still waits, it is cancelled, and the repetition takes its
    // place in the queue. If `locks`, `held`, `max_hold`, `min_hold` or `any` differ, the
    // repetition fails with parameter_mismatch. At most 256 bytes.
    std::string request_id;
    // If true, exactly one of `locks` is granted, with its dependants: the first one, in the order
    // of `locks`, that can be granted now. If none can be granted now, the request waits in the
    // queues of all of them and gets the first one that becomes available. `modes` is not allowed.
    //
    // With Held::refuse, locks that the session already holds are skipped; if it holds all of them,
    // the request fails with already_held. With Held::join and Held::count, if grants of the
    // session cover some of the locks, the grant that covers the first of these locks is returned.
    bool any = false;
    // The request waits as if it had arrived limits::priority_step earlier for each unit of its
    // priority. If the priority is greater than LockClass::max_priority for a resource that the
    // request needs, the request fails with invalid_argument.
    std::uint32_t priority = 0;
};

// Changes the modes of a grant. A downgrade takes effect immediately and keeps the token. An
// upgrade waits only for the current holders, ahead of the requests in the queue, and the grant
// then gets a new token. A conversion that fails does not change the grant.
//
// Errors: conflict, patience_expired, deadlock, queue_full, limit_exceeded; class_draining (only
// for an upgrade); kind_mismatch if the grant has permits; invalid_argument, for example if another
// conversion of the grant is waiting.
struct Convert {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // The new mode of all locks except dependants, which keep their modes. If none, `locks`
    // contains resources of the grant, each with its new mode.
    std::optional<Mode> mode;
    std::vector<LockRequest> locks;
    // The wait timeout. Zero means not to wait, `no_limit` to wait without a limit.
    std::chrono::milliseconds patience{0};
    // As in Acquire, but only the id of the last conversion of the grant is remembered.
    std::string request_id;
};

struct Released {
    // `released`; `held` if only the count was decremented; `broken` after Break. If the grant had
    // ended before the request: how it had ended.
    Outcome outcome = Outcome::released;
    // The new count, if the outcome is `held`.
    std::uint32_t count = 0;
    // If the grant had ended before: by which principal, why and when.
    std::string by{};
    std::string reason{};
    std::optional<WallTime> at{};
};
struct Release {
    using Answer = Released;
    SessionId session;
    GrantId grant{};
};

// Transfers a grant from `session` to the session `to` in one step. The receiver's grant has a new
// id and a new token.
//
// Errors: session_not_found if the receiver does not exist; conflict if other grants of `session`
// conflict with the transferred locks; deadlock.
struct Transfer {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    SessionId to;
};

// Ends the grant of another session and gives its locks to `session` in one step, ahead of all
// waiters. The classes of all resources of the grant must allow the steal. If a class has
// StealPolicy::ask, the first Steal of a principal only asks the holder: the holder receives a
// Wanted notice, and the request fails with steal_refused. Error::retry_after is then the time
// after which to retry.
//
// Errors: steal_refused   see the facts policy, retry_after and blockers
//         grant_ended
//         access_denied   `force` is set and `administrator` is not; or a class has a `steal_by`
//                         that does not name the caller
//         already_held    the grant belongs to this session
//         conflict        other grants of the holder's session conflict with the stolen locks
//         deadlock
//         limit_exceeded  100 other principals have asked for the grant, or a limit of the user is
//                         exceeded
struct Steal {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // With `administrator`, the session may also steal from a class with StealPolicy::never. With
    // `force`, which requires `administrator`, the session need not ask or wait.
    bool administrator = false;
    bool force = false;
    // Set by servers: the user and the groups of the caller, for LockClass::steal_by. If none,
    // steal_by is not checked.
    std::optional<std::vector<std::string>> identities{};
};

// Ends a grant. The caller must be an administrator, or the classes of all resources of the grant
// must name the caller in break_by. Errors: grant_ended; not_owner if the grant is unknown;
// access_denied.
struct Break {
    using Answer = Released;
    GrantId grant{};
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // The name of the administrator; must not be empty.
    std::string by;
    // As in Steal, for LockClass::break_by.
    std::optional<std::vector<std::string>> identities{};
};

// Ends a session and all of its grants; their outcome is `broken`. Requires administrator rights.
// Errors: session_not_found; session_expired if the session has already ended.
struct EndSession {
    using Answer = ClosedSession;
    SessionId session;
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // The name of the administrator; must not be empty.
    std::string by;
};

// Answers all sessions that want a grant of `session`: those that have asked to take it over, and
// those that wait for it. The last answer applies until the grant ends. The request counts as
// activity of `session` (StealPolicy::idle), even if no other session wants the grant.
//
// If `allow` is true, each session that has asked may now steal the grant; the holder keeps the
// grant until one of them steals it. If sessions wait for the grant and none has asked, the grant
// is released, even if its count is greater than 0.
//
// If `allow` is false, no session that has asked may steal the grant. Such a session may ask again
// after LockClass::steal_after. Waiters continue to wait.
struct AnswerWanted {
    // The outcome is `released` or `held`.
    using Answer = Released;
    SessionId session;
    GrantId grant{};
    bool allow = false;
};

// Acquires the locks of an expired or broken grant again, for a session of the same principal. The
// new grant has a new id and a new token. If `session` still holds the grant, returns it unchanged.
//
// Errors: precondition_failed if a resource of the grant or a resource above it was granted after
// this grant was made, or if the grant had a subtree lock and any resource of the store was granted
// after that; grant_ended if the grant was released, stolen or transferred; conflict; already_held;
// not_owner; class_draining.
struct Reacquire {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
};

// Adds a class, or replaces the class that has the same pattern. If the replaced class is drained,
// the new one is drained too.
struct PutClass {
    using Answer = LockClass;
    LockClass lock_class;
};
// Deletes a class and returns it. Errors: invalid_argument if there is no class with this pattern,
// or if the class is drained.
struct DeleteClass {
    using Answer = LockClass;
    std::string pattern;
};

// Drains a class, or changes the reason if the class is already drained. Requires administrator
// rights. The class stays drained until it is resumed, also after a restart.
//
// While a class is drained, each request for a new grant of one of its resources fails with
// class_draining: Acquire, Reacquire, Steal, and a Convert that raises the mode of the resource.
// Requests that already wait for such a grant fail in the same way. Existing grants remain.
struct DrainClass {
    using Answer = LockClass;
    std::string pattern;
    // Part of the message of class_draining, and stored in the audit log. May be empty.
    std::string reason;
    // The name of the administrator; must not be empty.
    std::string by;
};
// Ends the draining of a class. Has no effect if the class is not drained. Requires administrator
// rights.
struct ResumeClass {
    using Answer = LockClass;
    std::string pattern;
    // The name of the administrator; must not be empty.
    std::string by;
};

using Request = std::variant<OpenSession, RenewSession, JoinProcess, CloseSession, Acquire, Convert,
                             Release, Transfer, Steal, Break, Reacquire, PutClass, DeleteClass,
                             AnswerWanted, EndSession, AwaitNotices, DrainClass, ResumeClass>;
using Answer = std::variant<SessionInfo, ClosedSession, Grant, Released, LockClass, Notices>;

// ---- Queries ----

// The holder of an ended grant, and how the grant ended.
struct PastHolder {
    Holder holder;
    Ending ending;
};

struct LockView {
    std::string resource;
    // The class that applies to the resource. The default class has an empty pattern.
    LockClass lock_class;
    // Oldest first. If notes and metadata exceed 1 MB in total, those of the oldest are omitted.
    std::vector<Holder> holders;
    // In the order of the queue.
    std::vector<Waiter> waiters;
    // The token of the last remembered grant of the resource; 0 if no grant is remembered.
    Token last_token{};
    std::optional<PastHolder> last_holder;
    // The time for which the resource cannot be granted although it has no holder, because of
    // LockClass::min_hold or LockClass::lock_delay. None if it can be granted.
    std::optional<std::chrono::milliseconds> closed_for;
};

struct ListLocks {
    // Only resources whose names begin with these bytes.
    std::string prefix;
    std::string principal;
    std::optional<SessionId> session;
    // If set, only resources of the class that has this pattern.
    std::optional<std::string> class_pattern;
    // Whether only resources that have waiters are listed.
    bool contended = false;
    // The principal of the caller. Holder::you is set for the locks of this principal.
    std::string asker;
    // The maximum number of locks in the page: 1 to 10,000. A page also ends after 1 MB.
    std::uint32_t limit = 1000;
    // The `next` of the previous page; empty for the first page.
    std::string next;
};
struct LockPage {
    // Ordered by resource and grant. If the store has at most 2,048 locks, the page shows the state
    // at one moment. Otherwise, a lock that was granted or ended during the query may be missing.
    std::vector<Holder> locks;
    std::string next;  // empty on the last page
};

struct SessionView {
    SessionId id;
    std::string principal;
    Bound bound = Bound::none;
    std::vector<ProcessId> processes;
    UserId uid = 0;
    std::int32_t pid = 0;
    ClientHost host{};
    WallTime opened_at;
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds remaining{};
    WallTime deadline;
    std::string note;
    Metadata metadata;
    std::uint64_t grants = 0;
};

// `waiter` waits for `blocker`, which holds the resource or waits for it ahead of `waiter`.
struct WaitEdge {
    std::string resource;
    SessionId waiter;
    std::string waiter_principal;
    SessionId blocker;
    std::string blocker_principal;
    bool blocker_holds = false;
};

struct Deadlock {
    WallTime at;
    std::vector<CycleStep> cycle;
};

// A row of the audit log: a grant was stolen, broken or transferred, or a class was drained or
// resumed. Rows are kept permanently, unless Retention limits them.
struct AuditRow {
    std::uint64_t sequence = 0;
    WallTime at;
    // One of stolen, broken, transferred, drained and resumed.
    Outcome outcome = Outcome::broken;
    std::string by;
    std::string reason;
    // The first resource of the grant. If a class was drained or resumed, the pattern of the class.
    std::string resource;
    // If a class was drained or resumed, these three members are 0 or empty.
    GrantId grant{};
    Token token{};
    std::string principal;
};

// ---- Notices to holders ----

// A grant has expired, or was stolen or broken. The notice is sent once for each grant, after the
// end of the grant is durable.
struct LostNotice {
    SessionId session;
    Grant grant;
    Ending ending;
};

// Another session began to wait for a lock of `session`, or asks to take over a grant of `session`.
struct WantedNotice {
    SessionId session;
    Wanted wanted;
};

// The holder of a grant has answered `session`, which had asked to take over the grant.
struct AnsweredNotice {
    SessionId session;
    TakeOverAnswer answer;
};

// ---- The service ----

// Identifies a submitted request, so that it can be cancelled.
enum class Ticket : std::uint64_t {};

// The interface of the lock manager. Executes requests and answers queries.
//
// Threads: thread-safe. Completions run on a thread of the service. If the service is closed or has
//          no background thread, they run on the thread that completes the request. The service
//          holds no mutex while a completion runs. A completion must not block for long.
// Errors:  in addition to those listed at the request: invalid_argument; closing; session_expired,
//          session_not_found, not_owner and grant_ended for the sessions and grants that the
//          request names; store_in_use in a child of the process that opened the store; io_error,
//          no_space and corrupt from the storage. After an error of the storage, every request
//          fails with that error.
class ROCKLOCK_API LockService {
public:
    using Completion = std::function<void(Result<Answer>&&)>;
    using WatchCompletion = std::function<void(Result<EventPage>)>;

    LockService() = default;
    LockService(const LockService&) = delete;
    LockService& operator=(const LockService&) = delete;
    virtual ~LockService() = default;

    // Executes the request. Calls `done` exactly once, after the result is as durable as the
    // request requires (docs/semantics.md, "Durability"). Returns the argument for cancel().
    virtual Ticket submit(Request request, Completion done) = 0;

    // Cancels the wait of a submitted request: its completion is called with `cancelled`. Has no
    // effect if the request is unknown or has completed, for example with a grant.
    virtual void cancel(Ticket ticket) = 0;
    // Submits the request and waits for the result in the calling thread. No other thread is
    // needed, unless the request must wait for a lock. A stop request cancels the wait.
    virtual Result<Answer> call(Request request, std::stop_token stop = {}) = 0;

    // As call(), but returns the answer type of the request instead of the variant.
    template <typename R>
    Result<typename R::Answer> ask(R request, std::stop_token stop = {}) {
        auto answer = call(Request(std::move(request)), std::move(stop));
        if (!answer) return std::move(answer).error();
        return std::get<typename R::Answer>(*std::move(answer));
    }

    // Returns the holders, the waiters and the last holder of a resource.
    virtual Result<LockView> show(std::string_view resource) = 0;
    // Returns a page of holders. Errors: invalid_argument (`limit` or `next`).
    virtual Result<LockPage> list(const ListLocks& request) = 0;
    // Returns the live sessions of `principal`, or of all principals if it is empty, oldest first.
    virtual Result<std::vector<SessionView>> sessions(std::string_view principal) = 0;
    // Returns the live grants of a session, oldest first.
    virtual Result<std::vector<Grant>> grants(const SessionId& session) = 0;
    // Returns the session if `secret` is its secret. The deadline may come from a renewal that is
    // not yet written: a caller that relies on the deadline must renew the session. Errors:
    // not_owner, session_not_found, session_expired.
    virtual Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) = 0;
    // Returns whether `session` currently holds `resource` in `mode` or a stronger one, directly or
    // by a subtree lock.
    virtual bool holds(const SessionId& session, std::string_view resource, Mode mode) = 0;
    // Returns the classes, most specific first.
    virtual std::vector<LockClass> classes() = 0;
    // Returns which session waits for which: at most 10,000 edges and 1 MB.
    virtual std::vector<WaitEdge> wait_graph() = 0;
    // Returns the last 16 deadlocks that were refused, oldest first.
    virtual std::vector<Deadlock> recent_deadlocks() = 0;
    // Returns the rows of the audit log after the sequence `after`: at most `limit` rows and 1 MB.
    virtual Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) = 0;
    // Deletes the rows of the audit log up to the sequence `through`, oldest first. Returns the
    // number of deleted rows. Errors: io_error; with a daemon also access_denied.
    virtual Result<std::uint64_t> trim_audit(std::uint64_t through) = 0;
    virtual LockStatistics statistics() = 0;
    // Returns the longest holds and most contended resources: at most `limit` (1 to 1,000) of each.
    virtual Result<Outliers> outliers(std::uint32_t limit) = 0;

    // Returns the current and the ended grants of a resource, as far back as they are remembered.
    // Errors: invalid_argument (the name, `limit` or `next`).
    virtual Result<HistoryPage> history(const HistoryRequest& request) = 0;

    // Returns the matching events after `request.after`. If there are none, waits in the calling
    // thread for the first one, for at most `request.patience`. Errors: invalid_argument (`limit`,
    // or no events are kept), cancelled (a stop was requested).
    virtual Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) = 0;
    // As watch(), but asynchronous: calls `done` exactly once, with `cancelled` after a cancel().
    virtual Ticket submit_watch(WatchRequest request, WatchCompletion done) = 0;
};

}  // namespace rocklock
