// What requests for locks say, in few words.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/lock.hpp>

namespace rocklock::lock_model {

// A name as messages show it.
inline std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// Whether a lock may be granted in one of several modes.
inline bool has_choice(const LockRequest& lock) { return !lock.modes.empty(); }

}  // namespace rocklock::lock_model
