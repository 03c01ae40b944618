// The calls of the lock API and their replies, independent of their encoding.
//
// A call is a request or a query of the lock service, together with data that is needed only on a
// connection: the secret that proves the ownership of a session, and the process to which a session
// is bound. JSON (call_json.hpp) and frames (call_frame.hpp) are two encodings of a call. The
// server and the clients use only the types of this header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/result.hpp>

#include "wire/cluster_calls.hpp"

namespace rocklock {

struct ListClasses {};

// Binds the items of a table to resources. Allowed for administrators, and for the users, groups
// and nodes that the class of the resources names in LockClass::bind_by.
struct BindTable {
    TableBinding binding;
    // Set by servers, as Steal::identities: the user and the groups of the caller, for
    // LockClass::bind_by.
    std::optional<std::vector<std::string>> identities{};
};
struct UnbindTable {
    std::string table;
    std::optional<std::vector<std::string>> identities{};
};
struct ListBindings {};

// Lists the drafts of the principal of the session. Without a session, lists the drafts of the
// principal in the request, which is allowed only for administrators. TakeDraft and DiscardDraft
// determine the principal in the same way.
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
    // The maximum number of sessions in the page: 1 to 10,000. A page also ends after 1 MB.
    std::uint32_t limit = 1000;
    // SessionPage::next of the previous page. Empty for the first page.
    std::string next;
};

// Returns the state of a session and its grants. Allowed only for the owner of the session.
struct ShowSession {
    SessionId session;
};

struct ShowStatistics {};
// Returns the wait graph: each waiter with the sessions that block it.
struct ListWaits {};
// Returns the last deadlocks. A request that would complete a deadlock is refused.
struct ListDeadlocks {};

// Returns rows of the audit log whose sequence number is greater than `after`, in order.
struct ListAudit {
    std::uint64_t after = 0;
    // The maximum number of rows. A value greater than 10,000 means 10,000.
    std::uint32_t limit = 1000;
};

// Deletes the rows of the audit log whose sequence number is at most `through`. Allowed for
// administrators.
struct TrimAudit {
    std::uint64_t through = 0;
};

// Returns the grants that are held longest and the resources with the most waits.
struct ListOutliers {
    // The maximum number of rows of each kind: 1 to 1,000.
    std::uint32_t limit = 10;
};

struct Ping {};

// Makes a consistent copy of the store on the daemon's machine. Allowed for administrators.
struct Backup {
    // An absolute path. If the directory exists, it must be empty.
    std::string directory;
};

// Ends all sessions of a principal or of a user, with their grants. The sessions end one after the
// other. Allowed for administrators.
struct EndSessions {
    // Empty if `uid` is set.
    std::string principal;
    // Reported to the holders and stored in the audit log. Must not be empty.
    std::string reason;
    // The uid of the user that opened the sessions. nullopt if `principal` is set.
    std::optional<UserId> uid{};
};

using CallBody =
    std::variant<OpenSession, RenewSession, JoinProcess, CloseSession, Acquire, Convert, Release,
                 Transfer, Steal, Break, PutClass, DeleteClass, ListClasses, ShowLock, ListLocks,
                 ListSessions, Ping, AnswerWanted, Reacquire, Backup, WatchRequest, HistoryRequest,
                 ShowSession, ShowStatistics, ListWaits, ListDeadlocks, ListAudit, ListOutliers,
                 BindTable, UnbindTable, ListBindings, ListDrafts, TakeDraft, DiscardDraft,
                 EndSession, EndSessions, AwaitNotices, DrainClass, ResumeClass, TrimAudit,
                 ListNodes, HandOver, CheckNode>;

struct Call {
    CallBody body;
    // The proof that the caller owns the session that the body names.
    std::optional<Secret> secret;
    // The process to which a session is bound. If it is absent, the session is bound to the process
    // of the caller.
    std::optional<std::int32_t> pid;
    // For RenewSession. If true, and the session was bound to a connection of the previous daemon
    // process, the session becomes bound to the connection of this call.
    bool rebind = false;
};

