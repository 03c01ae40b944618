// The names of the error codes in the protocol, and the HTTP status of a response with an error.
#pragma once

#include <optional>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock {

// Returns the name without its prefix, for example "LockConflictException" instead of
// "rocklock#LockConflictException". Several codes of a failed storage have the same name. The
// member `Cause` of the response distinguishes these codes.
std::string_view error_name(ErrorCode code);
// Returns the code with this name. If several codes have the name, returns the code with this
// cause. Returns nullopt if there is no such code.
std::optional<ErrorCode> error_code(std::string_view name, std::string_view cause);
// Returns the code for which to_string() returns `word`, or nullopt if there is no such code.
std::optional<ErrorCode> error_code(std::string_view word);

int http_status(ErrorCode code);

}  // namespace rocklock
