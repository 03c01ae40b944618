// What goes over a socket: the calls of the lock API and their replies, whatever their form.
//
// A call is a request of the lock service, or a look at it, with what only a connection needs: the
// secret that proves the session, and the process a session is to be bound to. JSON (call_json.hpp)
// and frames (call_frame.hpp) are forms of it; the server and the clients know this one set of
// types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <rocklock/items/drafts.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

struct ListClasses {};

// For administrators: binds the items of a table to resources.
struct BindTable {
    TableBinding binding;
};
struct UnbindTable {
    std::string table;
};
struct ListBindings {};

// The drafts of the session's principal; without a session, for administrators, of any.
struct ListDrafts {
    std::optional<SessionId> session;
    DraftsRequest request;
};
struct TakeDraft {
    std::optional<SessionId> session;
    std::string principal;
    DraftId draft{};
};
struct DiscardDraft {
    std::optional<SessionId> session;
    std::string principal;
    DraftId draft{};
};

struct ShowLock {
    std::string resource;
};

struct ListSessions {
    std::string principal;
    // 1 to 10,000.
    std::uint32_t limit = 1000;
    // What the page before gave as `next`; empty at first.
    std::string next;
};

// For the session's owner: how it stands, and what it holds.
struct ShowSession {
    SessionId session;
};

struct ShowStatistics {};
// Who waits for whom.
struct ListWaits {};
// The last deadlocks that were refused.
struct ListDeadlocks {};

// Forced changes, in order.
struct ListAudit {
    std::uint64_t after = 0;
    // At most 10,000 are given.
    std::uint32_t limit = 1000;
};

// What stands out: the longest held, and the most waited for.
struct ListOutliers {
    // Of each: 1 to 1,000.
    std::uint32_t limit = 10;
};

struct Ping {};

// For administrators: a consistent copy of the store, on the daemon's machine.
struct Backup {
    // Absolute; it must not exist yet, or be empty.
    std::string directory;
};

// For administrators: ends all sessions of a principal, each with its grants, one after the other.
struct EndSessions {
    std::string principal;
    // For the losers and the audit; not empty.
    std::string reason;
};

using CallBody =
    std::variant<OpenSession, RenewSession, JoinProcess, CloseSession, Acquire, Convert, Release,
                 Transfer, Steal, Break, PutClass, DeleteClass, ListClasses, ShowLock, ListLocks,
                 ListSessions, Ping, AnswerWanted, Reacquire, Backup, WatchRequest, HistoryRequest,
                 ShowSession, ShowStatistics, ListWaits, ListDeadlocks, ListAudit, ListOutliers,
                 BindTable, UnbindTable, ListBindings, ListDrafts, TakeDraft, DiscardDraft,
                 EndSession, EndSessions>;

struct Call {
    CallBody body;
    // The proof that the caller owns the session in the body.
    std::optional<Secret> secret;
    // The process to bind to; none: the caller.
    std::optional<std::int32_t> pid;
    // With RenewSession: a session that was bound to a connection of the daemon before is bound to
    // the one on which this comes.
    bool rebind = false;
};

// The session whose secret a call must carry; none for one that needs no proof.
const SessionId* proven_session(const CallBody& body);

// Whether a call opens a session that ends with its connection.
bool opens_with_connection(const CallBody& body);

// What stands before a verb's name in the header X-Amz-Target: "Rocklock_20261121.Acquire".
inline constexpr std::string_view target_prefix = "Rocklock_20261121.";

// The verb's name, as in "Acquire".
std::string_view verb_name(const CallBody& body);
// The same, by the place of its type in CallBody.
std::string_view verb_name_at(std::size_t index);
// An empty call of that verb; none for a name that is no verb.
std::optional<Call> call_named(std::string_view verb);
// The same by the number that the verb has in frames.
std::uint16_t verb_number(const CallBody& body);
std::optional<Call> call_numbered(std::uint16_t number);

struct ClassList {
    std::vector<LockClass> classes;
};

struct BindingList {
    std::vector<TableBinding> bindings;
};

struct SessionPage {
    std::vector<SessionView> sessions;
    // Empty on the last page.
    std::string next;
};

struct SessionDetail {
    SessionInfo session;
    // Live ones, oldest first.
    std::vector<Grant> grants;
};

struct WaitList {
    std::vector<WaitEdge> waits;
};

struct DeadlockList {
    std::vector<Deadlock> deadlocks;
};

struct AuditPage {
    std::vector<AuditRow> rows;
};

struct Pong {
    std::string version;
    std::int32_t pid = 0;
    // The directory of the store, or "memory".
    std::string store;
    // "durable" or "written".
    std::string durability;
};

struct BackedUp {
    std::string directory;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct EndedSessions {
    // How many were ended.
    std::uint64_t sessions = 0;
};

struct DiscardedDraft {
    DraftId draft{};
};

using Reply =
    std::variant<SessionInfo, ClosedSession, Grant, Released, LockClass, ClassList, LockView,
                 LockPage, SessionPage, SessionDetail, LockStatistics, WaitList, DeadlockList,
                 AuditPage, Pong, BackedUp, EventPage, HistoryPage, Outliers, TableBinding,
                 BindingList, DraftPage, Draft, DiscardedDraft, EndedSessions>;

// The type of the reply to a call. Requests of the lock service name their own.
template <typename Body>
struct ReplyType : std::type_identity<typename Body::Answer> {};
template <>
struct ReplyType<ListClasses> : std::type_identity<ClassList> {};
template <>
struct ReplyType<BindTable> : std::type_identity<TableBinding> {};
template <>
struct ReplyType<UnbindTable> : std::type_identity<TableBinding> {};
template <>
struct ReplyType<ListBindings> : std::type_identity<BindingList> {};
template <>
struct ReplyType<ListDrafts> : std::type_identity<DraftPage> {};
template <>
struct ReplyType<TakeDraft> : std::type_identity<Draft> {};
template <>
struct ReplyType<DiscardDraft> : std::type_identity<DiscardedDraft> {};
template <>
struct ReplyType<ShowLock> : std::type_identity<LockView> {};
template <>
struct ReplyType<ListLocks> : std::type_identity<LockPage> {};
template <>
struct ReplyType<ListSessions> : std::type_identity<SessionPage> {};
template <>
struct ReplyType<ShowSession> : std::type_identity<SessionDetail> {};
template <>
struct ReplyType<ShowStatistics> : std::type_identity<LockStatistics> {};
template <>
struct ReplyType<ListWaits> : std::type_identity<WaitList> {};
template <>
struct ReplyType<ListDeadlocks> : std::type_identity<DeadlockList> {};
template <>
struct ReplyType<ListAudit> : std::type_identity<AuditPage> {};
template <>
struct ReplyType<ListOutliers> : std::type_identity<Outliers> {};
template <>
struct ReplyType<EndSessions> : std::type_identity<EndedSessions> {};
template <>
struct ReplyType<Backup> : std::type_identity<BackedUp> {};
template <>
struct ReplyType<WatchRequest> : std::type_identity<EventPage> {};
template <>
struct ReplyType<HistoryRequest> : std::type_identity<HistoryPage> {};
template <>
struct ReplyType<Ping> : std::type_identity<Pong> {};
template <typename Body>
using ReplyTo = typename ReplyType<Body>::type;

}  // namespace rocklock
