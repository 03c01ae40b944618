// The requests and the responses of the lock manager.
//
// A session is a business transaction of a principal; its grants are renewed and expire together. A
// grant is the right of one session to a set of resources, each in its own mode, with one token. A
// request that ends or changes a lock names the grant, not the resource. It therefore cannot affect
// a lock that another session has acquired in the meantime.
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
#include <rocklock/notices.hpp>
#include <rocklock/result.hpp>
#include <rocklock/statistics.hpp>
#include <rocklock/types.hpp>
#include <rocklock/user_limits.hpp>
#include <rocklock/watch.hpp>

namespace rocklock {

// The value of `patience` for a wait without a time limit.
inline constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();

// ---- Classes: the policy of a kind of resource ----

// The three types of Fowler's Pessimistic Offline Lock. The policy determines the mode for an
// intent:
//
//                        to edit       to read
//     exclusive_write    write         no lock: the request fails with invalid_argument
//     exclusive_read     exclusive     exclusive
//     read_write         write         read
enum class Policy : std::uint8_t { exclusive_write, exclusive_read, read_write };

// Names of the enumerators, as above. The parsers return none if `text` is not such a name.
ROCKLOCK_API std::string_view to_string(Policy policy);
ROCKLOCK_API std::string_view to_string(StealPolicy policy);
ROCKLOCK_API std::optional<Policy> parse_policy(std::string_view text);
ROCKLOCK_API std::optional<StealPolicy> parse_steal_policy(std::string_view text);

// A resource that is locked together with another one.
struct Dependant {
    std::string resource;
    // Must be `read` or `write`.
    Mode mode = Mode::read;
    friend bool operator==(const Dependant&, const Dependant&) = default;
};

// The settings of all resources that match a pattern. If several patterns match a name, the most
// specific one applies: they are compared element by element from the left, and a literal element
// is more specific than `*`.
struct LockClass {
    // A path. The element `*` matches exactly one element of any value.
    std::string pattern;
    Policy policy = Policy::exclusive_write;
    // The lease of a session that is opened for one grant, if the request does not specify a lease.
    std::chrono::milliseconds lease = limits::lease_default;
    // A session with a longer lease cannot lock the resource. Zero: only limits::lease_max applies.
    std::chrono::milliseconds max_lease{0};
    // A grant ends this long after it was given, however often it is renewed. Zero: no limit.
    std::chrono::milliseconds max_hold{0};
    // A released resource is not granted again before this time has passed since its grant.
    std::chrono::milliseconds min_hold{0};
    // After a lock expires or is broken, the resource is not granted for this long. Zero: no delay.
    std::chrono::milliseconds lock_delay{0};
    StealPolicy steal = StealPolicy::never;
    // With `idle`: how long the holder must have been inactive. With `ask`: how long the holder may
    // take to answer. 1 ms to 30 days with these two, otherwise zero.
    std::chrono::milliseconds steal_after{0};
    // The resources that are locked together with a resource of this class if it is locked in
    // `write` or `exclusive`.
    std::vector<Dependant> dependants;
    // The maximum number of waiters for one resource: 1 to limits::waiters_total.
    std::uint32_t queue_limit = limits::waiters_per_resource;
    // If greater than zero, each resource of the class has this number of permits and no modes.
    std::uint32_t permits = 0;
    // If a holder's lock has expired, or was stolen or broken, its writes to a bound table are
    // refused and kept as drafts: <rocklock/items/drafts.hpp>.
    bool drafts = false;

