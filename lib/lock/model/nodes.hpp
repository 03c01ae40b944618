// The nodes of the lock table and the links between them.
//
//     Session ──► Grant ──► Grant ──► …            every grant of a session
//                   │ holds()
//                   ▼
//     Resource ──► Hold ──► Hold ──► …             every hold on a resource; each belongs to one
//        │ extra                                   grant
//        ▼
//     ResourceExtra: queue ──► WaitLock ──► …      each belongs to one Wait, which may be in
//                                                  several queues
//
// A Resource also has a list of its children, the paths directly below it, for subtree locks.
//
// A Resource exists if it has a hold or a waiter, if it is closed (cannot be granted before
// ResourceExtra::closed_until), or if a resource below it exists. A Resource whose name has no '/'
// has no parent. Most resources have no ResourceExtra, so that a million held locks need little
// memory.
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
#include "lock/model/names.hpp"
#include "lock/model/timer_heap.hpp"

namespace rocklock::lock_model {

struct Grant;
struct Resource;
struct Session;
struct Wait;
struct WaitLock;

// Identifies a request that can be repeated: a hash of its request id and of the scope of the id,
// which is a session, or a uid and a principal.
struct RequestKey {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    explicit operator bool() const { return high != 0 || low != 0; }
    friend bool operator==(const RequestKey&, const RequestKey&) = default;
};
struct RequestKeyHash {
    using is_avalanching = void;
    std::size_t operator()(const RequestKey& key) const { return key.high ^ key.low; }
};

// One resource of a grant. The members are ordered to avoid padding, because there may be millions
// of holds.
struct Hold {
    // The previous grant on the name of this resource. These links form the history of the
    // resource.
    GrantId before{};
    Near<Grant> grant{};
    Near<Resource> resource{};
    Near<Hold> next{};
    Near<Hold> previous{};
    std::uint32_t permits = 0;
    // If this resource was locked as a dependant (LockClass::dependants): the index, in the same
    // grant, of the hold that caused it. `no_cause` if the request named the resource itself.
    std::uint8_t cause = no_cause;
    Mode mode = Mode::write;
    bool subtree = false;

    static constexpr std::uint8_t no_cause = 0xFF;
    bool root() const { return cause == no_cause; }
};

// The request of a principal to the holder of a grant to take over the grant (StealPolicy::ask).
// Kept in memory only: after a restart, the principal must ask again.
struct Ask {
    enum class Answer : std::uint8_t { none, allowed, refused };

    // The principal that has asked, and the user that opened the session in which it asked. The
    // principal may continue in another session.
    UserId uid = 0;
    std::string principal;
    // The session in which the principal has asked last. This session gets the answer.
    SessionId session;
    Answer answer = Answer::none;
    // The time of the request or, if there is an answer, of the answer.
    BootTime since{};
};

// The members of a grant that few grants need.
struct GrantExtra : InArena {
    // The token, if an upgrade has made it differ from the id of the grant; otherwise 0.
    Token token{};
    // The number of additional releases that the grant needs, because requests with Held::count
    // have acquired it again.
    std::uint32_t count = 0;
    std::string note;
    Metadata metadata;
    RequestKey request;
    std::uint64_t fingerprint = 0;
    RequestKey convert_request;
    std::uint64_t convert_fingerprint = 0;
    // If `max_hold` is greater than zero, the grant ends at the time `cap`, even if its session is
    // renewed.
    std::chrono::milliseconds max_hold{0};
    BootTime cap{BootTime::max()};
    Timer timer;
    // The `min_hold` of the request; 0 if it has none.
    std::chrono::milliseconds min_hold{0};
    // The requests of other principals to take over the grant.
    std::vector<Ask> asks;
};

struct Grant {
    GrantId id{};
    BootTime acquired{};
    // The version of the record in storage.
    std::uint64_t version = 0;
    Near<Session> session;
    Near<Grant> next;
    Near<Grant> previous;
    // The neighbours among the grants of all sessions, in the order of their numbers (GrantOrder).
    Near<Grant> older;
    Near<Grant> younger;
    NearOwner<GrantExtra> extra;
    std::uint8_t hold_count = 0;
    bool waited = false;
    // Whether the client has shown that it knows the grant: a request of the session has named the
    // grant or presented its token, or a write has relied on the grant. Kept in memory only.
    bool confirmed = false;

