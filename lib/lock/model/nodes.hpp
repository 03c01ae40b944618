// The nodes of the lock table and the links between them.
//
//     Session ──► Grant ──► Grant ──► …            every grant of a session
//                   │ holds()
//                   ▼
//     Resource ──► Hold ──► Hold ──► …             every hold on a resource; each belongs to one
//        │ extra()                                 grant
//        ▼
//     ResourceExtra: queue ──► WaitLock ──► …      each belongs to one Wait, which may be in
//                                                  several queues
//
// A Resource also has a list of its children, the paths directly below it, for subtree locks. A
// Resource whose name has no '/' has no parent. lock/model/held.hpp defines grants, holds and
// resources.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/arena.hpp"
#include "lock/model/held.hpp"
#include "lock/model/names.hpp"
#include "lock/model/timer_heap.hpp"

namespace rocklock::lock_model {

struct Wait;

// A lock that a request needs, after classes, intents and dependants have been resolved.
struct RequestedLock {
    Resource* resource = nullptr;
    std::uint32_t permits = 0;
    std::uint8_t cause = Hold::no_cause;
    Mode mode = Mode::write;
    bool subtree = false;

    bool root() const { return cause == Hold::no_cause; }
};

// A request with Acquire::any needs one of several alternatives. An alternative is a range of the
// requested locks: a lock that the request names, and its dependants.
struct Alternative {
    std::size_t first = 0;
    std::size_t count = 0;
    // The time after which a grant of this alternative ends. Zero means no limit.
    std::chrono::milliseconds max_hold{0};
};

// The position of a request in the queues of its resources. Positions are totally ordered. The
// position of a request does not change while the request waits.
struct QueuePlace {
    // The order of a request that is not in a queue yet. Every waiting request has a lower order.
    static constexpr std::uint64_t newest = UINT64_MAX;

    bool conversion = false;
    // The time of arrival, minus limits::priority_step for each unit of the priority.
    BootTime ranked_at{};
    // The order of arrival.
    std::uint64_t order = newest;

    // Conversions come before other requests. Within each of these two kinds, requests are in the
    // order of `ranked_at` and then in the order of arrival.
    bool before(const QueuePlace& other) const {
        if (conversion != other.conversion) return conversion;
        if (ranked_at != other.ranked_at) return ranked_at < other.ranked_at;
        return order < other.order;
    }
};

// A requested lock in the queue of its resource.
struct WaitLock {
    const RequestedLock* requested = nullptr;
    Wait* wait = nullptr;
    WaitLock* next = nullptr;
    WaitLock* previous = nullptr;
};

// A waiting request.
struct Wait {
    Ticket ticket{};
    Session* session = nullptr;
    QueuePlace place;
    std::uint32_t priority = 0;
    // For a conversion: the grant to convert. If this grant has ended, `converts` is null and
    // `grant_ended` is set.
    Grant* converts = nullptr;
    std::optional<Ending> grant_ended;
    std::vector<RequestedLock> requested_locks;
    // If the request needs any one of several locks: these locks. Otherwise empty; the request then
    // needs all of `requested_locks`.
    std::vector<Alternative> alternatives;
    // One element for each of `requested_locks`. After the request is queued, the sizes of both
    // vectors do not change, because pointers refer to their elements.
    std::vector<WaitLock> locks;
    // For a conversion: the modes that all holds of the grant will have, in the order of
    // Grant::holds().
    std::vector<Mode> modes_after;
    Held held = Held::refuse;
    std::string note;
    Metadata metadata;
    // `max` is the shortest max_hold of the request and of the classes of its resources. `min` is
    // the min_hold of the request. 0 means no limit.
    struct HoldTimes {
        std::chrono::milliseconds max{0};
        std::chrono::milliseconds min{0};
    };
    HoldTimes hold_times;
    RequestKey request;
    std::uint64_t fingerprint = 0;
    BootTime patience_ends{BootTime::max()};
    WallTime since;
    BootTime began{};
    // Whether the wait has been reported as slow.
    bool slow_reported = false;
    // True only in LockTable::Core::cycle_when_granted(), which searches as if the requested locks
    // were granted. This wait represents these locks and is the last entry of `session->waits`.
    bool imagined_grant = false;
    // Fires at the earliest time at which the request must be examined: when its wait timeout ends,
    // when the lease of its session ends, when a lock that blocks it may end, when a closed
    // resource that blocks it opens, or when the wait must be reported as slow.
    Timer timer;
    // The neighbours in the list of all waits, in the order of arrival.
    Wait* older = nullptr;
    Wait* younger = nullptr;
    // Whether ServeList contains the wait: `recheck` is set if the wait must be examined, `overdue`
    // if it has timed out.
    struct Listed {
        bool recheck = false;
        bool overdue = false;
    };
    Listed listed;

