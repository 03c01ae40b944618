// The requests of the lock manager and its answers.
//
// A session is a business transaction of a principal; its grants are renewed and expire as one. A
// grant is one session's hold on a set of resources, each in its own mode, with one token. Every
// verb names the exact grant, never just the resource, so nobody can end or change a lock by
// mistake that somebody else has taken in between.
//
//     request ──► waiting ──► held ──► released | expired | stolen | broken | transferred
//                    └──► refused | patience expired | cancelled | deadlock
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
#include <rocklock/result.hpp>
#include <rocklock/statistics.hpp>
#include <rocklock/types.hpp>
#include <rocklock/user_limits.hpp>
#include <rocklock/watch.hpp>

namespace rocklock {

// Wait for ever (`patience`).
inline constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();

// ---- Classes: the policy of a kind of resource ----

// Fowler's three offline locks, as what an intent comes to.
//
//                        to edit       to read
//     exclusive_write    write         no lock: asking for one is an error that says so
//     exclusive_read     exclusive     exclusive
//     read_write         write         read
enum class Policy : std::uint8_t { exclusive_write, exclusive_read, read_write };

ROCKLOCK_API std::string_view to_string(Policy policy);
ROCKLOCK_API std::string_view to_string(StealPolicy policy);
ROCKLOCK_API std::optional<Policy> parse_policy(std::string_view text);
ROCKLOCK_API std::optional<StealPolicy> parse_steal_policy(std::string_view text);

// A resource that is locked along with the one that is edited.
struct Dependant {
    std::string resource;
    // read or write.
    Mode mode = Mode::read;
    friend bool operator==(const Dependant&, const Dependant&) = default;
};

// Which resources a class speaks for, and what holds for them. Of several patterns that match a
// name the most specific counts: compared element by element from the left, a literal before `*`.
struct LockClass {
    // A path; the element `*` matches any one element.
    std::string pattern;
    Policy policy = Policy::exclusive_write;
    // The lease of a session made for one grant that names none.
    std::chrono::milliseconds lease = limits::lease_default;
    // A session with a longer lease may not lock here. Zero: no limit but limits::lease_max.
    std::chrono::milliseconds max_lease{0};
    // A grant ends this long after it was given, however often it is renewed. Zero: no such limit.
    std::chrono::milliseconds max_hold{0};
    // A released lock is not granted again before it was held this long. Zero: at once.
    std::chrono::milliseconds min_hold{0};
    // A lock that expired or was broken is not granted again for this long. Zero: at once.
    std::chrono::milliseconds lock_delay{0};
    StealPolicy steal = StealPolicy::never;
    // With `idle`: how long the holder must have been inactive; with `ask`: how long it may take to
    // answer. 1 ms to 30 days with those two, zero with the others.
    std::chrono::milliseconds steal_after{0};
    // Locked along with a resource of this class when that is locked to edit.
    std::vector<Dependant> dependants;
    // Waiters for one resource: 1 to limits::waiters_total.
    std::uint32_t queue_limit = limits::waiters_per_resource;
    // Makes it a counting class: so many permits, and no modes. Zero: a class of modes.
    std::uint32_t permits = 0;
    // What a holder writes to a bound table once its lock has expired, or was stolen or broken, is
    // refused and kept as a draft: <rocklock/items/drafts.hpp>.
    bool drafts = false;

