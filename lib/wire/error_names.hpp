// The names of errors in the protocol, and the status of an HTTP answer that carries one.
#pragma once

#include <optional>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock {

// As in "rocklock#LockConflictException", without what stands before the '#'. Several codes of a
// failed storage share a name; the member `Cause` tells them apart.
std::string_view error_name(ErrorCode code);
// The code with that name, and that cause where it has one.
std::optional<ErrorCode> error_code(std::string_view name, std::string_view cause);
// The code that to_string() names so.
std::optional<ErrorCode> error_code(std::string_view word);

int http_status(ErrorCode code);

}  // namespace rocklock
