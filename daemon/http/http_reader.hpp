// Parses HTTP requests from bytes.
//
// It does no I/O. It accepts pieces of any size and keeps an incomplete request.
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
    // The values of the headers of the same names. If a header is repeated, its values are
    // separated by commas.
    std::string origin;
    std::string accept;
    std::string last_event_id;
    std::string fetch_site;
    std::string fetch_mode;
    std::string fetch_dest;
    bool keep_alive = true;
};

// An error in the bytes. The connection must end after the response, because the beginning of the
// next request is unknown.
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

    // Parses the bytes. Calls `take` for each complete request as long as `wanted` returns true;
    // the rest is kept for the next call. Returns the problem if the bytes are not valid HTTP or
    // are too long.
    std::optional<HttpProblem> receive(std::string_view bytes, const std::function<bool()>& wanted,
                                       const std::function<void(HttpRequest&&)>& take);

    // Returns the memory of an incomplete request, and of input that is not parsed yet.
    std::size_t held_bytes() const;
    // Frees that memory. receive() must not be called after this.
    void clear();

    // Returns the total size of the requests that were taken, including the one being taken. This
    // is the position of the next request.
    std::uint64_t taken_bytes() const { return taken_bytes_; }

    // Returns true if the header of an incomplete request is complete.
    bool has_header() const;

    // Returns true once if a request waits for "100 Continue" before it sends its body.
    bool wants_continue();

private:
    class Parser;

    void keep(std::string_view input, std::size_t used);

    // Received and not parsed: an incomplete header, or requests that are not wanted yet.
    std::string unread_;
    std::unique_ptr<Parser> parser_;
    std::uint64_t parsed_bytes_ = 0;
    std::uint64_t taken_bytes_ = 0;
    bool wants_continue_ = false;
};

}  // namespace rocklock