    bool any() const { return !alternatives.empty(); }
    bool before(const Wait& other) const { return place.before(other.place); }
    std::span<const RequestedLock> locks_of(const Alternative& one) const {
        return std::span(requested_locks).subspan(one.first, one.count);
    }
};

// The binding of a session (OpenSession::bound), and the processes of the session.
struct SessionBinding {
    Bound bound = Bound::none;
    std::int32_t pid = 0;
    std::vector<ProcessId> processes;
    // The host of the client that opened the session. Null for the host of the manager.
    const ClientHost* host = nullptr;
};

// The request that opened a session.
struct SessionOpening {
    WallTime at;
    RequestKey request;
    // The lease that the request specified; none after a restart.
    std::optional<std::chrono::milliseconds> lease;
};

// Set for a session that an Acquire has opened for its grant alone. The session ends with that
// grant.
struct OnlyGrant {
    bool set = false;
    // Whether the session has ended together with the grant. Only the record of the grant then
    // contains the end; the record of the session is left unchanged.
    bool ended_session = false;
    // The grant. 0 if the session has no grant yet, or if its record was written by a version that
    // did not store the id.
    GrantId id{};
};

// The record from which recovery took the deadline of a session.
struct DeadlineSource {
    std::uint64_t version = 0;
    // Whether the record was written in the current boot of the machine, so that its boot time is
    // valid.
    bool exact = false;
};

// Notices that the owner of a session has not received yet, and the AwaitNotices requests that wait
// for the next one.
struct SessionNotices {
    Notices kept;
    std::vector<Ticket> waiting;
};

struct Session : InArena {
    SessionId id;
    std::string principal;
    std::chrono::milliseconds lease{};
    BootTime deadline{BootTime::max()};
    SessionBinding binding;
    SessionOpening opening;
    OnlyGrant only_grant;
    // Whether the session was opened by an Acquire that still waits. Its record is then not yet
    // written, and it has no deadline.
    bool unborn = false;
    // Whether the events `warned` have been created for the current deadline.
    bool warned = false;
    // Whether a renewal has been written to the deadline record of the session, which is separate
    // from the session's main record.
    bool renewed = false;
    UserId uid = 0;
    // The bytes that UserUsage counts for the session.
    std::uint64_t counted = 0;
    // The order of opening.
    std::uint64_t order = 0;
    std::string note;
    Metadata metadata;
    Near<Grant> first;
    Near<Grant> last;
    std::uint64_t grants = 0;
    // The time of the owner's last activity. The time is not stored on disk; a restart counts as
    // activity.
    BootTime active{};
    // The waiting requests of the session, in the order of arrival.
    std::vector<Wait*> waits;
    // The number of this session's queue entries that are directly followed by an entry of another
    // session. If 0, no other session waits after this session in any queue.
    std::size_t followed = 0;
    // Fires at the deadline, or at the time of the warning before the deadline.
    Timer timer;
    DeadlineSource deadline_source;
    // Set when the session has ended. The grants of the session are cleaned up after that.
    std::optional<Ending> ended;
    // Null if there has not yet been a notice or an AwaitNotices.
    std::unique_ptr<SessionNotices> notices;

    bool live(BootTime now) const { return !ended && now < deadline; }
};

// Returns the time until a deadline. Returns `no_expiry` if there is no deadline.
inline std::chrono::milliseconds time_until(BootTime deadline, BootTime now) {
    if (deadline == no_deadline) return no_expiry;
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
}

inline bool live(const Grant& grant, BootTime now) {
    return grant.session->live(now) && now < grant.cap();
}
inline bool live(const Hold& hold, BootTime now) { return live(*hold.grant(), now); }

}  // namespace rocklock::lock_model