    // Allocates a grant and its holds in one piece of memory, in which the holds follow the grant.
    static Grant* make(std::size_t hold_count) {
        ROCKLOCK_ASSERT(hold_count > 0 && hold_count <= limits::resources_per_grant);
        auto* grant = new (Arena::allocate(bytes(hold_count))) Grant;
        grant->hold_count = static_cast<std::uint8_t>(hold_count);
        for (Hold& hold : grant->holds()) new (&hold) Hold{.grant = grant};
        return grant;
    }
    static void destroy(Grant* grant) {
        const std::size_t size = bytes(grant->hold_count);
        grant->~Grant();
        Arena::free(grant, size);
    }
    static std::size_t bytes(std::size_t hold_count) {
        return sizeof(Grant) + hold_count * sizeof(Hold);
    }
    std::span<Hold> holds() { return {reinterpret_cast<Hold*>(this + 1), hold_count}; }
    std::span<const Hold> holds() const {
        return {reinterpret_cast<const Hold*>(this + 1), hold_count};
    }
    BootTime cap() const { return extra ? extra->cap : BootTime::max(); }
    std::uint32_t count() const { return extra ? extra->count : 0; }
    Token token() const {
        return extra && extra->token != Token{} ? extra->token : Token{number(id)};
    }
};
static_assert(alignof(Hold) <= alignof(Grant) && limits::resources_per_grant < Hold::no_cause);

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

// A name to look up and its hash, so that the hash is computed only once.
struct HashedName {
    std::string_view name;
    // ResourceHash::half() of the name.
    std::uint32_t hash = 0;
};

struct ResourceHash {
    using is_transparent = void;
    using is_avalanching = void;
    // Resource::hash stores this half of the hash, so that a hash table can grow without reading
    // the names.
    static std::uint32_t half(std::string_view name) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    }
    static std::size_t whole(std::uint32_t half) {
        const std::uint64_t hash = half * 0x9E3779B97F4A7C15U;
        return hash ^ (hash >> 32);
    }
    std::size_t operator()(const HashedName& name) const { return whole(name.hash); }
    inline std::size_t operator()(const Resource* resource) const;
};
struct ResourceEqual {
    using is_transparent = void;
    inline bool operator()(const Resource* a, const Resource* b) const { return a == b; }
    inline bool operator()(const HashedName& name, const Resource* resource) const;
    inline bool operator()(const Resource* resource, const HashedName& name) const;
};

// The members of a resource that few resources need.
struct ResourceExtra : InArena {
    WaitLock* first = nullptr;
    WaitLock* last = nullptr;
    std::uint32_t waiters = 0;
    // The end of a minimum hold or of a lock delay. The resource is not granted before this time.
    BootTime closed_until{};
    Timer timer;
};

// The last grant on a name, which may have ended; its id is 0 if none is known. Also records two
// facts: whether this grant has been upgraded, and whether an older grant has been upgraded after
// this one was given. In both cases, the resource may have been written since this grant was given.
class LastGrant {
public:
    LastGrant() = default;
    explicit LastGrant(GrantId grant) : value_(number(grant)) {}
    GrantId grant() const { return GrantId{value_ & ~(passed_bit | raised_bit)}; }
    bool older_converted() const { return (value_ & passed_bit) != 0; }
    bool itself_converted() const { return (value_ & raised_bit) != 0; }
    void note_conversion_of(GrantId converted) {
        value_ |= converted == grant() ? raised_bit : passed_bit;
    }

private:
    // Tokens are less than 2^53, so the highest bits are free.
    static constexpr std::uint64_t passed_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t raised_bit = std::uint64_t{1} << 62;
    std::uint64_t value_ = 0;
};

struct Resource {
    LastGrant last;
    Near<Hold> first;
    Near<Resource> parent;
    // The first of the resources directly below this one.
    Near<Resource> children;
    // The neighbours in the parent's list of children.
    Near<Resource> next;
    Near<Resource> previous;
    NearOwner<ResourceExtra> extra;
    // `holds` is the number of holds, `strong` the number of those in a mode other than `read`.
    // Expired holds count until they are cleaned up.
    std::uint32_t holds = 0;
    std::uint32_t strong = 0;
    // The hash of the name.
    std::uint32_t hash = 0;
    std::uint16_t name_bytes = 0;
    // Whether ServeList contains the resource: `dirty` is set if the queue of the resource must be
    // served, `touched` if the resource must be freed when it is no longer needed().
    bool dirty = false;
    bool touched = false;

    // Allocates a resource and its name in one piece of memory, in which the name follows the
    // resource.
    static Resource* make(std::string_view name) {
        ROCKLOCK_ASSERT(name.size() <= limits::name_bytes);
        auto* resource = new (Arena::allocate(bytes(name.size()))) Resource;
        resource->name_bytes = static_cast<std::uint16_t>(name.size());
        resource->hash = ResourceHash::half(name);
        std::memcpy(static_cast<void*>(resource + 1), name.data(), name.size());
        return resource;
    }
    static void destroy(Resource* resource) {
        const std::size_t size = bytes(resource->name_bytes);
        resource->~Resource();
        Arena::free(resource, size);
    }
    static std::size_t bytes(std::size_t name_bytes) { return sizeof(Resource) + name_bytes; }
    std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }

    WaitLock* queue() const { return extra ? extra->first : nullptr; }
    bool needed(BootTime now) const {
        if (holds > 0 || children != nullptr) return true;
        return extra && (extra->waiters > 0 || extra->closed_until > now);
    }
    void set_parent(Resource& above) {
        ROCKLOCK_ASSERT(parent == nullptr && above.name_bytes < name_bytes);
        parent = &above;
        next = above.children;
        if (next != nullptr) next->previous = this;
        above.children = this;
    }
    void leave_parent() {
        ROCKLOCK_ASSERT(parent != nullptr && children == nullptr);
        (previous != nullptr ? previous->next : parent->children) = next;
        if (next != nullptr) next->previous = previous;
    }
    ResourceExtra& with_extra() {
        if (!extra) {
            extra = std::make_unique<ResourceExtra>();
            extra->timer.owner = this;
        }
        return *extra;
    }
};

std::size_t ResourceHash::operator()(const Resource* resource) const {
    return whole(resource->hash);
}
bool ResourceEqual::operator()(const HashedName& name, const Resource* resource) const {
    return name.name == resource->name();
}
bool ResourceEqual::operator()(const Resource* resource, const HashedName& name) const {
    return name.name == resource->name();
}

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
inline bool live(const Hold& hold, BootTime now) { return live(*hold.grant, now); }

}  // namespace rocklock::lock_model
