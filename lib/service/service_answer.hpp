// The response of a service to a request: a status, headers and a body. It does not depend on the
// transport; over HTTP it is sent as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock {

inline constexpr std::string_view json_type = "application/x-amz-json-1.0";

struct ServiceAnswer {
    // A status code of HTTP.
    int status = 200;
    // The type of the body.
    std::string_view type = json_type;
    // Further headers: lines of `Name: value`, each with its line end.
    std::string more_headers;
    std::string body;
    // The code of the error, if the request was refused with an error that has one.
    std::optional<ErrorCode> refused{};
};

// Returns an error response. `name` is an exception name that is not the name of an error code.
ServiceAnswer refusal(int status, std::string_view name, std::string_view message);

}  // namespace rocklock
