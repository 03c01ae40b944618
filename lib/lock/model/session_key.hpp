// The key of a store, and the secrets of its sessions that are derived from it.
#pragma once

#include <array>
#include <cstdint>

#include <rocklock/types.hpp>

namespace rocklock {

// The key from which the secrets of a store's sessions are derived.
struct SessionKey {
    std::array<std::uint8_t, 32> bytes{};
};

// Returns the secret that proves that a caller owns the session: an HMAC of its id.
Secret session_secret(const SessionKey& key, const SessionId& session);

}  // namespace rocklock
