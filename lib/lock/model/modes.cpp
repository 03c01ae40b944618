#include "lock/model/modes.hpp"

namespace rocklock {

std::optional<Mode> mode_for(Policy policy, Intent intent) {
    switch (policy) {
        case Policy::exclusive_write:
            return intent == Intent::edit ? std::optional(Mode::write) : std::nullopt;
        case Policy::exclusive_read:
            return Mode::exclusive;
        case Policy::read_write:
            return intent == Intent::edit ? Mode::write : Mode::read;
    }
    return std::nullopt;
}

std::string_view to_string(Policy policy) {
    switch (policy) {
        case Policy::exclusive_write:
            return "exclusive_write";
        case Policy::exclusive_read:
            return "exclusive_read";
        case Policy::read_write:
            return "read_write";
    }
    return "unknown";
}

std::string_view to_string(StealPolicy policy) {
    switch (policy) {
        case StealPolicy::never:
            return "never";
        case StealPolicy::anyone:
            return "anyone";
        case StealPolicy::idle:
            return "idle";
        case StealPolicy::ask:
            return "ask";
    }
    return "unknown";
}

std::optional<Policy> parse_policy(std::string_view text) {
    for (const Policy policy :
         {Policy::exclusive_write, Policy::exclusive_read, Policy::read_write}) {
        if (text == to_string(policy)) return policy;
    }
    return std::nullopt;
}

std::optional<StealPolicy> parse_steal_policy(std::string_view text) {
    for (const StealPolicy policy :
         {StealPolicy::never, StealPolicy::anyone, StealPolicy::idle, StealPolicy::ask}) {
        if (text == to_string(policy)) return policy;
    }
    return std::nullopt;
}

}  // namespace rocklock
