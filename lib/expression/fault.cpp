#include "expression/fault.hpp"

#include <utility>

namespace rocklock::expression {

std::string_view parameter_name(ExpressionKind kind) {
    switch (kind) {
        case ExpressionKind::update:
            return "UpdateExpression";
        case ExpressionKind::condition:
            return "ConditionExpression";
        case ExpressionKind::key_condition:
            return "KeyConditionExpression";
        case ExpressionKind::filter:
            return "FilterExpression";
        case ExpressionKind::projection:
            return "ProjectionExpression";
    }
    return {};
}

Error fault(std::string text) { return Error(ErrorCode::invalid_argument, std::move(text)); }

Error fault_in(ExpressionKind kind, std::string_view text) {
    return fault("Invalid " + std::string(parameter_name(kind)) + ": " + std::string(text));
}

}  // namespace rocklock::expression
