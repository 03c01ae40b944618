// The small words of the lock manager: modes, identities, outcomes.
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

// How a resource is held. Two holders of different sessions may share a resource only when both
// read. `write` lets plain reads of guarded data through, `exclusive` refuses those too.
enum class Mode : std::uint8_t { read, write, exclusive };

// What one wants to do; the class of the resource says which mode that takes.
enum class Intent : std::uint8_t { read, edit };

// What a second acquire by the same session of the same name does.
enum class Held : std::uint8_t {
    // It is refused: already_held.
    refuse,
    // It answers with the grant that is held already.
    join,
    // It raises that grant's count; each count takes a release of its own.
    count,
};

// Who may take a grant away from its holder; classes have the rest. On the disk by number.
enum class StealPolicy : std::uint8_t {
    never,
    anyone,
    // Anyone, once the holder's session has been inactive for so long.
    idle,
    // Whoever has asked, once the holder has allowed it or not answered for so long.
    ask,
};

// How a grant ended; `held` while it has not, and for a release that only lowered a count.
enum class Outcome : std::uint8_t {
    held,
    released,
    expired,
    stolen,
    broken,
    transferred,
    // Answers only: released before this release came.
    already_released,
    // Answers only: the token was replaced by an upward conversion.
    converted,
};

// Rises with every grant of a store, for ever; below 2^53. 0 is no token.
enum class Token : std::uint64_t {};
// The token a grant was born with; it never changes.
enum class GrantId : std::uint64_t {};
// A draft's: <rocklock/items/drafts.hpp>. Never given again, and greater than that of any draft
// before.
enum class DraftId : std::uint64_t {};

constexpr std::uint64_t number(Token token) { return static_cast<std::uint64_t>(token); }
constexpr std::uint64_t number(GrantId grant) { return static_cast<std::uint64_t>(grant); }
constexpr std::uint64_t number(DraftId draft) { return static_cast<std::uint64_t>(draft); }

// A session's public name: 16 random bytes.
struct SessionId {
    std::array<std::uint8_t, 16> bytes{};
    friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

// The proof that one is the owner of a session: 32 bytes, never shown to anybody else.
struct Secret {
    std::array<std::uint8_t, 32> bytes{};
    friend bool operator==(const Secret&, const Secret&) = default;
};

// Free text that goes with a session or a lock (host, URL, ticket): at most 4 KB in all.
using Metadata = std::map<std::string, std::string>;

ROCKLOCK_API std::string_view to_string(Mode mode);
ROCKLOCK_API std::string_view to_string(Intent intent);
ROCKLOCK_API std::string_view to_string(Outcome outcome);
ROCKLOCK_API std::optional<Mode> parse_mode(std::string_view text);
ROCKLOCK_API std::optional<Intent> parse_intent(std::string_view text);

// base64url without padding, as the protocol and the program show them.
ROCKLOCK_API std::string to_string(const SessionId& session);
ROCKLOCK_API std::string to_string(const Secret& secret);
ROCKLOCK_API std::optional<SessionId> parse_session_id(std::string_view text);
ROCKLOCK_API std::optional<Secret> parse_secret(std::string_view text);

// The fixed limits; a request beyond one is refused with an error that names it.
namespace limits {
inline constexpr std::size_t name_bytes = 1024;
// Parts of the name of a resource, between slashes.
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
// Of drafts none is refused: where a principal has more, the oldest give way.
inline constexpr std::uint32_t drafts_per_principal = 1'000;
inline constexpr std::chrono::milliseconds draft_age = std::chrono::hours{24 * 30};
}  // namespace limits

}  // namespace rocklock
