#include "support/observed_answer.hpp"

#include <stdexcept>

#include <rocklock/clock.hpp>

namespace rocklock::proof {

std::int64_t moment() { return system_clock().now().boot.time_since_epoch().count(); }

Operation::Result result_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::conflict:
        case ErrorCode::patience_expired:
        case ErrorCode::deadlock:
            return Operation::Result::refused;
        case ErrorCode::cancelled:
        case ErrorCode::session_expired:
        case ErrorCode::session_not_found:
            return Operation::Result::withdrawn;
        case ErrorCode::already_held:
            return Operation::Result::already_held;
        case ErrorCode::grant_ended:
        case ErrorCode::not_owner:
            return Operation::Result::not_held;
        default:
            throw std::runtime_error("unexpected error: " + error.message);
    }
}

}  // namespace rocklock::proof
