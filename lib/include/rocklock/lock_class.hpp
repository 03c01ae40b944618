// Lock classes: the settings of all resources that match a pattern.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/export.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// The three types of Fowler's Pessimistic Offline Lock. The policy determines the mode for an
// intent:
//
//                        to edit       to read
//     exclusive_write    write         no lock: the request fails with invalid_argument
//     exclusive_read     exclusive     exclusive
//     read_write         write         read
enum class Policy : std::uint8_t { exclusive_write, exclusive_read, read_write };

// to_string() returns the name of the enumerator as declared. The parsers return none if `text` is
// not such a name.
ROCKLOCK_API std::string_view to_string(Policy policy);
ROCKLOCK_API std::string_view to_string(StealPolicy policy);
ROCKLOCK_API std::optional<Policy> parse_policy(std::string_view text);
ROCKLOCK_API std::optional<StealPolicy> parse_steal_policy(std::string_view text);

// A resource that is locked together with the resources of a class.
struct Dependant {
    std::string resource;
    // Must be `read` or `write`.
    Mode mode = Mode::read;
    friend bool operator==(const Dependant&, const Dependant&) = default;
};

// The settings of all resources that match a pattern. If several patterns match a name, the most
// specific pattern applies: patterns are compared element by element from the left, and a literal
// element is more specific than `*`.
struct LockClass {
    // A path whose elements are separated by `/`. The element `*` matches exactly one element of a
    // name, whatever its value.
    std::string pattern;
    Policy policy = Policy::exclusive_write;
    // The lease of a session that is opened for one grant, if the request does not specify a lease.
    std::chrono::milliseconds lease = limits::lease_default;
    // A session with a longer lease cannot lock the resource. Zero means that only
    // limits::lease_max applies.
    std::chrono::milliseconds max_lease{0};
    // The maximum time from a grant to its end, even if its session is renewed. Zero means no
    // limit.
    std::chrono::milliseconds max_hold{0};
    // A released resource is not granted again before this time has passed since the beginning of
    // its last grant.
    std::chrono::milliseconds min_hold{0};
    // After a lock has expired or was broken, the resource is not granted for this time. Zero means
    // no delay.
    std::chrono::milliseconds lock_delay{0};
    StealPolicy steal = StealPolicy::never;
    // With StealPolicy::idle, the time for which the holder's session must have been inactive. With
    // StealPolicy::ask, the time that the holder has for its answer. With these two policies, the
    // value must be 1 ms to 30 days; with the others, it must be zero.
    std::chrono::milliseconds steal_after{0};
    // The resources that are locked together with a resource of this class if it is locked in
    // `write` or `exclusive`.
    std::vector<Dependant> dependants;
    // The maximum number of waiters for one resource: 1 to limits::waiters_total.
    std::uint32_t queue_limit = limits::waiters_per_resource;
    // If greater than zero, each resource of the class has this number of permits, and no modes.
    std::uint32_t permits = 0;
    // The highest priority that a request for a resource of the class may have: 0 to
    // limits::max_priority. With 0, all requests are served in order of arrival.
    std::uint32_t max_priority = 0;
    // Whether the writes of a holder that has lost its lock are kept as drafts. After a lock has
    // expired, or was stolen or broken, the holder's writes to a bound table are refused in any
    // case; see <rocklock/items/drafts.hpp>.
    bool drafts = false;
    // Whether sessions with the lease rocklock::no_expiry may lock the resources of the class. Must
    // be false if `max_lease` or `max_hold` is set.
    bool no_expiry = false;
    // The next three lists contain at most 100 users, groups and nodes each, as "user:NAME",
    // "group:NAME" and "node:NAME". The number of the user or group can be used instead of its
    // name. The daemon applies the lists to its clients. A program that embeds the library has all
    // rights.
    //
    // Only these users, groups and nodes, and administrators, may steal under the conditions of
    // `steal`. If the list is empty, every client may. With StealPolicy::never, the list must be
    // empty.
    std::vector<std::string> steal_by{};
    // These users, groups and nodes may break a grant if the classes of all its resources name
    // them.
    std::vector<std::string> break_by{};
    // These users, groups and nodes may bind tables to resources of the class, and remove such
    // bindings.
    std::vector<std::string> bind_by{};
    // If set, the class is drained: its resources are not granted to any session until the class is
    // resumed. The value is the reason, and may be empty. Only DrainClass and ResumeClass change
    // it. In a PutClass, it must be absent or equal to the current value, and does not change.
    std::optional<std::string> draining{};

    friend bool operator==(const LockClass&, const LockClass&) = default;
};

}  // namespace rocklock
