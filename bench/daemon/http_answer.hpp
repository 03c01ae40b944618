// Parses HTTP/1.1 responses that have a Content-Length, and creates requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rocklock::bench {

struct HttpAnswer {
    bool accepted = false;
    std::string_view body;
    // The size of the response, including its header.
    std::size_t bytes = 0;
};

// Returns the first response in `received`, or nullopt if the response is not complete yet. Ends
// the program if the response has no Content-Length. Lifetime: the result borrows `received`.
std::optional<HttpAnswer> take_http_answer(const std::string& received);

// Returns a complete POST request. `more` contains additional header lines, each of which ends with
// CR LF.
std::string http_request(std::string_view target, std::string_view more, std::string_view body);

}  // namespace rocklock::bench
