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

// The mode of a lock. Grants of different sessions can share a resource only if both have mode
// `read`. `write` permits plain reads of guarded data; `exclusive` refuses them too.
enum class Mode : std::uint8_t { read, write, exclusive };

// The purpose of a lock. The class of the resource determines the mode that it requires.
enum class Intent : std::uint8_t { read, edit };

// The treatment of a request for a resource that the session already holds.
enum class Held : std::uint8_t {
    // The request fails with already_held.
    refuse,
    // The request returns the grant that the session already has.
    join,
    // The count of that grant is incremented. It ends after as many releases.
    count,
};

// The sessions that may steal a grant; the other settings are part of the class. Stored on disk by
// number.
enum class StealPolicy : std::uint8_t {
    never,
    anyone,
    // Any client, if the holder's session has been inactive for steal_after.
    idle,
    // A client that has asked, if the holder has allowed it or has not answered for steal_after.
    ask,
};

// How a grant ended. `held` if it has not ended, or if a release only decremented its count.
enum class Outcome : std::uint8_t {
    held,
    released,
    expired,
    stolen,
    broken,
    transferred,
    // In answers only: the grant was already released when the Release was executed.
    already_released,
    // In answers only: the token is no longer valid, because an upgrade has replaced it.
    converted,
};

// A fencing token. Each grant of a store gets a greater token than all grants before it, also after
// a restart. Less than 2^53. 0 is not a token.
enum class Token : std::uint64_t {};
// The id of a grant: its first token. An upgrade changes the token but not the id.
enum class GrantId : std::uint64_t {};
// The id of a draft (<rocklock/items/drafts.hpp>). It is never reused, and greater than the id of
// every earlier draft.
enum class DraftId : std::uint64_t {};

constexpr std::uint64_t number(Token token) { return static_cast<std::uint64_t>(token); }
constexpr std::uint64_t number(GrantId grant) { return static_cast<std::uint64_t>(grant); }
constexpr std::uint64_t number(DraftId draft) { return static_cast<std::uint64_t>(draft); }

// The public id of a session: 16 random bytes.
struct SessionId {
    std::array<std::uint8_t, 16> bytes{};
    friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

// The secret that proves the ownership of a session: 32 bytes. Only the session's owner receives
// it.
struct Secret {
    std::array<std::uint8_t, 32> bytes{};
    friend bool operator==(const Secret&, const Secret&) = default;
};

// Free text of a session or a lock (host, URL, ticket): at most limits::metadata_bytes in total,
// together with the note.
using Metadata = std::map<std::string, std::string>;

// Names of the enumerators, as above. The parsers return none if `text` is not such a name.
ROCKLOCK_API std::string_view to_string(Mode mode);
ROCKLOCK_API std::string_view to_string(Intent intent);
ROCKLOCK_API std::string_view to_string(Outcome outcome);
ROCKLOCK_API std::optional<Mode> parse_mode(std::string_view text);
ROCKLOCK_API std::optional<Intent> parse_intent(std::string_view text);

// Base64url without padding, as in the protocol and in the program's output. The parsers return
// none if `text` is not base64url or does not have the right size.
ROCKLOCK_API std::string to_string(const SessionId& session);
ROCKLOCK_API std::string to_string(const Secret& secret);
ROCKLOCK_API std::optional<SessionId> parse_session_id(std::string_view text);
ROCKLOCK_API std::optional<Secret> parse_secret(std::string_view text);

// The fixed limits. A request that exceeds one is refused with an error that names the limit.
namespace limits {
inline constexpr std::size_t name_bytes = 1024;
// The number of parts of a resource's name, which are separated by slashes.
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
// No draft is refused because of this limit: if a principal has more drafts, the oldest are
// deleted.
inline constexpr std::uint32_t drafts_per_principal = 1'000;
inline constexpr std::chrono::milliseconds draft_age = std::chrono::hours{24 * 30};
}  // namespace limits

}  // namespace rocklock
