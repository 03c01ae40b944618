// The value of an operand: one that lies in an item or in a request, or one that was computed.
#pragma once

#include <utility>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock::expression {

class Computed {
public:
    // Nothing: what was looked for is not there.
    Computed() = default;
    explicit Computed(const AttributeValue* borrowed) : borrowed_(borrowed) {}
    explicit Computed(AttributeValue own) : own_(std::move(own)), is_own_(true) {}

    const AttributeValue* get() const { return is_own_ ? &own_ : borrowed_; }
    // The value itself. There must be one.
    AttributeValue take() && {
        if (is_own_) return std::move(own_);
        return *borrowed_;
    }

private:
    const AttributeValue* borrowed_ = nullptr;
    AttributeValue own_;
    bool is_own_ = false;
};

}  // namespace rocklock::expression
