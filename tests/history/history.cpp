#include "history/history.hpp"

#include <array>

namespace rocklock::proof {

namespace {

std::string trail_text(const Trail& trail) {
    if (trail.empty()) return "nothing";
    std::string text;
    for (const std::uint64_t number : trail) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

std::string demand_text(const Demand& demand) {
    switch (demand.kind) {
        case Demand::Kind::none:
            break;
        case Demand::Kind::absent:
            return "nothing";
        case Demand::Kind::present:
            return "anything";
        case Demand::Kind::equals:
            return std::to_string(demand.number);
    }
    return "";
}

}  // namespace

bool Demand::holds(std::uint64_t latest) const {
    switch (kind) {
        case Kind::none:
            break;
        case Kind::absent:
            return latest == 0;
        case Kind::present:
            return latest != 0;
        case Kind::equals:
            return latest != 0 && latest == number;
    }
    return true;
}

std::string describe(const TableOperation& operation) {
    static constexpr std::array<const char*, 4> effects{"read", "put", "update", "remove"};
    std::string text = "#" + std::to_string(operation.number);
    for (const Touch& touch : operation.touches) {
        text += std::string(" ") + effects[static_cast<std::size_t>(touch.effect)] + " k" +
                std::to_string(touch.key);
        if (touch.demand.kind != Demand::Kind::none) {
            text += (touch.met ? " if " : " unless ") + demand_text(touch.demand);
        }
        if (touch.seen) text += " saw " + trail_text(*touch.seen);
    }
    if (operation.attempt_of != 0) text += ", for " + std::to_string(operation.attempt_of);
    return text + (operation.open ? ", no answer" : "") + " [" + std::to_string(operation.called) +
           ", " + std::to_string(operation.returned) + "]";
}

}  // namespace rocklock::proof
