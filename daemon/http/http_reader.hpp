// Parses HTTP requests from bytes.
//
// The parser does no I/O. It accepts pieces of any size and stores an incomplete request until its
// rest arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "service/service_request.hpp"

namespace rocklock {

struct HttpRequest : ServiceRequest {
    std::string method;
    // The values of the headers with the names of these members. If a header is repeated, its
    // values are separated by commas.
    std::string origin;
    std::string accept;
    std::string last_event_id;
    std::string fetch_site;
    std::string fetch_mode;
    std::string fetch_dest;
    bool keep_alive = true;
};

// An error in the received bytes. The connection must be closed after the response, because it is
// unknown where the next request begins.
struct HttpProblem {
    int status = 400;
    std::string message;
};

inline constexpr std::size_t http_header_bytes = 64u << 10;

class HttpReader {
public:
    HttpReader();
    ~HttpReader();
    HttpReader(const HttpReader&) = delete;
    HttpReader& operator=(const HttpReader&) = delete;

    // Parses the bytes. Calls `take` for each complete request, until `wanted` returns false. The
    // remaining bytes are kept for the next call. If the bytes are not valid HTTP, or a request is
    // too long, returns the problem.
    std::optional<HttpProblem> receive(std::string_view bytes, const std::function<bool()>& wanted,
                                       const std::function<void(HttpRequest&&)>& take);

    // Returns the size of the memory that is used for an incomplete request and for input that is
    // not parsed yet.
    std::size_t held_bytes() const;
    // Frees the memory that held_bytes() counts. receive() must not be called after clear().
    void clear();

    // While `take` is called with a request that read_usual_request() has read: the bytes of the
    // request before its body. Otherwise empty.
    std::string_view usual_head() const { return usual_head_; }
    // Reports that the caller has itself processed a request of this size at the beginning of the
    // input. Requires !has_begun().
    void skip(std::size_t bytes) {
        parsed_bytes_ += bytes;
        taken_bytes_ = parsed_bytes_;
    }

    // Returns the total size of the requests for which `take` was called, and of those that were
    // skipped. A call of `take` that is in progress counts. The result is the position of the next
    // request in the input.
    std::uint64_t taken_bytes() const { return taken_bytes_; }

    // Returns true if there is an incomplete request, or input that is not parsed yet.
    bool has_begun() const { return parser_ != nullptr || !unread_.empty(); }
    // Returns true if there is an incomplete request whose header is complete.
    bool has_header() const;

    // Returns true if the client waits for "100 Continue" before it sends the body of a request.
    // Returns true only once for each such request.
    bool wants_continue();

private:
    class Parser;

    std::size_t take_usual(std::string_view input, const std::function<void(HttpRequest&&)>& take);
    void keep(std::string_view input, std::size_t used);

    // Bytes that were received but not parsed: an incomplete header, or requests that follow after
    // `wanted` returned false.
    std::string unread_;
    std::unique_ptr<Parser> parser_;
    std::uint64_t parsed_bytes_ = 0;
    std::uint64_t taken_bytes_ = 0;
    bool wants_continue_ = false;
    std::string_view usual_head_;
};

}  // namespace rocklock
