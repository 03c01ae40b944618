// The compatibility of modes. See docs/semantics.md.
#pragma once

#include <optional>

#include <rocklock/lock.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// Returns whether two modes conflict. If they do, two sessions cannot hold one resource in these
// modes at the same time. Only `read` and `read` do not conflict.
constexpr bool conflicting(Mode held, Mode wanted) {
    return held != Mode::read || wanted != Mode::read;
}

// Returns whether a lock in mode `held` is sufficient where a lock in mode `needed` is required.
constexpr bool covers(Mode held, Mode needed) { return held >= needed; }

// Returns the mode for an intent under a policy. Returns nullopt if the policy defines no lock for
// the intent (reading under exclusive_write).
std::optional<Mode> mode_for(Policy policy, Intent intent);

}  // namespace rocklock
