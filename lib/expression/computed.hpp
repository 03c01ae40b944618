// The value of an operand. It is a computed value, or a reference to a value in an item or a
// request.
#pragma once

#include <utility>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock::expression {

class Computed {
public:
    // No value: the attribute does not exist.
    Computed() = default;
    explicit Computed(const AttributeValue* borrowed) : borrowed_(borrowed) {}
    explicit Computed(AttributeValue own) : own_(std::move(own)), is_own_(true) {}

    const AttributeValue* get() const { return is_own_ ? &own_ : borrowed_; }
    // Returns the value. Requires get() != nullptr.
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
