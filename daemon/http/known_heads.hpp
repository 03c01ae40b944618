// Recognizes the heads of requests that were parsed before. A head is the request line and the
// headers, with the empty line after them. The calls of a client usually have the same heads,
// except for the Content-Length.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_reader.hpp"

namespace rocklock {

// Threads: one at a time.
class KnownHeads {
public:
    // A whole request at the beginning of the input.
    struct Found {
        // The request without its body. Valid until the next call of add().
        const HttpRequest& request;
        std::size_t head_bytes = 0;
        std::size_t body_bytes = 0;
    };

    static KnownHeads& of_this_thread();

    // Returns nullopt if the input does not begin with a known head, or if its body is incomplete
    // or too long.
    std::optional<Found> find(std::string_view input) const;
    // Adds the head of a request that read_usual_request() has read. If there are too many heads,
    // replaces the oldest one. Has no effect for a head with headers of SDKs that change with each
    // request, or with an Authorization, because a secret must be compared in constant time.
    void add(std::string_view head, const HttpRequest& request);

private:
    static constexpr std::size_t max_heads = 8;

    struct Head {
        // The parts before and after the digits of the Content-Length.
        std::string before;
        std::string after;
        HttpRequest request;
    };

    std::array<Head, max_heads> heads_;
    std::size_t count_ = 0;
    // The index of the head that is replaced next.
    std::size_t oldest_ = 0;
};

}  // namespace rocklock
