// A check of properties that must hold for any input. The fuzz players use it.
#pragma once

#include <stdexcept>
#include <string>

#include <rocklock/error.hpp>

#include "lock/model/names.hpp"

namespace rocklock {

inline void require(bool kept, const std::string& promise) {
    if (!kept) throw std::logic_error("broken promise: " + promise);
}

// Checks that the error is the fault of the request and has a readable message.
inline void require_fault(const Error& error) {
    require(error.code == ErrorCode::invalid_argument,
            "what is wrong is the request's fault: " + error.message);
    require(!error.message.empty() && is_utf8(error.message), "a fault has a text");
}

}  // namespace rocklock
