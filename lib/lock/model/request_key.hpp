// Identifies requests that can be repeated.
#pragma once

#include <cstdint>

namespace rocklock::lock_model {

// A hash of a request id and of the scope of the id, which is a session, or a uid and a principal.
struct RequestKey {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    explicit operator bool() const { return high != 0 || low != 0; }
    friend bool operator==(const RequestKey&, const RequestKey&) = default;
};

// The request id of a grant, and a hash of the members of the request that must be equal in a
// repetition. The key is empty if the request had no id.
struct RequestIdentity {
    RequestKey key;
    std::uint64_t fingerprint = 0;
    friend bool operator==(const RequestIdentity&, const RequestIdentity&) = default;
};

}  // namespace rocklock::lock_model
