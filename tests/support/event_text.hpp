// One-line descriptions of events, answers and grants, for the messages of tests.
#pragma once

#include <string>

#include "lock/table/lock_table.hpp"

namespace rocklock::proof {

std::string describe(const Event& event);
std::string describe(const Result<Answer>& answer);
std::string describe_grant(const Grant& grant);

// Returns the first characters of the text of an id.
std::string brief(const SessionId& id);
std::string milliseconds_of(BootTime time);

template <typename Lock>
std::string describe_lock(const Lock& lock) {
    std::string text =
        lock.resource.size() > 40 ? lock.resource.substr(0, 40) + "…" : lock.resource;
    text += lock.subtree ? "/** " : " ";
    text += lock.permits > 0 ? std::to_string(lock.permits) : std::string(to_string(lock.mode));
    return text;
}

}  // namespace rocklock::proof
