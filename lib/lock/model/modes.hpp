// The compatibility matrix and what follows from it. See docs/semantics.md.
#pragma once

#include <optional>

#include <rocklock/lock.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// Whether two sessions cannot hold a resource in these modes together: all but read beside read.
constexpr bool conflicting(Mode held, Mode wanted) {
    return held != Mode::read || wanted != Mode::read;
}

// Whether holding `held` is enough for whoever needs `needed`.
constexpr bool covers(Mode held, Mode needed) { return held >= needed; }

// What an intent comes to under a policy; none where the policy has no lock for it (reading under
// exclusive_write).
std::optional<Mode> mode_for(Policy policy, Intent intent);

}  // namespace rocklock