    friend bool operator==(const LockClass&, const LockClass&) = default;
};

// ---- Requests ----

// What ends a session besides its lease. The server of a store sees to it: in a program that embeds
// the library nobody does.
enum class Bound : std::uint8_t { none, process, connection };

// A process, safe against reuse of its number.
struct ProcessId {
    std::int32_t pid = 0;
    // Field 22 of /proc/<pid>/stat: clock ticks after boot.
    std::uint64_t start_time = 0;
    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// Somebody waits for what a grant holds, or asks to take it over.
struct Wanted {
    GrantId grant{};
    std::string resource;
    // The principal who wants it, in which mode, and since when.
    std::string by;
    Mode mode = Mode::write;
    WallTime since;
    // Who asks to take it over may do so from then on, unless AnswerWanted says something else
    // before. None for one that only waits.
    std::optional<WallTime> answer_by{};
};

// A grant that ended otherwise than by its session.
struct LostGrant {
    GrantId grant{};
    Ending ending;
};

struct SessionInfo {
    SessionId id;
    // Zero in the answers to RenewSession and JoinProcess.
    Secret secret;
    std::chrono::milliseconds lease{};
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // In the answer to a renewal: what has happened since the one before. At most 100 of each, the
    // newest.
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
    // From LockService::authenticate() alone, and never over a socket.
    std::string principal;
};

struct OpenSession {
    using Answer = SessionInfo;
    // Who it is for, under a name that outlives the process: 1 to 1,024 bytes of UTF-8.
    std::string principal;
    // None: limits::lease_default.
    std::optional<std::chrono::milliseconds> lease;
    Bound bound = Bound::none;
    // With Bound::process; the session ends when all of these are gone.
    std::vector<ProcessId> processes;
    // The caller, as the kernel names it; shown to others.
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string note;
    Metadata metadata;
    // A retry with this id and caller gets the same session, or parameter_mismatch. Empty: none.
    std::string request_id;
};

struct RenewSession {
    using Answer = SessionInfo;
    SessionId session;
    // Changes the lease from now on.
    std::optional<std::chrono::milliseconds> lease;
    std::optional<std::string> note;
    std::optional<Metadata> metadata;
    // For a manager that was stalled and finds this renewal waiting: judge it as of that moment,
    // the last at which it could have been served. The new deadline still counts from now.
    std::optional<BootTime> as_of;
    // A person is at it: who may steal from an inactive holder may not do so for a while. A plain
    // renewal says only that the program runs.
    bool active = false;
};

// Adds a process to a process-bound session.
struct JoinProcess {
    using Answer = SessionInfo;
    SessionId session;
    ProcessId process;
};

struct ClosedSession {
    // What its end released.
    std::vector<GrantId> released;
};
struct CloseSession {
    using Answer = ClosedSession;
    SessionId session;
    // Kept with the ends of its grants. Not for clients: why somebody else closed it.
    std::string reason{};
};

struct LockRequest {
    std::string resource;
    // At most one of `mode`, `to` and `modes`; none means `to` edit.
    std::optional<Mode> mode{};
    std::optional<Intent> to{};
    // Everything below this path too.
    bool subtree = false;
    // How many, of a counting class; 0 means 1 there, and must be 0 elsewhere.
    std::uint32_t permits = 0;
    // Of an Acquire: different modes, tried in this order. The lock takes the first that nobody is
    // in the way of, neither for itself nor for what its class takes along in that mode; where
    // there is none it takes the last, and waits for it or is refused as if it had asked for that
    // alone. The grant says which it is. That is decided once: who waits tries no other mode later.
    //
    // Whatever is wrong with the request in the strongest of them is wrong with it: it is refused,
    // not tried in another. With Held::join and Held::count a grant does that covers one of them.
    std::vector<Mode> modes{};
};

struct GrantedLock {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    std::uint32_t permits = 0;
    // The resource whose editing took this one along; empty for one that was asked for.
    std::string cause;
};

struct Grant {
    GrantId id{};
    // What a write carries to be let in.
    Token token{};
    SessionId session;
    std::vector<GrantedLock> locks;
    // Whether it had to wait.
    bool waited = false;
    // How often it is held: 0, or what `Held::count` added.
    std::uint32_t count = 0;
    // Until the earlier of its session's deadline and its own cap.
    std::chrono::milliseconds remaining{};
    BootTime deadline;
    WallTime deadline_wall;
    // With a `max_hold`: the end that no renewal can push.
    std::optional<BootTime> cap;
    // In the answer to a repeated request whose grant has ended since: how.
    std::optional<Ending> ended;
    // When a session was made for this grant alone: its credentials.
    std::optional<SessionInfo> own_session;
};

struct Acquire {
    using Answer = Grant;
    // The session that will own it; without one, `opens` makes one for this grant alone, which ends
    // with it.
    std::optional<SessionId> session;
    std::optional<OpenSession> opens;
    // 1 to 100 names, none twice. All are granted together or none.
    std::vector<LockRequest> locks;
    // Zero: try, never wait. no_limit: wait for ever.
    std::chrono::milliseconds patience{0};
    Held held = Held::refuse;
    // Shown to others, before those of the session.
    std::string note;
    Metadata metadata;
    // The grant ends so long after it was given, or when its classes say, if that is sooner.
    std::optional<std::chrono::milliseconds> max_hold;
    // A retry with the same id, `locks`, `held` and `max_hold` gets the same grant; with others,
    // parameter_mismatch. At most 256 bytes; empty: none.
    std::string request_id;
};

// Changes the modes of a held grant. Down is at once and keeps the token; up waits for the other
// holders, ahead of the queue, and takes a new token. A conversion that fails leaves the grant as
// it was. While one waits, another one of the same grant is refused as an invalid argument.
struct Convert {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // For all its locks; or, without it, `locks` for some of them, each a resource and its mode.
    std::optional<Mode> mode;
    std::vector<LockRequest> locks;
    // Zero: try, never wait. no_limit: wait for ever.
    std::chrono::milliseconds patience{0};
    // As Acquire's; the grant remembers the last one.
    std::string request_id;
};

struct Released {
    // released; held, with a count that was lowered; or what had ended it before.
    Outcome outcome = Outcome::released;
    std::uint32_t count = 0;
    // Of what had ended it before: who, why and when.
    std::string by{};
    std::string reason{};
    std::optional<WallTime> at{};
};
struct Release {
    using Answer = Released;
    SessionId session;
    GrantId grant{};
};

// Gives a grant to another session, with a new id and token, in one step. Errors: session_not_found
// for the receiver; conflict when the giver's other grants are in the way; deadlock.
struct Transfer {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    SessionId to;
};

// Ends another's grant and takes its place, in one step and ahead of the waiters, if the class of
// every resource in it allows it. A class that wants the holder to be asked makes the first Steal
// of a principal ask: it is refused, the holder gets `Wanted`, and the refusal says when to come
// again. Errors: steal_refused (with the policy in the way, and when to try again), grant_ended,
// already_held (one's own), conflict when the loser's other grants are in the way, deadlock,
// limit_exceeded when a hundred others have asked.
struct Steal {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
    // For the loser and the audit; not empty.
    std::string reason;
    // May steal what its class allows to nobody; and, with `force`, without asking or waiting too.
    bool administrator = false;
    bool force = false;
};

// Ends another's grant. For administrators. Errors: grant_ended, not_owner for one that nobody
// knows.
struct Break {
    using Answer = Released;
    GrantId grant{};
    // For the loser and the audit; not empty.
    std::string reason;
    // Who does it, under a name that people know; not empty.
    std::string by;
};

// Ends another's session and all of its grants, as if each were broken. For administrators. Errors:
// session_not_found, session_expired for one that has ended.
struct EndSession {
    using Answer = ClosedSession;
    SessionId session;
    // For the loser and the audit; not empty.
    std::string reason;
    // The name of the administrator; not empty.
    std::string by;
};

// The holder's answer to all who want a grant of its: those who asked to take it over, and those
// who wait for it. Counts as activity of its session.
//
// Allowed: whoever has asked may steal it from now on, and the session holds it until one does. If
// nobody has asked, it is released to those who wait, whatever its count. Not allowed: who has
// asked may not steal it, and may ask again after its class's `steal_after`; who waits goes on
// waiting. The last answer counts, until the grant ends. Nothing happens where nobody wants it.
struct AnswerWanted {
    // `released`, or `held`.
    using Answer = Released;
    SessionId session;
    GrantId grant{};
    bool allow = false;
};

// Takes an expired or broken grant again, with a new id and token, for a session of the same
// principal, only if nobody was granted any of its resources since. Errors: precondition_failed
// when somebody was, not_owner, grant_ended when it ended otherwise.
struct Reacquire {
    using Answer = Grant;
    SessionId session;
    GrantId grant{};
};

// Adds a class, or replaces the one with its pattern.
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
                             AnswerWanted, EndSession>;
using Answer = std::variant<SessionInfo, ClosedSession, Grant, Released, LockClass>;

// ---- Looking ----

// A holder that has gone, and how.
struct PastHolder {
    Holder holder;
    Ending ending;
};

struct LockView {
    std::string resource;
    // What counts for it; the default class has an empty pattern.
    LockClass lock_class;
    std::vector<Holder> holders;
    std::vector<Waiter> waiters;
    // Of the last grant on this name that is remembered; 0 for none.
    Token last_token{};
    std::optional<PastHolder> last_holder;
    // Free, but not granted before: a minimum hold or a lock delay.
    std::optional<std::chrono::milliseconds> closed_for;
};

struct ListLocks {
    // Compared with bytes.
    std::string prefix;
    std::string principal;
    std::optional<SessionId> session;
    // Only resources of the class with this pattern.
    std::optional<std::string> class_pattern;
    // Only resources that somebody waits for.
    bool contended = false;
    // Who asks: marks the rows of this principal as `you`.
    std::string asker;
    // 1 to 10,000.
    std::uint32_t limit = 1000;
    // What the page before gave as `next`; empty at first.
    std::string next;
};
struct LockPage {
    // By resource and grant. Of up to 2,048 locks in all an instant; of more, what was held all the
    // while is here, and what came or went may be: others do not wait for those who look.
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

// One waiter and one of those it waits for: a holder, or an earlier waiter.
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

// One forced change, kept for ever.
struct AuditRow {
    std::uint64_t sequence = 0;
    WallTime at;
    // stolen or broken.
    Outcome outcome = Outcome::broken;
    std::string by;
    std::string reason;
    std::string resource;
    GrantId grant{};
    Token token{};
    std::string principal;
};

// ---- What holders are told ----

// A grant ended otherwise than by its own session. Told once for each grant, after it is durable.
struct LostNotice {
    SessionId session;
    Grant grant;
    Ending ending;
};

// Somebody began to wait for what this session holds, or asks to take it over.
struct WantedNotice {
    SessionId session;
    Wanted wanted;
};

// ---- The service ----

// Names a request that has been submitted, to cancel it.
enum class Ticket : std::uint64_t {};

// What answers the requests: the lock manager.
//
// Threads: thread-safe. Completions run on a thread of the service; where it has none (closed, or
//          without background) on the thread whose call gives them. Never under a mutex of its, and
//          they must not block for long.
// Errors:  besides those named at each request: invalid_argument; session_expired and
//          session_not_found, not_owner, grant_ended for the sessions and grants named; io_error,
//          no_space and corrupt from the storage, from then on for everything; closing;
//          store_in_use in a child of the process that opened the store.
class ROCKLOCK_API LockService {
public:
    using Completion = std::function<void(Result<Answer>)>;
    using WatchCompletion = std::function<void(Result<EventPage>)>;

