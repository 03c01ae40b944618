#include "base/kill_point.hpp"

#include "base/assert.hpp"

namespace rocklock {

std::string_view to_string(KillPoint point) {
    switch (point) {
        case KillPoint::before_write:
            return "before_write";
        case KillPoint::after_write:
            return "after_write";
        case KillPoint::after_sync:
            return "after_sync";
        case KillPoint::in_flush:
            return "in_flush";
    }
    ROCKLOCK_ASSERT(false);
    return {};
}

}  // namespace rocklock
