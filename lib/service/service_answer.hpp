// The response of a service to a request: a status, headers and a body. It does not depend on the
// transport. Over HTTP, all of its parts are sent unchanged.
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
    // The code of the error, if the request was refused with an error that has one.
    std::optional<ErrorCode> refused{};
    // The refused request has stored a draft, which the body names.
    bool has_drafts = false;
};

// Reserves memory for an answer that a request is about to get. If it returns an error, the request
// must change nothing and fail with it. Called on any thread, by one thread at a time; a later call
// replaces the reservation of an earlier one. Empty: memory is not limited.
using AnswerRoom = std::function<Result<void>(std::size_t bytes)>;

// Returns an error response. `name` is the name of an exception that has no error code.
ServiceAnswer refusal(int status, std::string_view name, std::string_view message);

}  // namespace rocklock
