// The bytes of an HTTP response.
#pragma once

#include <string>
#include <string_view>

#include "service/service_answer.hpp"

namespace rocklock {

// The properties of a request that determine how its response is sent.
struct HttpManner {
    bool keep_alive = true;
    // HEAD: the response has the length of the body, but no body.
    bool head = false;
};

// Returns "Date: ...\r\n" for the current second. The text is formatted once per second and thread.
// It is valid until the thread calls the function again.
std::string_view date_line();

void append_answer(std::string& out, const ServiceAnswer& answer, HttpManner manner);

}  // namespace rocklock
