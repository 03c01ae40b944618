// The grants of a lock table, their holds, and the resources that are held.
//
// A million locks may be held at the same time. Almost all of them are plain: a grant with a single
// hold, in a mode, on a name that no other grant holds and for which no request waits. Such a lock
// is one piece of memory in the arena:
//
//     Resource | Grant | Hold | PathLinks, if the name has '/' | RequestPart, for an id | name
//
// The Grant and its Hold are in the slot of the resource. The request id of the grant is in the
// RequestPart, if the request that made the resource had a request id. Everything else is stored
// separately, and only if it exists:
//
//   - a grant that cannot use a slot is a LinkedGrant, which is followed by its LinkedHolds,
//   - ResourceExtra has the queue of a resource, the time at which a closed resource opens, the
//     holds that are not in the slot, the first child, the last grant if it is not the one in the
//     slot, and the GrantExtra of the grant in the slot,
//   - GrantExtra has the members that few grants need.
//
// A resource that was made without a slot, such as the path above a locked name, has ResourceLinks
// in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/arena.hpp"
#include "lock/model/grant_extra.hpp"
#include "lock/model/hold.hpp"
#include "lock/model/timer_heap.hpp"

namespace rocklock::lock_model {

struct LinkedGrant;
struct PlainGrant;
struct Resource;
struct Session;
struct WaitLock;

// A PlainGrant or a LinkedGrant.
struct Grant {
    Grant(const Grant&) = delete;
    Grant& operator=(const Grant&) = delete;

    // Allocates a grant with holds that can be linked to their resources. Resource::make_plain()
    // makes a plain grant.
    static LinkedGrant* make(std::size_t hold_count);
    // Allocates a grant with one hold, and copies the members of a plain grant, except for the
    // resource. Takes the GrantExtra of the plain grant.
    static LinkedGrant* make_from(Grant& plain);
    // Frees the grant. If it is plain, its resource remains, and its slot is free.
    static void destroy(Grant* grant);

    GrantId id() const { return GrantId{std::uint64_t{id_high_} << 32 | std::uint64_t{id_low_}}; }
    void set_id(GrantId id) {
        ROCKLOCK_ASSERT(Hold::can_store(id));
        id_low_ = static_cast<std::uint32_t>(number(id));
        id_high_ = static_cast<std::uint32_t>(number(id) >> 32) & Hold::high_mask;
    }
    BootTime acquired() const { return acquired_.get(); }
    void set_acquired(BootTime time) { acquired_ = time; }
    // The version of the record in storage.
    std::uint64_t version() const { return version_.get(); }
    void set_version(std::uint64_t version) { version_ = version; }

    HoldRange<Hold> holds() { return {first_hold(), hold_count}; }
    HoldRange<const Hold> holds() const { return {first_hold(), hold_count}; }
    // Returns null if the grant has no GrantExtra.
    GrantExtra* extra() const;
    // Creates the GrantExtra if the grant has none.
    GrantExtra& with_extra();
    BootTime cap() const { return extra() != nullptr ? extra()->cap : BootTime::max(); }
    std::uint32_t count() const { return extra() != nullptr ? extra()->count : 0; }
    Token token() const {
        const GrantExtra* const more = extra();
        return more != nullptr && more->token != Token{} ? more->token : Token{number(id())};
    }
    // The request id with which the grant was acquired. The key is empty if there was none.
    RequestIdentity request() const;
    void set_request(const RequestIdentity& request);

    Near<Session> session;
    Near<Grant> next;
    Near<Grant> previous;

protected:
    explicit Grant(std::size_t holds, bool is_plain)
        : id_low_(0),
          id_high_(0),
          hold_count(static_cast<std::uint32_t>(holds) & 0x7F),
          waited(0),
          confirmed(0),
          plain(is_plain ? 1 : 0) {}
    ~Grant() = default;

private:
    Hold* first_hold() const;

    std::uint32_t id_low_;
    std::uint32_t id_high_ : Hold::number_bits - 32;

public:
    std::uint32_t hold_count : 7;
    std::uint32_t waited : 1;
    // Whether the client has shown that it knows the grant: a request of the session has named the
    // grant or presented its token, or a write has relied on the grant. Kept in memory only.
    std::uint32_t confirmed : 1;
    std::uint32_t plain : 1;

private:
    InWords<BootTime> acquired_;
    InWords<std::uint64_t> version_;
};
static_assert(limits::resources_per_grant < 1U << 7 &&
              limits::resources_per_grant < Hold::no_cause);

// A grant in the slot of the resource that it holds.
struct PlainGrant : Grant {
    PlainGrant() : Grant(1, true) { hold.plain = true; }
    Resource* resource() const;

