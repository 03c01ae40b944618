// Basic types of the lock manager: modes, ids, tokens, outcomes and limits.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/export.hpp>

namespace rocklock {

// The mode of a lock. Grants of different sessions can share a resource only if all of them have
// mode `read`. `write` and `exclusive` differ only for items of bound tables: clients without a
// lock can read an item whose resource is locked in `write`, but not one whose resource is locked
// in `exclusive`.
enum class Mode : std::uint8_t { read, write, exclusive };

// The purpose of a lock. The class of the resource determines the mode for each purpose; see
// Policy in <rocklock/lock_class.hpp>.
enum class Intent : std::uint8_t { read, edit };

// The result if a session requests a resource that it already holds.
enum class Held : std::uint8_t {
    // The request fails with already_held.
    refuse,
    // If one grant of the session covers the whole request, the request returns this grant. If the
    // session holds some of the resources, but no single grant covers all of them, the request
    // fails with already_held.
    join,
    // As `join`, but the count of the returned grant (Grant::count) is also incremented. A release
    // decrements the count if it is greater than 0; otherwise the release ends the grant.
    count,
};

// Which clients may steal a grant, and when. The enumerators are stored on disk by number.
enum class StealPolicy : std::uint8_t {
    never,
    anyone,
    // Any client, if the holder's session has been inactive for LockClass::steal_after.
    idle,
    // A client that has asked the holder, if the holder has allowed the steal or has not answered
    // for LockClass::steal_after.
    ask,
};

// How a grant ended.
enum class Outcome : std::uint8_t {
    // The grant has not ended, or a release only decremented its count.
    held,
    released,
    expired,
    stolen,
    broken,
    transferred,
    // In responses only: the grant had already been released when the request Release was executed.
    already_released,
    // In responses only: the presented token is no longer valid, because an upgrade has replaced
    // it.
    converted,
    // In rows of the audit log only: a class was drained or resumed.
    drained,
    resumed,
};

// A fencing token. The token of a new grant is greater than all earlier tokens of the store, also
// after a restart. Less than 2^53. 0 means no token.
enum class Token : std::uint64_t {};
// The id of a grant: its first token. An upgrade changes the token but not the id.
enum class GrantId : std::uint64_t {};
// The id of a draft (<rocklock/items/drafts.hpp>). An id is never reused, and is greater than the
// ids of all earlier drafts.
enum class DraftId : std::uint64_t {};

constexpr std::uint64_t number(Token token) { return static_cast<std::uint64_t>(token); }
constexpr std::uint64_t number(GrantId grant) { return static_cast<std::uint64_t>(grant); }
constexpr std::uint64_t number(DraftId draft) { return static_cast<std::uint64_t>(draft); }

// The public id of a session: 16 random bytes.
struct SessionId {
    std::array<std::uint8_t, 16> bytes{};
    friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

// The secret that proves the ownership of a session: 32 bytes. Only the client that opened the
// session receives it.
struct Secret {
    std::array<std::uint8_t, 32> bytes{};
    friend bool operator==(const Secret&, const Secret&) = default;
};

// Texts that a client stores with a session or a grant. The client chooses the name of each text,
// such as "host" or "url". The names, the texts and the note together have at most
// limits::metadata_bytes.
using Metadata = std::map<std::string, std::string>;

// to_string() returns the name of the enumerator as declared above, such as "read". The parsers
// return none if `text` is not such a name.
ROCKLOCK_API std::string_view to_string(Mode mode);
ROCKLOCK_API std::string_view to_string(Intent intent);
ROCKLOCK_API std::string_view to_string(Outcome outcome);
ROCKLOCK_API std::optional<Mode> parse_mode(std::string_view text);
ROCKLOCK_API std::optional<Intent> parse_intent(std::string_view text);

// Convert to and from base64url without padding, the form in the protocol and in the output of the
// program `rocklock`. The parsers return none if `text` is not base64url or has the wrong size.
ROCKLOCK_API std::string to_string(const SessionId& session);
ROCKLOCK_API std::string to_string(const Secret& secret);
ROCKLOCK_API std::optional<SessionId> parse_session_id(std::string_view text);
ROCKLOCK_API std::optional<Secret> parse_secret(std::string_view text);

// The lease of a session that does not expire: it ends only when its owner or an administrator ends
// it. Such a session can lock only resources of classes with LockClass::no_expiry. The value is 100
// years, so that adding it to a time of a clock does not overflow.
inline constexpr std::chrono::milliseconds no_expiry = std::chrono::hours{24 * 365 * 100};
// The deadline of a session without expiry, on the boot clock and on the wall clock. The latter is
// the last millisecond of the year 9999. Grants of the session that have no maximum hold have the
// same deadline. For these sessions and grants, `remaining` is `no_expiry`.
inline constexpr BootTime no_deadline{no_expiry};
inline constexpr WallTime no_deadline_wall{std::chrono::milliseconds{253'402'300'799'999}};

// The fixed limits. Unless the comment on a limit says otherwise, a request that exceeds the limit
// fails with an error that names the limit.
namespace limits {
inline constexpr std::size_t name_bytes = 1024;
// The maximum number of elements of a resource's name; elements are separated by slashes.
inline constexpr std::size_t name_parts = 64;
inline constexpr std::size_t resources_per_grant = 100;
inline constexpr std::size_t metadata_bytes = 4096;
inline constexpr std::size_t request_id_bytes = 256;
inline constexpr std::chrono::milliseconds lease_min{100};
inline constexpr std::chrono::milliseconds lease_max = std::chrono::hours{24 * 30};
inline constexpr std::chrono::milliseconds lease_default{30'000};
inline constexpr std::uint32_t waiters_per_resource = 10'000;
inline constexpr std::uint32_t waiters_total = 1'000'000;
inline constexpr std::uint32_t waits_per_session = 10'000;
// The highest priority that a class can allow; see LockClass::max_priority.
inline constexpr std::uint32_t max_priority = 100;
// For each unit of its priority, a waiting request is ordered as if it had arrived this much
// earlier.
inline constexpr std::chrono::milliseconds priority_step{10'000};
// The maximum number of drafts of one principal and one user (LockProof::user). If there are more,
// the oldest are deleted; no draft is refused because of this limit.
inline constexpr std::uint32_t drafts_per_principal = 1'000;
// Drafts that are older than this are deleted.
inline constexpr std::chrono::milliseconds draft_age = std::chrono::hours{24 * 30};
}  // namespace limits

}  // namespace rocklock
