// The names and values with which a request defines the placeholders of its expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/expression.hpp>

#include "expression/tree.hpp"

namespace rocklock::expression {

// The name or value of each placeholder of a tree, by the index of the placeholder in the tree.
//
// Lifetime: borrows the names and values from the request.
struct Bindings {
    std::vector<std::string_view> names;
    std::vector<const AttributeValue*> values;
};

// Looks up placeholders in a request. Also records which placeholders were used, since an unused
// placeholder is an error. One Binder is used for all expressions of a request.
//
// Lifetime: borrows the placeholders of the request. Bindings that are made with a Binder borrow
//           them, too.
class Binder {
public:
    explicit Binder(const Placeholders& placeholders);

    // Checks the placeholders of the request. Must be called before any expression is bound.
    std::optional<Error> check() const;

    // Return the name or the value, or nullptr if the placeholder is undefined.
    const std::string* name(std::string_view placeholder);
    const AttributeValue* value(std::string_view placeholder);

    // Returns an error if a placeholder was not used. Must be called after all expressions are
    // bound.
    std::optional<Error> check_unused() const;

private:
    // The placeholders of a request, and whether each one was used. A short list is searched
    // linearly. For a long list, a sorted index is built and searched by bisection.
    template <typename Entry>
    class UsageTable {
    public:
        explicit UsageTable(const std::optional<std::vector<Entry>>& entries);
        // Marks a placeholder as used. Returns its entry, or nullptr if the placeholder is
        // undefined.
        const Entry* use(std::string_view placeholder);
        // Returns the unused placeholders, as in "{:a, :b}", or an empty string if all were used.
        std::string unused() const;

    private:
        std::optional<std::size_t> find(std::string_view placeholder) const;

        std::span<const Entry> entries_;
        std::vector<std::uint32_t> order_;
        std::vector<bool> used_;
    };

    const Placeholders& placeholders_;
    UsageTable<NamePlaceholder> names_;
    UsageTable<ValuePlaceholder> values_;
};

// Returns the error for an invalid value of a placeholder. `text` states why the value is invalid.
Error invalid_value(std::string_view text, std::string_view placeholder);

// Return the messages for undefined placeholders.
std::string undefined_name(std::string_view placeholder);
std::string undefined_value(std::string_view placeholder);

}  // namespace rocklock::expression