    Hold hold;
};
static_assert(sizeof(PlainGrant) == 44 && alignof(PlainGrant) == 4);

// A grant with its own piece of memory, in which its holds follow it.
struct LinkedGrant : Grant {
    explicit LinkedGrant(std::size_t holds) : Grant(holds, false) {}
    LinkedHold* linked_holds() const {
        return reinterpret_cast<LinkedHold*>(const_cast<LinkedGrant*>(this) + 1);
    }
    static std::size_t bytes(std::size_t hold_count) {
        return sizeof(LinkedGrant) + hold_count * sizeof(LinkedHold);
    }

    NearOwner<GrantExtra> own_extra;
};
static_assert(sizeof(LinkedGrant) % Arena::alignment == 0);

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
    friend bool operator==(const LastGrant&, const LastGrant&) = default;

private:
    // Tokens are less than 2^53, so the highest bits are free.
    static constexpr std::uint64_t passed_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t raised_bit = std::uint64_t{1} << 62;
    std::uint64_t value_ = 0;
};

// The holds of a resource that are not in its slot.
struct LinkedHolds {
    Near<LinkedHold> newest;
    // The number of holds, and of those in a mode other than `read`. Expired holds count until they
    // are cleaned up.
    std::uint32_t count = 0;
    std::uint32_t strong = 0;
};

// The members of a resource that few resources need.
struct ResourceExtra : InArena {
    // The queue.
    WaitLock* first = nullptr;
    WaitLock* last = nullptr;
    std::uint32_t waiters = 0;
    // The end of a minimum hold or of a lock delay. The resource is not granted before this time.
    BootTime closed_until{};
    Timer timer;
    // If the resource has a slot, these are its linked holds and the first of its children. If it
    // has none, ResourceLinks contains the newest hold and the first child, and only the numbers of
    // holds in `linked` are used.
    LinkedHolds linked;
    Near<Resource> children;
    // If the slot is in use: the last grant, if it is not the one in the slot, or if facts about
    // conversions are recorded; otherwise without a grant.
    LastGrant last_grant;
    NearOwner<GrantExtra> of_plain_grant;
};

// The links of a resource without a slot.
struct ResourceLinks {
    InWords<LastGrant> last;
    Near<LinkedHold> newest;
    Near<Resource> children;
};

// The links between a resource whose name has a '/' and the path above it.
struct PathLinks {
    Near<Resource> parent;
    // The neighbours in the parent's list of children.
    Near<Resource> next;
    Near<Resource> previous;
};

// The request id of the grant in the slot of a resource.
class RequestPart {
public:
    RequestIdentity get() const { return {{high_.get(), low_.get()}, fingerprint_.get()}; }
    void set(const RequestIdentity& request) {
        high_ = request.key.high;
        low_ = request.key.low;
        fingerprint_ = request.fingerprint;
    }

private:
    InWords<std::uint64_t> high_;
    InWords<std::uint64_t> low_;
    InWords<std::uint64_t> fingerprint_;
};
static_assert(sizeof(RequestPart) == 24 && alignof(RequestPart) == 4);

// Whether a resource has a slot, and whether it also has a RequestPart.
enum class Slot : std::uint8_t { without, with, with_request };

// A resource exists if it has a hold or a waiter, if it is closed, or if a resource below it
// exists. If none of these is true, it can be in IdleResources for a while.
struct Resource {
    Resource(const Resource&) = delete;
    Resource& operator=(const Resource&) = delete;

    // Allocates a resource and its name in one piece of memory. A resource with a slot needs less
    // memory if it is held by a single plain grant; a resource without a slot needs less memory if
    // it is not. Slot::with_request needs less memory if the plain grant also has a request id.
    static Resource* make(std::string_view name, Slot slot);
    // Frees the resource, and the grant in its slot, if any.
    static void destroy(Resource* resource);
    static std::size_t bytes(std::size_t name_bytes, Slot slot, bool path) {
        return sizeof(Resource) + slot_bytes(slot != Slot::without) +
               (path ? sizeof(PathLinks) : 0) +
               (slot == Slot::with_request ? sizeof(RequestPart) : 0) + name_bytes;
    }
    std::string_view name() const { return {after(name_offset_), name_bytes}; }

