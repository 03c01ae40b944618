// The secrets of sessions, and the key of the store from which they are derived.
#pragma once

#include <array>
#include <cstdint>

#include <rocklock/types.hpp>

namespace rocklock {

// The random key of a store. The secrets of the store's sessions are derived from it.
struct SessionKey {
    std::array<std::uint8_t, 32> bytes{};
};

// Returns the secret that proves that a caller owns the session: an HMAC of the session's id with
// the key.
Secret session_secret(const SessionKey& key, const SessionId& session);

}  // namespace rocklock
