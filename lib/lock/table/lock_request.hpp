// Helpers for requests that name locks.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/lock.hpp>

namespace rocklock::lock_model {

// Returns a name in the form in which messages contain it.
inline std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// Returns whether the lock may be granted in one of several modes.
inline bool has_choice(const LockRequest& lock) { return !lock.modes.empty(); }

}  // namespace rocklock::lock_model
