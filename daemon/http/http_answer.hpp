// The bytes of an HTTP answer.
#pragma once

#include <string>
#include <string_view>

#include "service/service_answer.hpp"

namespace rocklock {

// How an answer is sent.
struct HttpManner {
    bool keep_alive = true;
    // HEAD: the length of a body, and no body.
    bool head = false;
};

// "Date: ...\r\n", of this second. Each thread formats it once a second; what is returned is valid
// until the thread asks again.
std::string_view date_line();

void append_answer(std::string& out, const ServiceAnswer& answer, HttpManner manner);

}  // namespace rocklock