// Returns the session whose secret the call must carry, or null if the call needs no proof.
const SessionId* proven_session(const CallBody& body);

// Returns true if the call opens a session that ends when the connection of the call ends.
bool opens_with_connection(const CallBody& body);

// Returns true if the call reads the whole store, so that its duration depends on the size of the
// store.
bool reads_whole_store(const CallBody& body);

// The prefix of a verb's name in the header X-Amz-Target: "Rocklock_20261121.Acquire".
inline constexpr std::string_view target_prefix = "Rocklock_20261121.";

// Returns the name of the verb, such as "Acquire".
std::string_view verb_name(const CallBody& body);
// Returns the name of the verb with this index in CallBody.
std::string_view verb_name_at(std::size_t index);
// Returns an empty call of the verb, or nullopt if there is no verb with this name.
std::optional<Call> call_named(std::string_view verb);
// Returns the number of the verb in frames.
std::uint16_t verb_number(const CallBody& body);
// Gives the call an empty body of the verb with this number. Returns false if there is none.
bool begin_call(Call& call, std::uint16_t number);

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
    // The live grants, oldest first.
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
    // The time since the manager was started. nullopt for managers of earlier versions, which do
    // not send it.
    std::optional<std::chrono::milliseconds> uptime{};
    // The time on the manager's boot clock, rounded down. A client compares it with its own boot
    // clock. If the clocks differ, the client is in another time namespace or on another machine,
    // and cannot use the deadlines of the manager.
    std::optional<std::chrono::milliseconds> boot_clock{};
    // The id of the boot to which `boot_clock` belongs. Empty if the manager is in a time namespace
    // with an offset, or is of an earlier version.
    std::string boot_id{};
    // True if new sessions, locks and data are refused because the disk is almost full.
    bool low_space = false;
    // The name of the client's node if the client is connected through a relay. Otherwise empty.
    std::string node{};
    // In a cluster, the name of the node that is the manager. Otherwise empty.
    std::string manager_node{};
    // True if a connection over the Unix socket of the manager can continue in shared memory.
    bool shared_memory = false;
};

struct BackedUp {
    std::string directory;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

struct EndedSessions {
    // The number of sessions that were ended.
    std::uint64_t sessions = 0;
};

struct TrimmedAudit {
    // The number of rows that were deleted.
    std::uint64_t rows = 0;
};

struct DiscardedDraft {
    DraftId draft{};
};

using Reply = std::variant<SessionInfo, ClosedSession, Grant, Released, LockClass, ClassList,
                           LockView, LockPage, SessionPage, SessionDetail, LockStatistics, WaitList,
                           DeadlockList, AuditPage, Pong, BackedUp, EventPage, HistoryPage,
                           Outliers, TableBinding, BindingList, DraftPage, Draft, DiscardedDraft,
                           EndedSessions, Notices, TrimmedAudit, NodeList, HandedOver, NodeChecked>;

// The type of the reply to a call. Requests of the lock service define this type as their member
// `Answer`.
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
struct ReplyType<TrimAudit> : std::type_identity<TrimmedAudit> {};
template <>
struct ReplyType<ListOutliers> : std::type_identity<Outliers> {};
template <>
struct ReplyType<EndSessions> : std::type_identity<EndedSessions> {};
template <>
struct ReplyType<Backup> : std::type_identity<BackedUp> {};
template <>
struct ReplyType<ListNodes> : std::type_identity<NodeList> {};
template <>
struct ReplyType<HandOver> : std::type_identity<HandedOver> {};
template <>
struct ReplyType<CheckNode> : std::type_identity<NodeChecked> {};
template <>
struct ReplyType<WatchRequest> : std::type_identity<EventPage> {};
template <>
struct ReplyType<HistoryRequest> : std::type_identity<HistoryPage> {};
template <>
struct ReplyType<Ping> : std::type_identity<Pong> {};
template <typename Body>
using ReplyTo = typename ReplyType<Body>::type;

}  // namespace rocklock
