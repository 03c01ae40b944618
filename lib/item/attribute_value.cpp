#include <rocklock/items/attribute_value.hpp>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/assert.hpp"
#include "base/base64.hpp"
#include "base/invalid_argument.hpp"
#include "item/item_limits.hpp"

namespace rocklock {
namespace {

constexpr std::array<std::string_view, 10> type_names = {"S", "N", "B",  "BOOL", "NULL",
                                                         "L", "M", "SS", "NS",   "BS"};

// Returns the members as in DynamoDB's messages: "[a, b]".
template <typename Member, typename Text>
std::string listed(const std::vector<Member>& members, Text text_of) {
    std::string list = "[";
    const char* comma = "";
    for (const auto& member : members) {
        list.append(comma).append(text_of(member));
        comma = ", ";
    }
    return list += ']';
}

// DynamoDB's messages, including their mistakes.
Error empty_set(const std::vector<std::string>& /*members*/) {
    return invalid_argument(
        "One or more parameter values were invalid: An string set  may not be empty");
}
Error empty_set(const std::vector<Number>& /*members*/) {
    return invalid_argument(
        "One or more parameter values were invalid: An number set  may not be empty");
}
Error empty_set(const std::vector<Binary>& /*members*/) {
    return invalid_argument(
        "One or more parameter values were invalid: Binary sets should not be empty");
}

Error duplicates(const std::vector<std::string>& members) {
    return invalid_argument("One or more parameter values were invalid: Input collection " +
                            listed(members, [](const auto& text) { return text; }) +
                            " contains duplicates.");
}
Error duplicates(const std::vector<Number>& /*members*/) {
    return invalid_argument("Input collection contains duplicates");
}
Error duplicates(const std::vector<Binary>& members) {
    return invalid_argument(
        "One or more parameter values were invalid: Input collection " +
        listed(members, [](const auto& binary) { return base64_encode(binary.bytes); }) +
        "of type BS contains duplicates.");
}

bool named_before(const Attribute& attribute, std::string_view name) {
    return std::string_view(attribute.name) < name;
}

bool in_order(const Attribute& left, const Attribute& right) { return left.name < right.name; }

// Sorts the attributes by name. If a name occurs several times, keeps its last value.
void put_in_order(std::vector<Attribute>& attributes) {
    const auto out_of_order = [](const Attribute& left, const Attribute& right) {
        return !in_order(left, right);
    };
    if (std::adjacent_find(attributes.begin(), attributes.end(), out_of_order) ==
        attributes.end()) {
        return;
    }
    std::stable_sort(attributes.begin(), attributes.end(), in_order);
    auto kept = attributes.begin();
    for (auto next = kept + 1; next != attributes.end(); ++next) {
        if (kept->name != next->name) ++kept;
        if (kept != next) *kept = std::move(*next);
    }
    attributes.erase(kept + 1, attributes.end());
}

template <typename T>
std::optional<std::strong_ordering> compare_as(const AttributeValue& left,
                                               const AttributeValue& right) {
    const auto* left_value = left.get_if<T>();
    const auto* right_value = right.get_if<T>();
    if (left_value == nullptr || right_value == nullptr) return std::nullopt;
    return *left_value <=> *right_value;
}

std::size_t size_of(const std::string& text) { return text.size(); }
std::size_t size_of(const Number& number) { return number.size_bytes(); }
std::size_t size_of(const Binary& binary) { return binary.bytes.size(); }
std::size_t size_of(bool /*truth*/) { return 1; }
std::size_t size_of(Null /*null*/) { return 1; }

std::size_t size_of(const AttributeList& list) {
    std::size_t size = container_bytes;
    for (const auto& element : list) size += element_bytes + size_bytes(element);
    return size;
}

std::size_t size_of(const AttributeMap& map) {
    return container_bytes + map.size() * element_bytes + size_bytes(map);
}

template <typename Member>
std::size_t size_of(const AttributeSet<Member>& set) {
    std::size_t size = 0;
    for (const auto& member : set) size += size_of(member);
    return size;
}

}  // namespace

std::string_view to_string(AttributeType type) {
    const auto number = static_cast<std::size_t>(type);
    ROCKLOCK_ASSERT(number < type_names.size());
    return type_names[number];
}

std::optional<AttributeType> parse_attribute_type(std::string_view text) {
    // Selects the only possible name by the first letter and the length. It is compared below.
    const auto candidate = [&] {
        switch (text.empty() ? '\0' : text.front()) {
            case 'S':
                return text.size() == 1 ? AttributeType::string : AttributeType::string_set;
            case 'N':
                return text.size() == 1   ? AttributeType::number
                       : text.size() == 2 ? AttributeType::number_set
                                          : AttributeType::null;
            case 'B':
                return text.size() == 1   ? AttributeType::binary
                       : text.size() == 2 ? AttributeType::binary_set
                                          : AttributeType::boolean;
            case 'L':
                return AttributeType::list;
            default:
                return AttributeType::map;
        }
    }();
    if (text != type_names[static_cast<std::size_t>(candidate)]) return std::nullopt;
    return candidate;
}

template <typename Member>
Result<AttributeSet<Member>> AttributeSet<Member>::make(std::vector<Member> members) {
    if (members.empty()) return empty_set(members);
    AttributeSet set;
    if (std::is_sorted(members.begin(), members.end())) {
        if (std::adjacent_find(members.begin(), members.end()) != members.end()) {
            return duplicates(members);
        }
        set.members_ = std::move(members);
        return set;
    }
    // The message of duplicates() contains the members in their original order, so sort a copy.
    set.members_ = members;
    std::sort(set.members_.begin(), set.members_.end());
    if (std::adjacent_find(set.begin(), set.end()) != set.end()) return duplicates(members);
    return set;
}

template <typename Member>
bool AttributeSet<Member>::contains(const Member& member) const noexcept {
    return std::binary_search(begin(), end(), member);
}

template <typename Member>
void AttributeSet<Member>::insert(const AttributeSet& other) {
    if (&other == this) return;
    std::vector<Member> united;
    united.reserve(size() + other.size());
    std::set_union(std::make_move_iterator(members_.begin()),
                   std::make_move_iterator(members_.end()), other.begin(), other.end(),
                   std::back_inserter(united));
    members_ = std::move(united);
}

template <typename Member>
void AttributeSet<Member>::remove(const AttributeSet& other) {
    if (&other == this) return members_.clear();
    std::erase_if(members_, [&](const Member& member) { return other.contains(member); });
}

template class AttributeSet<std::string>;
template class AttributeSet<Number>;
template class AttributeSet<Binary>;

AttributeMap::AttributeMap(std::vector<Attribute> attributes) : attributes_(std::move(attributes)) {
    put_in_order(attributes_);
}

AttributeMap::AttributeMap(std::initializer_list<Attribute> attributes)
    : AttributeMap(std::vector<Attribute>(attributes)) {}

const AttributeValue* AttributeMap::find(std::string_view name) const noexcept {
    // Comparing for equality first compares the sizes, which takes less time than a binary search
    // if there are few attributes.
    constexpr std::size_t few = 16;
    if (attributes_.size() <= few) {
        for (const Attribute& attribute : attributes_) {
            if (attribute.name == name) return &attribute.value;
        }
        return nullptr;
    }
    const auto found = std::lower_bound(attributes_.begin(), attributes_.end(), name, named_before);
    if (found == attributes_.end() || found->name != name) return nullptr;
    return &found->value;
}

AttributeValue* AttributeMap::find(std::string_view name) noexcept {
    return const_cast<AttributeValue*>(std::as_const(*this).find(name));
}

AttributeValue& AttributeMap::set(std::string_view name, AttributeValue value) {
    auto it = std::lower_bound(attributes_.begin(), attributes_.end(), name, named_before);
    if (it == attributes_.end() || it->name != name) {
        it = attributes_.insert(it, Attribute{std::string(name), std::move(value)});
    } else {
        it->value = std::move(value);
    }
    return it->value;
}

bool AttributeMap::erase(std::string_view name) {
    const auto it = std::lower_bound(attributes_.begin(), attributes_.end(), name, named_before);
    if (it == attributes_.end() || it->name != name) return false;
    attributes_.erase(it);
    return true;
}

void AttributeMap::reserve(std::size_t count) { attributes_.reserve(count); }

bool operator==(const AttributeMap& left, const AttributeMap& right) {
    return left.attributes_ == right.attributes_;
}

bool operator==(const AttributeValue& left, const AttributeValue& right) {
    return left.data_ == right.data_;
}

std::optional<std::strong_ordering> compare(const AttributeValue& left,
                                            const AttributeValue& right) {
    if (left.type() != right.type()) return std::nullopt;
    switch (left.type()) {
        case AttributeType::string:
            return compare_as<std::string>(left, right);
        case AttributeType::number:
            return compare_as<Number>(left, right);
        case AttributeType::binary:
            return compare_as<Binary>(left, right);
        default:
            return std::nullopt;
    }
}

std::size_t size_bytes(const AttributeValue& value) noexcept {
    return std::visit([](const auto& data) { return size_of(data); }, value.data());
}

std::size_t size_bytes(const Item& item) noexcept {
    std::size_t size = 0;
    for (const auto& [name, value] : item) size += name.size() + size_bytes(value);
    return size;
}

std::size_t nesting_depth(const AttributeValue& value) noexcept {
    std::size_t deepest = 0;
    if (const auto* list = value.get_if<AttributeList>()) {
        for (const auto& element : *list) deepest = std::max(deepest, nesting_depth(element));
    } else if (const auto* map = value.get_if<AttributeMap>()) {
        for (const auto& [name, element] : *map) {
            deepest = std::max(deepest, nesting_depth(element));
        }
    }
    return deepest + 1;
}

}  // namespace rocklock