    // ---- Holds ----

    // The newest hold, or null; Hold::next() returns the others.
    Hold* newest_hold() const {
        if (Hold* const linked = newest_linked()) return linked;
        return plain_hold();
    }
    // The hold in the slot, or null. It is the oldest hold of the resource.
    Hold* plain_hold() const { return slot_used ? &slot().hold : nullptr; }
    // The number of holds, and of those in a mode other than `read`. Expired holds count until they
    // are cleaned up.
    std::uint32_t holds() const { return (slot_used ? 1 : 0) + linked_holds().count; }
    std::uint32_t strong() const {
        const bool plain_is_strong = slot_used && slot().hold.mode != Mode::read;
        return (plain_is_strong ? 1 : 0) + linked_holds().strong;
    }
    bool held() const { return slot_used || newest_linked() != nullptr; }
    bool can_hold_plain() const { return has_slot && !held(); }
    // Makes a grant with one hold, in the slot. Requires can_hold_plain(). Discards last().
    PlainGrant& make_plain() {
        ROCKLOCK_ASSERT(can_hold_plain());
        slot_used = true;
        if (extra_) extra_->last_grant = {};
        if (has_request) request_part() = {};
        return *new (after(0)) PlainGrant;
    }
    void link(LinkedHold& hold);
    void unlink(LinkedHold& hold);
    // Changes the mode of a hold of this resource, and strong() accordingly.
    void set_mode(Hold& hold, Mode mode) {
        if (!hold.plain && extra_) {
            extra_->linked.strong -= hold.mode != Mode::read ? 1 : 0;
            extra_->linked.strong += mode != Mode::read ? 1 : 0;
        }
        hold.mode = mode;
    }
    // Ends the grant in the slot.
    void free_slot();

    LastGrant last() const {
        if (!slot_used) return kept_last().get();
        if (extra_ && extra_->last_grant != LastGrant{}) return extra_->last_grant;
        return LastGrant(slot().id());
    }
    void set_last(LastGrant last) {
        if (!slot_used) {
            kept_last() = last;
        } else if (last != LastGrant(slot().id())) {
            with_extra().last_grant = last;
        } else if (extra_) {
            extra_->last_grant = {};
        }
    }

    // ---- Paths ----

    Resource* parent() const { return has_path ? path().parent.get() : nullptr; }
    Resource* next_sibling() const { return path().next; }
    // The first of the resources directly below this one.
    Resource* children() const {
        if (!has_slot) return links().children;
        return extra_ ? extra_->children.get() : nullptr;
    }
    void set_parent(Resource& above);
    void leave_parent();

    // ---- Everything else ----

    // Returns null if the resource has no ResourceExtra.
    ResourceExtra* extra() const { return extra_.get(); }
    // Creates the ResourceExtra if the resource has none.
    ResourceExtra& with_extra();
    WaitLock* queue() const { return extra_ ? extra_->first : nullptr; }
    bool needed(BootTime now) const {
        if (held() || children() != nullptr) return true;
        return extra_ && (extra_->waiters > 0 || extra_->closed_until > now);
    }

private:
    friend struct Grant;
    friend struct PlainGrant;

    Resource(std::string_view name, Slot slot, bool path)
        : name_bytes(static_cast<std::uint32_t>(name.size()) & 0x7FF),
          has_slot(slot != Slot::without ? 1 : 0),
          slot_used(0),
          has_path(path ? 1 : 0),
          has_request(slot == Slot::with_request ? 1 : 0),
          dirty(0),
          touched(0),
          idle(0),
          name_offset_(static_cast<std::uint32_t>(bytes(0, slot, path) - sizeof(Resource)) & 0x7F) {
    }
    ~Resource() = default;

