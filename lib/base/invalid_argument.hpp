// The error of a request that is wrong in itself.
#pragma once

#include <string>
#include <utility>

#include <rocklock/error.hpp>

namespace rocklock {

// `message` says what is wrong, and what would be right.
inline Error invalid_argument(std::string message) {
    return {ErrorCode::invalid_argument, std::move(message)};
}

}  // namespace rocklock
