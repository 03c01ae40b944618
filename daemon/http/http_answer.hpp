// The bytes of an HTTP response.
#pragma once

#include <string>
#include <string_view>

#include "service/service_answer.hpp"

namespace rocklock {

// The properties of a request that determine how its response is sent.
struct HttpManner {
    bool keep_alive = true;
    // True for a HEAD request. The response then contains the length of the body, but not the body.
    bool head = false;
};

// Returns "Date: ...\r\n" for the current second. Each thread formats the text at most once per
// second. The result is valid until the same thread calls the function again.
std::string_view date_line();

void append_answer(std::string& out, const ServiceAnswer& answer, HttpManner manner);

}  // namespace rocklock
