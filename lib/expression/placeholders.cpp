#include "expression/placeholders.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "item/item_limits.hpp"

namespace rocklock::expression {

namespace {

// Up to this size, a linear search is faster.
constexpr std::size_t few = 8;
// See "Quotas in Amazon DynamoDB", the length of all substitution variables.
constexpr std::size_t max_placeholder_bytes = 2U << 20;
// The number of bytes that a message shows of a name that is too long.
constexpr std::size_t shown_name_bytes = 32;

bool is_placeholder(std::string_view text, char mark) {
    return text.size() > 1 && text.front() == mark &&
           std::all_of(text.begin() + 1, text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

template <typename Entries>
std::optional<Error> check_keys(const std::string& parameter, char mark, const Entries& entries) {
    if (entries.empty()) return fault(parameter + " must not be empty");
    for (const auto& entry : entries) {
        if (is_placeholder(entry.placeholder, mark)) continue;
        return fault(parameter + " contains invalid key: Syntax error; key: \"" +
                     entry.placeholder + "\"");
    }
    return std::nullopt;
}

// Returns the beginning of a UTF-8 text, without splitting a character.
std::string beginning_of(std::string_view text) {
    std::size_t end = std::min(text.size(), shown_name_bytes);
    while (end > 0 && end < text.size() &&
           (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return std::string(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::optional<Error> check_name_lengths(const std::vector<NamePlaceholder>& names) {
    for (const auto& [placeholder, name] : names) {
        if (name.size() <= max_attribute_name_bytes) continue;
        const std::string max_bytes = std::to_string(max_attribute_name_bytes);
        return fault("1 validation error detected: Value '{" + beginning_of(placeholder) + "=" +
                     beginning_of(name) +
                     "}' at 'expressionAttributeNames' failed to satisfy constraint: Map value "
                     "must satisfy constraint: [Member must have length less than or equal to " +
                     max_bytes + ", Member must have length greater than or equal to 0]");
    }
    return std::nullopt;
}

std::optional<Error> check_names(const std::vector<NamePlaceholder>& names) {
    if (auto fault = check_name_lengths(names)) return fault;
    if (auto fault = check_keys("ExpressionAttributeNames", '#', names)) return fault;
    for (const NamePlaceholder& entry : names) {
        if (!entry.name.empty()) continue;
        return fault(
            "ExpressionAttributeNames contains invalid value: Empty attribute name for "
            "key " +
            entry.placeholder);
    }
    return std::nullopt;
}

std::optional<Error> check_values(const std::vector<ValuePlaceholder>& values) {
    if (auto fault = check_keys("ExpressionAttributeValues", ':', values)) return fault;
    for (const ValuePlaceholder& entry : values) {
        const auto nesting = check_nesting(entry.value);
        if (!nesting) return invalid_value(nesting.error().message, entry.placeholder);
    }
    return std::nullopt;
}

// Checks the sizes of names, of values, and of both together, since each has its own message.
std::optional<Error> check_sizes(const Placeholders& placeholders) {
    std::size_t names = 0;
    std::size_t values = 0;
    if (placeholders.names) {
        for (const auto& [placeholder, name] : *placeholders.names) {
            names += placeholder.size() + name.size();
        }
    }
    if (placeholders.values) {
        for (const auto& [placeholder, value] : *placeholders.values) {
            values += placeholder.size() + size_bytes(value);
        }
    }
    if (names > max_placeholder_bytes) return fault("ExpressionAttributeNames exceeds max size");
    if (values > max_placeholder_bytes) return fault("ExpressionAttributeValues exceeds max size");
    if (names + values <= max_placeholder_bytes) return std::nullopt;
    return fault(
        "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size");
}

}  // namespace

Error invalid_value(std::string_view text, std::string_view placeholder) {
    return fault("ExpressionAttributeValues contains invalid value: " + std::string(text) +
                 " for key " + std::string(placeholder));
}

template <typename Entry>
Binder::UsageTable<Entry>::UsageTable(const std::optional<std::vector<Entry>>& entries) {
    if (!entries) return;
    entries_ = *entries;
    used_.resize(entries_.size());
    if (entries_.size() <= few) return;
    order_.resize(entries_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(), [this](std::uint32_t left, std::uint32_t right) {
        return entries_[left].placeholder < entries_[right].placeholder;
    });
}

template <typename Entry>
std::optional<std::size_t> Binder::UsageTable<Entry>::find(std::string_view placeholder) const {
    if (order_.empty()) {
        const auto found = std::find_if(
            entries_.begin(), entries_.end(),
            [placeholder](const Entry& entry) { return entry.placeholder == placeholder; });
        if (found == entries_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - entries_.begin());
    }
    const auto found = std::lower_bound(order_.begin(), order_.end(), placeholder,
                                        [this](std::uint32_t index, std::string_view text) {
                                            return entries_[index].placeholder < text;
                                        });
    if (found == order_.end() || entries_[*found].placeholder != placeholder) return std::nullopt;
    return *found;
}

template <typename Entry>
const Entry* Binder::UsageTable<Entry>::use(std::string_view placeholder) {
    const auto index = find(placeholder);
    if (!index) return nullptr;
    used_[*index] = true;
    return &entries_[*index];
}

template <typename Entry>
std::string Binder::UsageTable<Entry>::unused() const {
    std::string text;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (used_[i]) continue;
        text += text.empty() ? "{" : ", ";
        text += entries_[i].placeholder;
    }
    if (!text.empty()) text += '}';
    return text;
}

Binder::Binder(const Placeholders& placeholders)
    : placeholders_(placeholders), names_(placeholders.names), values_(placeholders.values) {}

std::optional<Error> Binder::check() const {
    if (placeholders_.names) {
        if (auto fault = check_names(*placeholders_.names)) return fault;
    }
    if (placeholders_.values) {
        if (auto fault = check_values(*placeholders_.values)) return fault;
    }
    return check_sizes(placeholders_);
}

const std::string* Binder::name(std::string_view placeholder) {
    const NamePlaceholder* entry = names_.use(placeholder);
    return entry ? &entry->name : nullptr;
}

const AttributeValue* Binder::value(std::string_view placeholder) {
    const ValuePlaceholder* entry = values_.use(placeholder);
    return entry ? &entry->value : nullptr;
}

std::optional<Error> Binder::check_unused() const {
    const std::string names = names_.unused();
    if (!names.empty()) {
        return fault("Value provided in ExpressionAttributeNames unused in expressions: keys: " +
                     names);
    }
    const std::string values = values_.unused();
    if (!values.empty()) {
        return fault("Value provided in ExpressionAttributeValues unused in expressions: keys: " +
                     values);
    }
    return std::nullopt;
}

std::string undefined_name(std::string_view placeholder) {
    return "An expression attribute name used in the document path is not defined; attribute "
           "name: " +
           std::string(placeholder);
}

std::string undefined_value(std::string_view placeholder) {
    return "An expression attribute value used in expression is not defined; attribute value: " +
           std::string(placeholder);
}

}  // namespace rocklock::expression
