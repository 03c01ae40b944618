// What the lock table is made of, and how it hangs together.
//
//     Session ──► Grant ──► Grant ──► …            every grant of a session
//                   │ holds()
//                   ▼
//     Resource ──► Hold ──► Hold ──► …             every hold on a resource; each belongs to one
//        │ extra                                   grant
//        ▼
//     ResourceExtra: queue ──► WaitLock ──► …      each belongs to one Wait, which may stand in
//                                                  many queues
//
// A Resource also has its children, the paths right below, for subtree locks.
//
// A Resource exists while it is held, waited for, closed, or above one that is. A name without '/'
// has neither parent nor, mostly, an extra: a million held locks should cost little.
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

// What a request id is known by: a hash over its scope (the session, or uid and principal) and
// itself.
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

// One resource of a grant. Member order as it packs: there may be millions.
struct Hold {
    // The grant before this one on the same name: the chain of the resource's history.
    GrantId before{};
    Near<Grant> grant{};
    Near<Resource> resource{};
    Near<Hold> next{};
    Near<Hold> previous{};
    std::uint32_t permits = 0;
    // Which hold of the same grant caused this one; `no_cause` for one that was asked for.
    std::uint8_t cause = no_cause;
    Mode mode = Mode::write;
    bool subtree = false;

    static constexpr std::uint8_t no_cause = 0xFF;
    bool root() const { return cause == no_cause; }
};

// Somebody has asked to take a grant over. In memory only: after a restart they ask again.
struct Ask {
    enum class Answer : std::uint8_t { none, allowed, refused };

    // Who, in whatever session.
    std::uint32_t uid = 0;
    std::string principal;
    Answer answer = Answer::none;
    // When they asked or, with an answer, when that was given.
    BootTime since{};
};

// What few grants have.
struct GrantExtra : InArena {
    // Another than its id, after an upward conversion.
    Token token{};
    // How often it is held besides the first time.
    std::uint32_t count = 0;
    std::string note;
    Metadata metadata;
    RequestKey request;
    std::uint64_t fingerprint = 0;
    RequestKey convert_request;
    std::uint64_t convert_fingerprint = 0;
    // The end that no renewal can push, with `max_hold` above zero.
    std::chrono::milliseconds max_hold{0};
    BootTime cap{BootTime::max()};
    Timer timer;
    // Who wants to steal it, under the policy `ask`.
    std::vector<Ask> asks;
};

struct Grant {
    GrantId id{};
    BootTime acquired{};
    // Version of the record in storage.
    std::uint64_t version = 0;
    Near<Session> session;
    Near<Grant> next;
    Near<Grant> previous;
    NearOwner<GrantExtra> extra;
    std::uint8_t hold_count = 0;
    bool waited = false;

