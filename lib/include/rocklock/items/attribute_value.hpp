// AttributeValue: what DynamoDB keeps under a name, of one of ten types; and Item, names with such
// values.
//
// Values are plain: copied, moved and compared as wholes. What a type alone promises is promised
// here (sets have no duplicates, names are unique); what depends on where a value goes (limits of
// size and depth, names, keys) is checked when an item is written. Numbers compare numerically and
// sets without order, at every depth.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/export.hpp>
#include <rocklock/items/number.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// In the order of the alternatives of AttributeValue::Data. On the disk by number.
enum class AttributeType : std::uint8_t {
    string,
    number,
    binary,
    boolean,
    null,
    list,
    map,
    string_set,
    number_set,
    binary_set,
};

// As in requests: S, N, B, BOOL, NULL, L, M, SS, NS, BS.
ROCKLOCK_API std::string_view to_string(AttributeType type);
ROCKLOCK_API std::optional<AttributeType> parse_attribute_type(std::string_view text);

// Any bytes; in JSON as base64. Ordered as unsigned bytes.
struct Binary {
    std::string bytes;

    friend auto operator<=>(const Binary&, const Binary&) = default;
};

struct Null {
    friend bool operator==(Null, Null) = default;
};

// Members without duplicates, kept in order: strings and binaries by their bytes, numbers by value.
// The sets that a user can have are not empty; only one that members were removed from may be.
template <typename Member>
class AttributeSet {
public:
    // Errors, with the service's texts: invalid_argument  empty; a member twice
    static Result<AttributeSet> make(std::vector<Member> members);

    const std::vector<Member>& members() const noexcept { return members_; }
    auto begin() const noexcept { return members_.begin(); }
    auto end() const noexcept { return members_.end(); }
    std::size_t size() const noexcept { return members_.size(); }
    bool empty() const noexcept { return members_.empty(); }

    bool contains(const Member& member) const noexcept;
    // Union and difference, as ADD and DELETE do. After remove() look whether it is empty.
    void insert(const AttributeSet& other);
    void remove(const AttributeSet& other);

    friend bool operator==(const AttributeSet&, const AttributeSet&) = default;

private:
    AttributeSet() = default;

    std::vector<Member> members_;
};

using StringSet = AttributeSet<std::string>;
using NumberSet = AttributeSet<Number>;
using BinarySet = AttributeSet<Binary>;

extern template class ROCKLOCK_API AttributeSet<std::string>;
extern template class ROCKLOCK_API AttributeSet<Number>;
extern template class ROCKLOCK_API AttributeSet<Binary>;

class AttributeValue;
struct Attribute;

using AttributeList = std::vector<AttributeValue>;

// Values by name, in order of the names' bytes. One allocation for all; to look for a name is a
// search in a sorted array. References to values last until the next change.
class ROCKLOCK_API AttributeMap {
public:
    AttributeMap() noexcept;
    AttributeMap(const AttributeMap& other);
    AttributeMap(AttributeMap&& other) noexcept;
    AttributeMap& operator=(const AttributeMap& other);
    AttributeMap& operator=(AttributeMap&& other) noexcept;
    ~AttributeMap();
    // In any order. Where a name comes several times, its last value counts.
    explicit AttributeMap(std::vector<Attribute> attributes);
    AttributeMap(std::initializer_list<Attribute> attributes);

    // What is given is a range of Attribute, in order of names.
    const Attribute* begin() const noexcept;
    const Attribute* end() const noexcept;
    std::size_t size() const noexcept;
    bool empty() const noexcept { return begin() == end(); }

    // The value of that name, or nullptr.
    const AttributeValue* find(std::string_view name) const noexcept;
    AttributeValue* find(std::string_view name) noexcept;
    bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

    // Adds the attribute or replaces its value.
    AttributeValue& set(std::string_view name, AttributeValue value);
    // Whether there was one.
    bool erase(std::string_view name);
    void reserve(std::size_t count);

    ROCKLOCK_API friend bool operator==(const AttributeMap& left, const AttributeMap& right);

private:
    std::vector<Attribute> attributes_;
};

