#include "expression/condition.hpp"

#include <algorithm>
#include <compare>
#include <string>

#include "expression/computed.hpp"

namespace rocklock::expression {

namespace {

// Returns the length in UTF-16 code units: two for a character with four bytes in UTF-8, otherwise
// one.
std::size_t utf16_size(std::string_view text) {
    std::size_t size = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        size += (byte & 0xC0) != 0x80;
        size += byte >= 0xF0;
    }
    return size;
}

// Returns the result of the function size(), or none if it is not defined for the type.
std::optional<std::size_t> size_of(const AttributeValue& value) {
    if (const auto* text = value.get_if<std::string>()) return utf16_size(*text);
    if (const auto* binary = value.get_if<Binary>()) return binary->bytes.size();
    if (const auto* list = value.get_if<AttributeList>()) return list->size();
    if (const auto* map = value.get_if<AttributeMap>()) return map->size();
    if (const auto* set = value.get_if<StringSet>()) return set->size();
    if (const auto* set = value.get_if<NumberSet>()) return set->size();
    if (const auto* set = value.get_if<BinarySet>()) return set->size();
    return std::nullopt;
}

template <typename Member, typename Set>
bool set_contains(const AttributeValue& set, const AttributeValue& member) {
    const auto* members = set.get_if<Set>();
    const auto* wanted = member.get_if<Member>();
    return members && wanted && members->contains(*wanted);
}

// Returns the bytes of a string or a binary, or null for other types.
const std::string* bytes_of(const AttributeValue& value) {
    if (const auto* text = value.get_if<std::string>()) return text;
    const auto* binary = value.get_if<Binary>();
    return binary ? &binary->bytes : nullptr;
}

bool value_contains(const AttributeValue& whole, const AttributeValue& part) {
    if (const auto* list = whole.get_if<AttributeList>()) {
        return std::find(list->begin(), list->end(), part) != list->end();
    }
    if (whole.type() == part.type()) {
        const std::string* text = bytes_of(whole);
        return text && text->find(*bytes_of(part)) != std::string::npos;
    }
    return set_contains<std::string, StringSet>(whole, part) ||
           set_contains<Number, NumberSet>(whole, part) ||
           set_contains<Binary, BinarySet>(whole, part);
}

bool value_begins_with(const AttributeValue& whole, const AttributeValue& prefix) {
    const std::string* text = bytes_of(whole);
    return text && whole.type() == prefix.type() && text->starts_with(*bytes_of(prefix));
}

class Evaluation {
public:
    Evaluation(const Condition& condition, const Item& item)
        : condition_(condition), tree_(*condition.tree), paths_(condition.paths()), item_(item) {}

    bool holds(const Node& node) const;

private:
    Computed value(const Node& node) const;
    Computed operand(const Node& node, std::uint32_t number) const {
        return value(tree_.operand(node, number));
    }
    bool is_there(const Node& node) const {
        return paths_.find(item_, ConditionTree::path_of(tree_.operand(node, 0)));
    }
    bool equal(const Node& node) const;
    // Returns the order of two operands, or none if one is absent or they cannot be ordered.
    std::optional<std::strong_ordering> order(const Computed& left, const Computed& right) const;
    bool compares(const Node& node) const;
    bool between(const Node& node) const;
    bool in(const Node& node) const;
    bool has_type(const Node& node) const;
    template <typename Predicate>
    bool both(const Node& node, Predicate predicate) const;

    const Condition& condition_;
    const ConditionTree& tree_;
    Paths paths_;
    const Item& item_;
};

bool Evaluation::holds(const Node& node) const {
    switch (node.kind) {
        case NodeKind::all_of:
        case NodeKind::any_of: {
            const bool one_decides = node.kind == NodeKind::any_of;
            for (std::uint32_t i = 0; i < node.count; ++i) {
                if (holds(tree_.operand(node, i)) == one_decides) return one_decides;
            }
            return !one_decides;
        }
        case NodeKind::negation:
            return !holds(tree_.operand(node, 0));
        case NodeKind::equal:
            return equal(node);
        case NodeKind::not_equal:
            return !equal(node);
        case NodeKind::between:
            return between(node);
        case NodeKind::in:
            return in(node);
        case NodeKind::attribute_exists:
            return is_there(node);
        case NodeKind::attribute_not_exists:
            return !is_there(node);
        case NodeKind::attribute_type:
            return has_type(node);
        case NodeKind::begins_with:
            return both(node, value_begins_with);
        case NodeKind::contains:
            return both(node, value_contains);
        default:
            return compares(node);
    }
}

Computed Evaluation::value(const Node& node) const {
    if (node.kind == NodeKind::path) {
        return Computed(paths_.find(item_, ConditionTree::path_of(node)));
    }
    if (node.kind == NodeKind::value) return Computed(condition_.bindings.values[node.first]);
    const Computed whole = operand(node, 0);
    const auto size = whole.get() ? size_of(*whole.get()) : std::nullopt;
    return size ? Computed(AttributeValue(Number(*size))) : Computed();
}

template <typename Predicate>
bool Evaluation::both(const Node& node, Predicate predicate) const {
    const Computed left = operand(node, 0);
    if (!left.get()) return false;
    const Computed right = operand(node, 1);
    return right.get() && predicate(*left.get(), *right.get());
}

bool Evaluation::equal(const Node& node) const {
    return both(node, [](const AttributeValue& left, const AttributeValue& right) {
        return left == right;
    });
}

std::optional<std::strong_ordering> Evaluation::order(const Computed& left,
                                                      const Computed& right) const {
    if (!left.get() || !right.get()) return std::nullopt;
    return compare(*left.get(), *right.get());
}

bool Evaluation::compares(const Node& node) const {
    const auto found = order(operand(node, 0), operand(node, 1));
    if (!found) return false;
    switch (node.kind) {
        case NodeKind::less:
            return *found < 0;
        case NodeKind::less_or_equal:
            return *found <= 0;
        case NodeKind::greater:
            return *found > 0;
        case NodeKind::greater_or_equal:
            return *found >= 0;
        default:
            return false;
    }
}

bool Evaluation::between(const Node& node) const {
    const Computed value = operand(node, 0);
    const auto lower = order(operand(node, 1), value);
    if (!lower || *lower > 0) return false;
    const auto upper = order(value, operand(node, 2));
    return upper && *upper <= 0;
}

bool Evaluation::in(const Node& node) const {
    const Computed value = operand(node, 0);
    if (!value.get()) return false;
    for (std::uint32_t i = 1; i < node.count; ++i) {
        const Computed candidate = operand(node, i);
        if (candidate.get() && *candidate.get() == *value.get()) return true;
    }
    return false;
}

bool Evaluation::has_type(const Node& node) const {
    return both(node, [](const AttributeValue& value, const AttributeValue& type) {
        const auto* name = type.get_if<std::string>();
        return name && to_string(value.type()) == *name;
    });
}

}  // namespace

bool holds(const Condition& condition, const Item& item) {
    const ConditionTree& tree = *condition.tree;
    return Evaluation(condition, item).holds(tree.nodes[tree.root]);
}

std::vector<std::string_view> attributes(const Condition& condition) {
    const Paths paths = condition.paths();
    std::vector<std::string_view> names;
    for (const Node& node : condition.tree->nodes) {
        if (node.kind == NodeKind::path) {
            names.push_back(paths.attribute(ConditionTree::path_of(node)));
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string_view> nested_attributes(const Condition& condition) {
    return nested_attributes(*condition.tree, condition.paths());
}

}  // namespace rocklock::expression
