// Answers over HTTP/1.1 that tell their length.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rocklock::bench {

struct HttpAnswer {
    bool accepted = false;
    std::string_view body;
    // Of the whole answer.
    std::size_t bytes = 0;
};

// The first answer in what was received, once it is whole. Lifetime: borrows it.
std::optional<HttpAnswer> take_http_answer(const std::string& received);

// A whole request to POST it; `more` has header lines of its own, each with its end.
std::string http_request(std::string_view target, std::string_view more, std::string_view body);

}  // namespace rocklock::bench