// The attributes of one item, keys included.
using Item = AttributeMap;

class ROCKLOCK_API AttributeValue {
public:
    using Data = std::variant<std::string, Number, Binary, bool, Null, AttributeList, AttributeMap,
                              StringSet, NumberSet, BinarySet>;

    // NULL.
    AttributeValue() noexcept : data_(Null{}) {}
    AttributeValue(std::string text) noexcept : data_(std::move(text)) {}
    AttributeValue(std::string_view text) : data_(std::string(text)) {}
    AttributeValue(const char* text) : data_(std::string(text)) {}
    AttributeValue(const Number& number) noexcept : data_(number) {}
    AttributeValue(Binary binary) noexcept : data_(std::move(binary)) {}
    // Only a bool, and nothing that becomes one.
    template <std::same_as<bool> Boolean>
    AttributeValue(Boolean truth) noexcept : data_(truth) {}
    AttributeValue(Null null) noexcept : data_(null) {}
    // Explicit, lest AttributeList{list} become a list of a list.
    explicit AttributeValue(AttributeList list) noexcept : data_(std::move(list)) {}
    AttributeValue(AttributeMap map) noexcept : data_(std::move(map)) {}
    AttributeValue(StringSet set) noexcept : data_(std::move(set)) {}
    AttributeValue(NumberSet set) noexcept : data_(std::move(set)) {}
    AttributeValue(BinarySet set) noexcept : data_(std::move(set)) {}

    AttributeType type() const noexcept { return static_cast<AttributeType>(data_.index()); }

    // T is one of the alternatives: `if (const auto* text = value.get_if<std::string>())`.
    template <typename T>
    bool is() const noexcept {
        return std::holds_alternative<T>(data_);
    }
    template <typename T>
    const T* get_if() const noexcept {
        return std::get_if<T>(&data_);
    }
    template <typename T>
    T* get_if() noexcept {
        return std::get_if<T>(&data_);
    }
    const Data& data() const noexcept { return data_; }
    // Makes it a T of these arguments.
    template <typename T, typename... Arguments>
    T& emplace(Arguments&&... arguments) {
        return data_.template emplace<T>(std::forward<Arguments>(arguments)...);
    }

    // Of the same type and equal; of different types never.
    ROCKLOCK_API friend bool operator==(const AttributeValue& left, const AttributeValue& right);

private:
    Data data_;
};

struct Attribute {
    std::string name;
    AttributeValue value;

    friend bool operator==(const Attribute&, const Attribute&) = default;
};

// Here, where an Attribute is known.
inline AttributeMap::AttributeMap() noexcept = default;
inline AttributeMap::AttributeMap(const AttributeMap& other) = default;
inline AttributeMap::AttributeMap(AttributeMap&& other) noexcept = default;
inline AttributeMap& AttributeMap::operator=(const AttributeMap& other) = default;
inline AttributeMap& AttributeMap::operator=(AttributeMap&& other) noexcept = default;
inline AttributeMap::~AttributeMap() = default;
inline const Attribute* AttributeMap::begin() const noexcept { return attributes_.data(); }
inline const Attribute* AttributeMap::end() const noexcept { return begin() + attributes_.size(); }
inline std::size_t AttributeMap::size() const noexcept { return attributes_.size(); }

// The order that conditions, key conditions and range keys know: two S or two B by their bytes, two
// N by value. Nothing for all else: <, <=, >, >= and BETWEEN are false then.
ROCKLOCK_API std::optional<std::strong_ordering> compare(const AttributeValue& left,
                                                         const AttributeValue& right);

// What a value, and an item with its names, counts towards the limits and towards consumed
// capacity.
ROCKLOCK_API std::size_t size_bytes(const AttributeValue& value) noexcept;
ROCKLOCK_API std::size_t size_bytes(const Item& item) noexcept;

// Levels: 1 for a scalar or a set, one more than the deepest within for a list or a map.
ROCKLOCK_API std::size_t nesting_depth(const AttributeValue& value) noexcept;

}  // namespace rocklock