    LockService() = default;
    LockService(const LockService&) = delete;
    LockService& operator=(const LockService&) = delete;
    virtual ~LockService() = default;

    // Decides, and calls `done` exactly once, when the answer is as durable as its verb demands.
    virtual Ticket submit(Request request, Completion done) = 0;

    // Withdraws a wait; its completion gets `cancelled`. Too late or unknown: nothing happens. When
    // a grant and the cancel race, the completion tells which it was.
    virtual void cancel(Ticket ticket) = 0;
    // Submits and waits in the caller's thread, which needs no other thread unless it has to wait
    // for a lock. A stop request cancels the wait.
    virtual Result<Answer> call(Request request, std::stop_token stop = {}) = 0;

    // call(), with the answer of that request.
    template <typename R>
    Result<typename R::Answer> ask(R request, std::stop_token stop = {}) {
        auto answer = call(Request(std::move(request)), std::move(stop));
        if (!answer) return std::move(answer).error();
        return std::get<typename R::Answer>(*std::move(answer));
    }

    // Holders, waiters and the last holder of one name.
    virtual Result<LockView> show(std::string_view resource) = 0;
    // Holders, in order of resource and grant. Errors: invalid_argument (`limit` or `next`).
    virtual Result<LockPage> list(const ListLocks& request) = 0;
    // Live ones, in order of opening; `principal` empty for all.
    virtual Result<std::vector<SessionView>> sessions(std::string_view principal) = 0;
    // The live grants of a session, oldest first.
    virtual Result<std::vector<Grant>> grants(const SessionId& session) = 0;
    // The session that belongs to this proof. Its deadline may be that of a renewal which is not
    // written yet: whoever relies on one asks for a renewal. Errors: not_owner, session_not_found,
    // session_expired.
    virtual Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) = 0;
    // Whether `session` now holds `resource` in `mode` or a stronger one, by itself or through a
    // subtree.
    virtual bool holds(const SessionId& session, std::string_view resource, Mode mode) = 0;
    // Most specific first.
    virtual std::vector<LockClass> classes() = 0;
    // Who waits for whom, now; at most 10,000 edges.
    virtual std::vector<WaitEdge> wait_graph() = 0;
    // The last sixteen deadlocks that were refused, oldest first.
    virtual std::vector<Deadlock> recent_deadlocks() = 0;
    // At most `limit` forced changes whose sequence is above `after`, in order.
    virtual Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) = 0;
    virtual LockStatistics statistics() = 0;
    // At most `limit` of each: 1 to 1,000.
    virtual Result<Outliers> outliers(std::uint32_t limit) = 0;

    // The grants on one name, live and ended, as far back as they are remembered. Errors:
    // invalid_argument (the name, `limit` or `next`).
    virtual Result<HistoryPage> history(const HistoryRequest& request) = 0;

    // The events after one that is known, and waits for the first if it has patience, in the
    // caller's thread. A stop request ends the wait. Errors: invalid_argument (`limit`, or where no
    // events are kept), cancelled.
    virtual Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) = 0;
    // The same; calls `done` exactly once. cancel() ends it with `cancelled`.
    virtual Ticket submit_watch(WatchRequest request, WatchCompletion done) = 0;
};

}  // namespace rocklock