    friend bool operator==(const LockClass&, const LockClass&) = default;
};

// ---- Requests ----

// The object whose end also ends the session, in addition to the end of its lease. Used by the
// daemon only; in a program that embeds the library, the value has no effect.
enum class Bound : std::uint8_t { none, process, connection };

// A process. The start time distinguishes it from a later process with the same number.
struct ProcessId {
    std::int32_t pid = 0;
    // Field 22 of /proc/<pid>/stat: clock ticks since boot.
    std::uint64_t start_time = 0;
    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

struct SessionInfo {
    SessionId id;
    // Zero in the responses to RenewSession and JoinProcess.
    Secret secret;
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // In the response to a renewal: the notices since the previous renewal, as in Notices.
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
    std::vector<TakeOverAnswer> answers;
    // Set by LockService::authenticate() only; never sent over a socket.
    std::string principal;
};

struct OpenSession {
    using Answer = SessionInfo;
    // The principal of the session: 1 to 1,024 bytes of UTF-8. Its name outlives the process.
    std::string principal;
    // If none, limits::lease_default.
    std::optional<std::chrono::milliseconds> lease;
    Bound bound = Bound::none;
    // For Bound::process. The session ends when all of these processes have ended.
    std::vector<ProcessId> processes;
    // The user and the process of the caller, as reported by the kernel; shown to other clients.
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string note;
    Metadata metadata;
    // If a retry has the same id and the same caller, it gets the same session. If its parameters
    // differ, it fails with parameter_mismatch. Empty: no id.
    std::string request_id;
};

struct RenewSession {
    using Answer = SessionInfo;
    SessionId session;
    // The new lease of the session. None: the lease does not change.
    std::optional<std::chrono::milliseconds> lease;
    std::optional<std::string> note;
    std::optional<Metadata> metadata;
    // For a server that was stalled and then reads this renewal: the last time before the stall at
    // which the server could have read it. The renewal succeeds if the session had not expired
    // then. The new deadline is computed from the current time.
    std::optional<BootTime> as_of;
    // Reports that a person is working in the session. It then counts as active for
    // StealPolicy::idle. A plain renewal only shows that the program is running.
    bool active = false;
};

// Adds a process to a session that is bound to processes.
struct JoinProcess {
    using Answer = SessionInfo;
    SessionId session;
    ProcessId process;
};

struct ClosedSession {
    // The grants that the end of the session released.
    std::vector<GrantId> released;
};
struct CloseSession {
    using Answer = ClosedSession;
    SessionId session;
    // For servers: why they close the session. Recorded for the grants that end with it.
    std::string reason{};
};

struct LockRequest {
    std::string resource;
    // At most one of `mode`, `to` and `modes` may be set. If none is set, `to` is `edit`.
    std::optional<Mode> mode{};
    std::optional<Intent> to{};
    // Whether the lock also covers everything below this path.
    bool subtree = false;
    // The number of permits if the class counts permits; 0 means 1. Must be 0 for other classes.
    std::uint32_t permits = 0;
    // For Acquire only: different modes in order of preference. The lock gets the first mode in
    // which neither the lock itself nor its dependants conflict. If every mode conflicts, the lock
    // gets the last one, and the request waits or is refused as if it had named that mode alone.
    // The grant reports the mode. The mode is chosen once: a request that waits keeps its mode.
    //
    // If the request is invalid in the strongest of its modes, it is refused; the other modes are
    // not tried. With Held::join and Held::count, a grant suffices that covers the weakest of the
    // modes.
    std::vector<Mode> modes{};
};

struct GrantedLock {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    std::uint32_t permits = 0;
    // The resource that has this one as a dependant; empty if the request named this one itself.
    std::string cause;
};

struct Grant {
    GrantId id{};
    // The token that a write must present; see <rocklock/lock_proof.hpp>.
    Token token{};
    SessionId session;
    std::vector<GrantedLock> locks;
    // Whether the request had to wait.
    bool waited = false;
    // The count that `Held::count` maintains; otherwise 0.
    std::uint32_t count = 0;
    // The time until the session's deadline or until `cap`, whichever is earlier.
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // With a `max_hold`: the time at which the grant ends, however often it is renewed.
    std::optional<BootTime> cap;
    // In the response to a repeated request: how the grant has ended, if it has.
    std::optional<Ending> ended;
    // The credentials of the session that was opened for this grant alone.
    std::optional<SessionInfo> own_session;
};

struct Acquire {
    using Answer = Grant;
    // The session that will own the grant. Without it, `opens` opens a session for this grant
    // alone, which ends together with the grant.
    std::optional<SessionId> session;
    std::optional<OpenSession> opens;
    // 1 to 100 different resources. Either all are granted or none.
    std::vector<LockRequest> locks;
    // Zero: do not wait. no_limit: wait without a limit.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    // Shown to other clients; has precedence over the note of the session.
    std::string note;
    Metadata metadata;
    // The grant ends this long after it was given, or earlier if a class has a shorter max_hold.
    std::optional<std::chrono::milliseconds> max_hold;
    // If a retry has the same id and equal `locks`, `held` and `max_hold`, it gets the same grant.
    // If the first request still waits, it is cancelled, and the retry takes its place in the
    // queue. If the members differ, the retry fails with parameter_mismatch. At most 256 bytes.
    // Empty: no id.
    std::string request_id;
};

// Changes the modes of a held grant. A downgrade takes effect immediately and keeps the token. An
// upgrade waits for the other holders, ahead of the queue, and gets a new token. A conversion that
// fails does not change the grant. Errors: conflict, patience_expired, deadlock, queue_full,
// limit_exceeded; kind_mismatch if the grant has permits; invalid_argument also if another
// conversion of the grant waits.
struct Convert {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // The new mode of all locks except dependants, which keep their modes. Without it, `locks`
    // names some of the grant's resources, each with its new mode.
    std::optional<Mode> mode;
    std::vector<LockRequest> locks;
    // Zero: do not wait. no_limit: wait without a limit.
    std::chrono::milliseconds patience{0};
    // As in Acquire. Only the request id of the last conversion of a grant is remembered.
    std::string request_id;
};

struct Released {
    // `released`; `held` if only the count was decremented; `broken` after Break; otherwise how the
    // grant had ended before.
    Outcome outcome = Outcome::released;
    std::uint32_t count = 0;
    // If the grant had ended before: the principal that ended it, the reason and the time.
    std::string by{};
    std::string reason{};
    std::optional<WallTime> at{};
};
struct Release {
    using Answer = Released;
    SessionId session;
    GrantId grant{};
};

// Transfers a grant to another session in one step. The receiver's grant has a new id and token.
// Errors: session_not_found for the receiver; conflict if other grants of the sender's session
// conflict with the transferred locks; deadlock.
struct Transfer {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    SessionId to;
};

// Ends the grant of another session and gives its locks to this session, in one step and ahead of
// the waiters, if the classes of all its resources allow it. If a class has StealPolicy::ask, the
// first Steal of a principal asks the holder: it is refused, the holder receives `Wanted`, and the
// error's retry_after says when to retry.
//
// Errors: steal_refused   Facts: policy, retry_after
//         grant_ended
//         access_denied   `force` is set, but `administrator` is not
//         already_held    the grant belongs to this session
//         conflict        other grants of the holder's session conflict with the stolen locks
//         deadlock
//         limit_exceeded  100 other principals have asked for the grant, or a limit of the user
struct Steal {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // `administrator`: the session may also steal from a class with StealPolicy::never. `force`,
    // for administrators only: the session need not ask or wait.
    bool administrator = false;
    bool force = false;
};

// Ends a grant of another session. For administrators. Errors: grant_ended; not_owner if the grant
// is unknown.
struct Break {
    using Answer = Released;
    GrantId grant{};
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // The name of the administrator; must not be empty.
    std::string by;
};

// Ends a session and all of its grants, as if each were broken. For administrators. Errors:
// session_not_found; session_expired if the session has ended.
struct EndSession {
    using Answer = ClosedSession;
    SessionId session;
    // Reported to the holder and stored in the audit log; must not be empty.
    std::string reason;
    // The name of the administrator; must not be empty.
    std::string by;
};

// The holder's answer to all sessions that want its grant: those that asked to take it over and
// those that wait for it. It counts as activity of the holder's session, and has no other effect if
// no session wants the grant. The last answer applies until the grant ends.
//
// If `allow` is true, each session that has asked may now steal the grant, and the holder keeps it
// until one does. If no session has asked but sessions wait, the grant is released, even if its
// count is greater than 1.
//
// If `allow` is false, a session that has asked may not steal the grant, and may ask again after
// the class's `steal_after`. Waiters continue to wait.
struct AnswerWanted {
    // The outcome is `released` or `held`.
    using Answer = Released;
    SessionId session;
    GrantId grant{};
    bool allow = false;
};

// Acquires an expired or broken grant again for a session of the same principal, with a new id and
// token. If the session still holds the grant, returns it unchanged. Errors: precondition_failed if
// one of its resources has been granted since; conflict; already_held; not_owner; grant_ended if
// the grant ended in another way.
struct Reacquire {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
};

// Adds a class, or replaces the class with the same pattern.
struct PutClass {
    using Answer = LockClass;
    LockClass lock_class;
};
struct DeleteClass {
    using Answer = LockClass;
    std::string pattern;
};

using Request = std::variant<OpenSession, RenewSession, JoinProcess, CloseSession, Acquire, Convert,
                             Release, Transfer, Steal, Break, Reacquire, PutClass, DeleteClass,
                             AnswerWanted, EndSession, AwaitNotices>;
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
    // Oldest first. If the texts exceed 1 MB, the oldest holders have no note and no metadata.
    std::vector<Holder> holders;
    std::vector<Waiter> waiters;
    // The token of the last remembered grant of this name; 0 if there is none.
    Token last_token{};
    std::optional<PastHolder> last_holder;
    // The time for which the resource stays closed although it is free: a minimum hold or a lock
    // delay.
    std::optional<std::chrono::milliseconds> closed_for;
};

struct ListLocks {
    // Compared byte by byte.
    std::string prefix;
    std::string principal;
    std::optional<SessionId> session;
    // Only resources of the class that has this pattern.
    std::optional<std::string> class_pattern;
    // Only resources that have waiters.
    bool contended = false;
    // The principal of the caller: its rows are marked as `you`.
    std::string asker;
    // The maximum number of locks in the page: 1 to 10,000. A page also ends after 1 MB.
    std::uint32_t limit = 1000;
    // The `next` of the previous page; empty for the first page.
    std::string next;
};
struct LockPage {
    // Ordered by resource and grant. If the store has at most 2,048 locks, the page is the state at
    // one time. Otherwise, it contains every matching lock that was held during the whole query; a
    // lock that was granted or ended meanwhile may be missing.
    std::vector<Holder> locks;
    std::string next;  // empty on the last page
};

struct SessionView {
    SessionId id;
    std::string principal;
    Bound bound = Bound::none;
    std::vector<ProcessId> processes;
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    WallTime opened_at;
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds remaining{};
    WallTime deadline;
    std::string note;
    Metadata metadata;
    std::uint64_t grants = 0;
};

// A waiter, and a session for which it waits: a holder or an earlier waiter.
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

// A forced change. These rows are kept permanently.
struct AuditRow {
    std::uint64_t sequence = 0;
    WallTime at;
    // Only stolen or broken.
    Outcome outcome = Outcome::broken;
    std::string by;
    std::string reason;
    std::string resource;
    GrantId grant{};
    Token token{};
    std::string principal;
};

// ---- Notices to holders ----

// A grant has expired, or was stolen or broken. Sent once for each grant, after the end is durable.
struct LostNotice {
    SessionId session;
    Grant grant;
    Ending ending;
};

// A session began to wait for a resource that this session holds, or asks to take a grant over.
struct WantedNotice {
    SessionId session;
    Wanted wanted;
};

// The holder of a grant has answered the session, which asked to take the grant over.
struct AnsweredNotice {
    SessionId session;
    TakeOverAnswer answer;
};

// ---- The service ----

// Identifies a submitted request, so that it can be cancelled.
enum class Ticket : std::uint64_t {};

// Executes the requests: the interface of the lock manager.
//
// Threads: thread-safe. Completions run on a thread of the service. If it has none (it is closed,
//          or has no background thread), they run on the thread that completes the request.
//          The service holds no mutex while a completion runs. A completion must not block for
//          long.
// Errors:  in addition to the errors of each request: invalid_argument; session_expired,
//          session_not_found, not_owner and grant_ended for the sessions and grants that the
//          request names; io_error, no_space and corrupt from the storage, after which every
//          request fails with that error; closing; store_in_use in a child of the process that
//          opened the store.
class ROCKLOCK_API LockService {
public:
    using Completion = std::function<void(Result<Answer>)>;
    using WatchCompletion = std::function<void(Result<EventPage>)>;