    // The holds lie behind the grant in the same piece of memory.
    static Grant* make(std::size_t hold_count) {
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

// A lock that is wanted: what a request comes to when classes, intents and dependants are worked
// out.
struct RequestedLock {
    Resource* resource = nullptr;
    std::uint32_t permits = 0;
    std::uint8_t cause = Hold::no_cause;
    Mode mode = Mode::write;
    bool subtree = false;

    bool root() const { return cause == Hold::no_cause; }
};

// A requested lock in the queue of its resource.
struct WaitLock {
    const RequestedLock* requested = nullptr;
    Wait* wait = nullptr;
    WaitLock* next = nullptr;
    WaitLock* previous = nullptr;
};

// A request that waits.
struct Wait {
    Ticket ticket{};
    Session* session = nullptr;
    // Order of arrival.
    std::uint64_t order = 0;
    // A conversion, and of which grant; none when that has ended, and then how it did.
    bool conversion = false;
    Grant* converts = nullptr;
    std::optional<Ending> grant_ended;
    std::vector<RequestedLock> requested_locks;
    // One for each requested lock. Neither changes in number once queued, since they are linked.
    std::vector<WaitLock> locks;
    // All modes of the grant after the conversion, in the order of its holds.
    std::vector<Mode> modes_after;
    Held held = Held::refuse;
    std::string note;
    Metadata metadata;
    std::chrono::milliseconds max_hold{0};
    RequestKey request;
    std::uint64_t fingerprint = 0;
    BootTime patience_ends{BootTime::max()};
    WallTime since;
    BootTime began{};
    // Told that it has become long.
    bool slow_told = false;
    // Armed to the earliest moment at which time alone may decide something.
    Timer timer;
    // Its neighbours among all that wait, in the order in which they began.
    Wait* older = nullptr;
    Wait* younger = nullptr;
    // In the list of those to look at again; in that of those who waited long enough.
    bool recheck = false;
    bool overdue = false;

    bool before(const Wait& other) const {
        if (conversion != other.conversion) return conversion;
        return order < other.order;
    }
};

// A name to look for, whose hash is worked out once.
struct HashedName {
    std::string_view name;
    // As Resource::hash.
    std::uint32_t hash = 0;
};

struct ResourceHash {
    using is_transparent = void;
    using is_avalanching = void;
    // Half of it is kept with the resource, so that a table can grow without reading names.
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

// What few resources have.
struct ResourceExtra : InArena {
    WaitLock* first = nullptr;
    WaitLock* last = nullptr;
    std::uint32_t waiters = 0;
    // A minimum hold or a lock delay: not granted before.
    BootTime closed_until{};
    Timer timer;
};

// The last grant on a name, live or ended; 0 for none that is remembered. Together with whether one
// was converted upward after it was given, an older one or it itself: then the resource may have
// been written since.
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
    // Tokens stay below 2^53.
    static constexpr std::uint64_t passed_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t raised_bit = std::uint64_t{1} << 62;
    std::uint64_t value_ = 0;
};

struct Resource {
    LastGrant last;
    Near<Hold> first;
    Near<Resource> parent;
    // The paths right below.
    Near<Resource> children;
    // Among the children of its parent.
    Near<Resource> next;
    Near<Resource> previous;
    NearOwner<ResourceExtra> extra;
    // All holds, and those that are not read; dead ones count until they are cleaned.
    std::uint32_t holds = 0;
    std::uint32_t strong = 0;
    // Of the name.
    std::uint32_t hash = 0;
    std::uint16_t name_bytes = 0;
    // In the list of those whose queue is to be served; in the list of those to be looked at for
    // removal.
    bool dirty = false;
    bool touched = false;

    // The name lies behind it in the same piece of memory.
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
        parent = &above;
        next = above.children;
        if (next != nullptr) next->previous = this;
        above.children = this;
    }
    void leave_parent() {
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

// The processes with which a session ends, according to its `bound`.
struct SessionBinding {
    Bound bound = Bound::none;
    std::int32_t pid = 0;
    std::vector<ProcessId> processes;
};

// The request that opened a session.
struct SessionOpening {
    WallTime at;
    RequestKey request;
    // The lease that it asked for; none after a restart.
    std::optional<std::chrono::milliseconds> lease;
};

// If an Acquire opened the session, the session exists for that grant only and ends with it.
struct OnlyGrant {
    bool set = false;
    // The session has ended together with the grant. The record of the grant says so, and the
    // record of the session is left unchanged.
    bool ended_session = false;
    // None in stores that were written before it was recorded.
    GrantId id{};
};

// The record from which recovery took the deadline of a session.
struct DeadlineSource {
    std::uint64_t version = 0;
    // It was written in this boot, so its boot time is valid.
    bool exact = false;
};

// Notices that the next renewals of a session return.
struct SessionNotices {
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
};

struct Session : InArena {
    SessionId id;
    std::string principal;
    std::chrono::milliseconds lease{};
    BootTime deadline{BootTime::max()};
    SessionBinding binding;
    SessionOpening opening;
    OnlyGrant only_grant;
    // It waits for its first grant: it is not written yet and has no deadline.
    bool unborn = false;
    // A notice was sent that its lease is about to expire.
    bool warned = false;
    // A renewal has been written beside the session's own record.
    bool renewed = false;
    std::uint32_t uid = 0;
    // The bytes that are counted for its user.
    std::uint64_t counted = 0;
    // The order of opening.
    std::uint64_t order = 0;
    std::string note;
    Metadata metadata;
    Near<Grant> first;
    Near<Grant> last;
    std::uint64_t grants = 0;
    // The time of the last sign of activity of its owner. In memory only: a restart counts as one.
    BootTime active{};
    // In order of arrival.
    std::vector<Wait*> waits;
    // The number of places in queues where a wait of another session directly follows one of its
    // own. If it is 0, no session stands behind it in any queue.
    std::size_t followed = 0;
    // Fires at the deadline, or at the warning before it.
    Timer timer;
    DeadlineSource deadline_source;
    // Set once it has ended. Its grants are cleaned up after that.
    std::optional<Ending> ended;
    SessionNotices notices;

    bool live(BootTime now) const { return !ended && now < deadline; }
};

inline bool live(const Grant& grant, BootTime now) {
    return grant.session->live(now) && now < grant.cap();
}
inline bool live(const Hold& hold, BootTime now) { return live(*hold.grant, now); }

}  // namespace rocklock::lock_model
