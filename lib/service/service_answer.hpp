// The response of a service to a request: a status, headers and a body. It does not depend on the
// transport. HTTP sends all parts of the response unchanged.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

inline constexpr std::string_view json_type = "application/x-amz-json-1.0";

struct ServiceAnswer {
    // A status code of HTTP.
    int status = 200;
    // The type of the body.
    std::string_view type = json_type;
    // Additional headers: lines of `Name: value`, each with its line end.
    std::string more_headers;
    std::string body;
    // The code of the error, if the request was refused with an error that has a code.
    std::optional<ErrorCode> refused{};
    // Whether the refused request has stored a draft. If so, the body names the draft.
    bool has_drafts = false;
};

// Reserves memory for the response to a request. If the function returns an error, the request must
// change nothing and must fail with this error. The function is called on any thread, but only by
// one thread at a time. A later call replaces the reservation of an earlier call. If the function
// is empty, memory is not limited.
using AnswerRoom = std::function<Result<void>(std::size_t bytes)>;

// Returns an error response. `name` is the name of an exception that has no error code.
ServiceAnswer refusal(int status, std::string_view name, std::string_view message);

}  // namespace rocklock
