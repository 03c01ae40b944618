// What goes over a socket: the calls of the lock API and their replies, whatever their form.
//
// A call is a request of the lock service, or a look at it, with what only a connection needs: the
// secret that proves the session, and the process a session is to be bound to. JSON (call_json.hpp)
// is one form of it; the server and the clients know this one set of types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

struct ListClasses {};

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

struct Ping {};

// For administrators: a consistent copy of the store, on the daemon's machine.
struct Backup {
    // Absolute; it must not exist yet, or be empty.
    std::string directory;
};

using CallBody =
    std::variant<OpenSession, RenewSession, JoinProcess, CloseSession, Acquire, Convert, Release,
                 Transfer, Steal, Break, PutClass, DeleteClass, ListClasses, ShowLock, ListLocks,
                 ListSessions, Ping, AnswerWanted, Reacquire, Backup, WatchRequest, HistoryRequest>;

struct Call {
    CallBody body;
    // The proof that the caller owns the session in the body.
    std::optional<Secret> secret;
    // The process to bind to; none: the caller.
    std::optional<std::int32_t> pid;
};

// What stands before a verb's name in the header X-Amz-Target: "Rocklock_20261121.Acquire".
inline constexpr std::string_view target_prefix = "Rocklock_20261121.";

// The verb's name, as in "Acquire".
std::string_view verb_name(const CallBody& body);
// The same, by the place of its type in CallBody.
std::string_view verb_name_at(std::size_t index);
// An empty call of that verb; none for a name that is no verb.
std::optional<Call> call_named(std::string_view verb);

struct ClassList {
    std::vector<LockClass> classes;
};

struct SessionPage {
    std::vector<SessionView> sessions;
    // Empty on the last page.
    std::string next;
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

using Reply = std::variant<SessionInfo, ClosedSession, Grant, Released, LockClass, ClassList,
                           LockView, LockPage, SessionPage, Pong, BackedUp, EventPage, HistoryPage>;

}  // namespace rocklock
