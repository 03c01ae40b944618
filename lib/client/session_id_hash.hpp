// Hashes session ids for hash tables.
#pragma once

#include <cstddef>
#include <cstring>

#include <rocklock/types.hpp>

namespace rocklock {

// Returns the first bytes of the id, which the manager has chosen at random.
struct SessionIdHash {
    std::size_t operator()(const SessionId& id) const noexcept {
        std::size_t hash = 0;
        static_assert(sizeof id.bytes >= sizeof hash);
        std::memcpy(&hash, id.bytes.data(), sizeof hash);
        return hash;
    }
};

}  // namespace rocklock
