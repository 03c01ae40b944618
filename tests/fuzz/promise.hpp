// What a player says when something does not hold that must, whatever the input is.
#pragma once

#include <stdexcept>
#include <string>

#include <rocklock/error.hpp>

#include "lock/model/names.hpp"

namespace rocklock {

inline void require(bool kept, const std::string& promise) {
    if (!kept) throw std::logic_error("broken promise: " + promise);
}

// The fault of a request, said so that its sender can read it.
inline void require_fault(const Error& error) {
    require(error.code == ErrorCode::invalid_argument,
            "what is wrong is the request's fault: " + error.message);
    require(!error.message.empty() && is_utf8(error.message), "a fault has a text");
}

}  // namespace rocklock
