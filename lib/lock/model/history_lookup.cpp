#include "lock/model/history_lookup.hpp"

namespace rocklock {

Released released_before(const Ending& ending) {
    const bool released = ending.outcome == Outcome::released;
    return {released ? Outcome::already_released : ending.outcome, 0, ending.by, ending.reason,
            ending.at};
}

}  // namespace rocklock
