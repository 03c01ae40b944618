// The error for an invalid request.
#pragma once

#include <string>
#include <utility>

#include <rocklock/error.hpp>

namespace rocklock {

// Returns the error. `message` states which value is invalid and what is allowed.
inline Error invalid_argument(std::string message) {
    return {ErrorCode::invalid_argument, std::move(message)};
}

}  // namespace rocklock
