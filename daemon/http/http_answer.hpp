// The bytes of an HTTP answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock {

inline constexpr std::string_view json_type = "application/x-amz-json-1.0";

struct HttpAnswer {
    int status = 200;
    std::string_view type = json_type;
    // Whole lines, each with its end.
    std::string more_headers;
    std::string body;
    // Where it is a refusal that has a name in our own errors too.
    std::optional<ErrorCode> refused{};
};

// How an answer is sent.
struct HttpManner {
    bool keep_alive = true;
    // HEAD: the length of a body, and no body.
    bool head = false;
};

// "Date: ...\r\n", of this second. Each thread formats it once a second; what is returned is valid
// until the thread asks again.
std::string_view date_line();

void append_answer(std::string& out, const HttpAnswer& answer, HttpManner manner);

// A refusal that has a name only in HTTP.
HttpAnswer refusal(int status, std::string_view name, std::string_view message);

}  // namespace rocklock