    LockService() = default;
    LockService(const LockService&) = delete;
    LockService& operator=(const LockService&) = delete;
    virtual ~LockService() = default;

    // Decides the request. Calls `done` exactly once, after the result is as durable as the request
    // requires.
    virtual Ticket submit(Request request, Completion done) = 0;

    // Cancels a wait: its completion is called with `cancelled`. Has no effect if the request is
    // unknown or has completed, for example because it was granted at the same time.
    virtual void cancel(Ticket ticket) = 0;
    // Submits the request and waits for the result in the calling thread. No other thread is needed
    // unless the request has to wait for a lock. A stop request cancels the wait.
    virtual Result<Answer> call(Request request, std::stop_token stop = {}) = 0;

    // Calls call() and returns the answer with the type of the request.
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
    // Returns the session if `secret` is its secret. The deadline may be that of a renewal that is
    // not written yet; a caller that relies on the deadline must renew the session. Errors:
    // not_owner, session_not_found, session_expired.
    virtual Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) = 0;
    // Returns whether `session` currently holds `resource` in `mode` or a stronger one, directly or
    // by a subtree lock.
    virtual bool holds(const SessionId& session, std::string_view resource, Mode mode) = 0;
    // Returns the classes, most specific first.
    virtual std::vector<LockClass> classes() = 0;
    // Returns the edges from waiters to the sessions for which they wait: at most 10,000 and 1 MB.
    virtual std::vector<WaitEdge> wait_graph() = 0;
    // Returns the last 16 deadlocks that were refused, oldest first.
    virtual std::vector<Deadlock> recent_deadlocks() = 0;
    // Returns the forced changes after the sequence `after`, in order: at most `limit` and 1 MB.
    virtual Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) = 0;
    virtual LockStatistics statistics() = 0;
    // Returns at most `limit` (1 to 1,000) rows of each kind.
    virtual Result<Outliers> outliers(std::uint32_t limit) = 0;

    // Returns the live and the ended grants of a resource, as far back as they are remembered.
    // Errors: invalid_argument (the name, `limit` or `next`).
    virtual Result<HistoryPage> history(const HistoryRequest& request) = 0;

    // Returns the events after `request.after`. If there are none, waits for the first one in the
    // calling thread, for up to `request.patience`. A stop request ends the wait. Errors:
    // invalid_argument (`limit`, or the manager keeps no events), cancelled.
    virtual Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) = 0;
    // As watch(), but asynchronous: calls `done` exactly once. cancel() ends the wait with
    // `cancelled`.
    virtual Ticket submit_watch(WatchRequest request, WatchCompletion done) = 0;
};

}  // namespace rocklock
