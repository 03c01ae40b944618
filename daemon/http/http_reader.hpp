// Bytes in, HTTP requests out.
//
// Knows no socket. Takes what comes in pieces of any size, and keeps what is not yet a whole
// request.
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
    // Headers of the same names. One that occurs twice has both values, with a comma between.
    std::string origin;
    std::string accept;
    std::string last_event_id;
    std::string fetch_site;
    std::string fetch_mode;
    std::string fetch_dest;
    bool keep_alive = true;
};

// What is wrong with the bytes themselves. The connection ends after the answer, since nobody knows
// where the next request begins.
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

    // Calls `take` for each request that these bytes complete, as long as more are wanted; what is
    // left waits for the next call.
    std::optional<HttpProblem> receive(std::string_view bytes, const std::function<bool()>& wanted,
                                       const std::function<void(HttpRequest&&)>& take);

    // What has come of a request that is not whole yet.
    std::size_t held_bytes() const;

    // Bytes of all requests that were taken, the one being taken included: where the next begins.
    std::uint64_t taken_bytes() const { return taken_bytes_; }

    // True once, when a request waits for "100 Continue" before it sends its body.
    bool wants_continue();

private:
    class Parser;

    // What has come and is not parsed: a header that is not whole yet, or what nobody took.
    std::string unread_;
    std::unique_ptr<Parser> parser_;
    std::uint64_t parsed_bytes_ = 0;
    std::uint64_t taken_bytes_ = 0;
    bool wants_continue_ = false;
};

}  // namespace rocklock
