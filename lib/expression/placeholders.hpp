// What the placeholders of an expression stand for in one request.
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

// For each placeholder of a tree, by its place there, what it stands for. Borrows that.
struct Bindings {
    std::vector<std::string_view> names;
    std::vector<const AttributeValue*> values;
};

// Looks for placeholders among those of a request, and knows which were looked for: those that no
// expression has are a fault. One for all expressions of a request.
//
// Lifetime: borrows the placeholders, and so do the Bindings made with it.
class Binder {
public:
    explicit Binder(const Placeholders& placeholders);

    // What is wrong with the placeholders themselves, before any expression is looked at.
    std::optional<Error> check() const;

    // What it stands for, or nullptr.
    const std::string* name(std::string_view placeholder);
    const AttributeValue* value(std::string_view placeholder);

    // Call it when all expressions are bound.
    std::optional<Error> check_unused() const;

private:
    // Which of a list of placeholders is asked for: looked for in the list while that is short, and
    // by halves in an order made for it when it is long.
    template <typename Entry>
    class Register {
    public:
        explicit Register(const std::optional<std::vector<Entry>>& entries);
        // The entry, or nullptr.
        const Entry* use(std::string_view placeholder);
        // What is in the list and was not asked for: "{:a, :b}"; empty when all was.
        std::string unused() const;

    private:
        std::optional<std::size_t> find(std::string_view placeholder) const;

        std::span<const Entry> entries_;
        std::vector<std::uint32_t> order_;
        std::vector<bool> used_;
    };

    const Placeholders& placeholders_;
    Register<NamePlaceholder> names_;
    Register<ValuePlaceholder> values_;
};

// What is said of a value that is none: `text` is what is said of it elsewhere.
Error invalid_value(std::string_view text, std::string_view placeholder);

// The texts of placeholders that are not there.
std::string undefined_name(std::string_view placeholder);
std::string undefined_value(std::string_view placeholder);

}  // namespace rocklock::expression