    static std::size_t slot_bytes(bool slot) {
        return slot ? sizeof(PlainGrant) : sizeof(ResourceLinks);
    }
    char* after(std::size_t bytes) const {
        return reinterpret_cast<char*>(const_cast<Resource*>(this) + 1) + bytes;
    }
    PlainGrant& slot() const { return *reinterpret_cast<PlainGrant*>(after(0)); }
    ResourceLinks& links() const { return *reinterpret_cast<ResourceLinks*>(after(0)); }
    PathLinks& path() const {
        ROCKLOCK_ASSERT(has_path);
        return *reinterpret_cast<PathLinks*>(after(slot_bytes(has_slot)));
    }
    RequestPart& request_part() const {
        ROCKLOCK_ASSERT(has_request);
        return *reinterpret_cast<RequestPart*>(after(name_offset_ - sizeof(RequestPart)));
    }
    // Where last() is while the slot is not in use.
    InWords<LastGrant>& kept_last() const {
        static_assert(offsetof(ResourceLinks, last) == 0);
        return *reinterpret_cast<InWords<LastGrant>*>(after(0));
    }
    LinkedHold* newest_linked() const {
        if (!has_slot) return links().newest;
        return extra_ ? extra_->linked.newest.get() : nullptr;
    }
    void set_newest_linked(LinkedHold* hold) {
        (has_slot ? with_extra().linked.newest : links().newest) = hold;
    }
    // A resource without a ResourceExtra has at most one linked hold.
    LinkedHolds linked_holds() const {
        if (extra_) return extra_->linked;
        const LinkedHold* const only = newest_linked();
        if (only == nullptr) return {};
        return {{}, 1, only->mode != Mode::read ? 1U : 0U};
    }
    void set_children(Resource* first) {
        (has_slot ? with_extra().children : links().children) = first;
    }

    NearOwner<ResourceExtra> extra_;

public:
    std::uint32_t name_bytes : 11;
    std::uint32_t has_slot : 1;
    std::uint32_t slot_used : 1;
    // Whether there are PathLinks.
    std::uint32_t has_path : 1;
    // Whether there is a RequestPart.
    std::uint32_t has_request : 1;
    // Whether ServeList contains the resource: `dirty` is set if the queue of the resource must be
    // served, `touched` if the resource must be freed when it is no longer needed().
    std::uint32_t dirty : 1;
    std::uint32_t touched : 1;
    // Whether IdleResources contains the resource.
    std::uint32_t idle : 1;

private:
    // The number of bytes between the Resource and its name.
    std::uint32_t name_offset_ : 7;
};
static_assert(sizeof(Resource) == 8 && limits::name_bytes < 1U << 11);

// ---- Holds ----

inline Grant* Hold::grant() const {
    if (!plain) return static_cast<const LinkedHold*>(this)->of_grant;
    char* const here = reinterpret_cast<char*>(const_cast<Hold*>(this));
    return reinterpret_cast<PlainGrant*>(here - (sizeof(PlainGrant) - sizeof(Hold)));
}
inline Resource* Hold::resource() const {
    if (!plain) return static_cast<const LinkedHold*>(this)->at;
    return static_cast<PlainGrant*>(grant())->resource();
}
inline std::uint32_t Hold::permits() const {
    return plain ? 0 : static_cast<const LinkedHold*>(this)->permit_count;
}
inline std::uint8_t Hold::cause() const {
    return plain ? no_cause : static_cast<const LinkedHold*>(this)->cause_index;
}
inline Hold* Hold::next() const {
    if (plain) return nullptr;
    const auto* const linked = static_cast<const LinkedHold*>(this);
    if (linked->older != nullptr) return linked->older;
    return linked->at->plain_hold();
}

// ---- Grants ----

inline Resource* PlainGrant::resource() const {
    return reinterpret_cast<Resource*>(const_cast<PlainGrant*>(this)) - 1;
}

inline Hold* Grant::first_hold() const {
    if (plain) return const_cast<Hold*>(&static_cast<const PlainGrant*>(this)->hold);
    return static_cast<const LinkedGrant*>(this)->linked_holds();
}

inline GrantExtra* Grant::extra() const {
    if (!plain) return static_cast<const LinkedGrant*>(this)->own_extra.get();
    const ResourceExtra* const of_resource =
        static_cast<const PlainGrant*>(this)->resource()->extra();
    return of_resource != nullptr ? of_resource->of_plain_grant.get() : nullptr;
}

inline RequestIdentity Grant::request() const {
    if (plain) {
        const Resource& at = *static_cast<const PlainGrant*>(this)->resource();
        if (at.has_request) return at.request_part().get();
    }
    const GrantExtra* const more = extra();
    return more != nullptr ? more->request : RequestIdentity{};
}

}  // namespace rocklock::lock_model
