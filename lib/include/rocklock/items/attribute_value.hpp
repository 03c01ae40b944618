// AttributeValue: a value of one of DynamoDB's ten types. Item: a map from attribute names to
// values.
//
// Values are copied, moved and compared as a whole. The types guarantee only their own invariants:
// sets have no duplicates, and the names in a map are unique. The limits that depend on the use of
// a value (size, depth, names, keys) are checked when an item is written. In every comparison, also
// of nested values, numbers are compared by value, and the order of the members of a set does not
// matter.
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

// The types, in the order of the alternatives of AttributeValue::Data. They are stored on disk by
// number.
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

// to_string() returns the name of the type in DynamoDB's JSON: S, N, B, BOOL, NULL, L, M, SS, NS or
// BS. The parser returns none if `text` is none of these names.
ROCKLOCK_API std::string_view to_string(AttributeType type);
ROCKLOCK_API std::optional<AttributeType> parse_attribute_type(std::string_view text);

// Arbitrary bytes, which JSON contains as base64. Compared as unsigned bytes.
struct Binary {
    std::string bytes;

    friend auto operator<=>(const Binary&, const Binary&) = default;
};

struct Null {
    friend bool operator==(Null, Null) = default;
};

// A set of values of one type. The members are in ascending order: strings and binary values by
// their bytes, numbers by value. Only remove() can make a set empty. An empty set must not be
// stored.
template <typename Member>
class AttributeSet {
public:
    // Errors, with DynamoDB's messages: invalid_argument if `members` is empty or contains a
    // duplicate.
    static Result<AttributeSet> make(std::vector<Member> members);

    const std::vector<Member>& members() const noexcept { return members_; }
    auto begin() const noexcept { return members_.begin(); }
    auto end() const noexcept { return members_.end(); }
    std::size_t size() const noexcept { return members_.size(); }
    bool empty() const noexcept { return members_.empty(); }

    bool contains(const Member& member) const noexcept;
    // insert() adds the members of `other`, as DynamoDB's ADD does. remove() removes the members of
    // `other`, as DynamoDB's DELETE does; the caller must check whether the set is then empty().
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

// A map from attribute names to values, in bytewise order of the names. All attributes are in one
// sorted array, and a lookup is a binary search. References to values are valid until the next
// change of the map.
class ROCKLOCK_API AttributeMap {
public:
    AttributeMap() noexcept;
    AttributeMap(const AttributeMap& other);
    AttributeMap(AttributeMap&& other) noexcept;
    AttributeMap& operator=(const AttributeMap& other);
    AttributeMap& operator=(AttributeMap&& other) noexcept;
    ~AttributeMap();
    // The attributes can be in any order. If a name occurs several times, its last value is used.
    explicit AttributeMap(std::vector<Attribute> attributes);
    AttributeMap(std::initializer_list<Attribute> attributes);

    // Iterate over the attributes (`const Attribute&`), in the order of their names.
    const Attribute* begin() const noexcept;
    const Attribute* end() const noexcept;
    std::size_t size() const noexcept;
    bool empty() const noexcept { return begin() == end(); }

    // Return the value with this name, or nullptr if there is none.
    const AttributeValue* find(std::string_view name) const noexcept;
    AttributeValue* find(std::string_view name) noexcept;
    bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

    // Adds the attribute, or replaces its value if the name exists. Returns a reference to the
    // value.
    AttributeValue& set(std::string_view name, AttributeValue value);
    // Removes the attribute. Returns whether it existed.
    bool erase(std::string_view name);
    void reserve(std::size_t count);

    ROCKLOCK_API friend bool operator==(const AttributeMap& left, const AttributeMap& right);

private:
    friend class AttributeMapAccess;

    std::vector<Attribute> attributes_;
};

// The attributes of one item, keys included.
using Item = AttributeMap;

class ROCKLOCK_API AttributeValue {
public:
    using Data = std::variant<std::string, Number, Binary, bool, Null, AttributeList, AttributeMap,
                              StringSet, NumberSet, BinarySet>;

    // A NULL value.
    AttributeValue() noexcept : data_(Null{}) {}
    AttributeValue(std::string text) noexcept : data_(std::move(text)) {}
    AttributeValue(std::string_view text) : data_(std::string(text)) {}
    AttributeValue(const char* text) : data_(std::string(text)) {}
    AttributeValue(const Number& number) noexcept : data_(number) {}
    AttributeValue(Binary binary) noexcept : data_(std::move(binary)) {}
    // Accepts only a bool, and no type that converts to bool, such as a pointer.
    template <std::same_as<bool> Boolean>
    AttributeValue(Boolean truth) noexcept : data_(truth) {}
    AttributeValue(Null null) noexcept : data_(null) {}
    // This constructor is explicit, because AttributeList{list} would otherwise be a list that
    // contains `list`.
    explicit AttributeValue(AttributeList list) noexcept : data_(std::move(list)) {}
    AttributeValue(AttributeMap map) noexcept : data_(std::move(map)) {}
    AttributeValue(StringSet set) noexcept : data_(std::move(set)) {}
    AttributeValue(NumberSet set) noexcept : data_(std::move(set)) {}
    AttributeValue(BinarySet set) noexcept : data_(std::move(set)) {}

    AttributeType type() const noexcept { return static_cast<AttributeType>(data_.index()); }

    // is() returns whether the value has the type T, which must be one of the alternatives of Data.
    // get_if() returns a pointer to the value, or nullptr if it has another type. For example:
    // `if (const auto* text = value.get_if<std::string>())`.
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
    // Replaces the value by a new T, constructed from `arguments`. Returns a reference to the new
    // T.
    template <typename T, typename... Arguments>
    T& emplace(Arguments&&... arguments) {
        return data_.template emplace<T>(std::forward<Arguments>(arguments)...);
    }

    // Values of different types are never equal.
    ROCKLOCK_API friend bool operator==(const AttributeValue& left, const AttributeValue& right);

private:
    Data data_;
};

struct Attribute {
    std::string name;
    AttributeValue value;

    friend bool operator==(const Attribute&, const Attribute&) = default;
};

// Defined here because they require the complete type Attribute.
inline AttributeMap::AttributeMap() noexcept = default;
inline AttributeMap::AttributeMap(const AttributeMap& other) = default;
inline AttributeMap::AttributeMap(AttributeMap&& other) noexcept = default;
inline AttributeMap& AttributeMap::operator=(const AttributeMap& other) = default;
inline AttributeMap& AttributeMap::operator=(AttributeMap&& other) noexcept = default;
inline AttributeMap::~AttributeMap() = default;
inline const Attribute* AttributeMap::begin() const noexcept { return attributes_.data(); }
inline const Attribute* AttributeMap::end() const noexcept { return begin() + attributes_.size(); }
inline std::size_t AttributeMap::size() const noexcept { return attributes_.size(); }

// Compares two values as conditions, key conditions and range keys do: two strings or two binary
// values by their bytes, two numbers by value. Returns none for all other pairs of types; the
// operators <, <=, >, >= and BETWEEN are then false.
ROCKLOCK_API std::optional<std::strong_ordering> compare(const AttributeValue& left,
                                                         const AttributeValue& right);

// Returns the size in bytes that counts towards DynamoDB's size limits and the consumed capacity.
// The size of an item includes the names of its attributes.
ROCKLOCK_API std::size_t size_bytes(const AttributeValue& value) noexcept;
ROCKLOCK_API std::size_t size_bytes(const Item& item) noexcept;

// Returns the number of nested levels: 1 for a scalar or a set; for a list or a map, 1 plus the
// depth of its deepest element.
ROCKLOCK_API std::size_t nesting_depth(const AttributeValue& value) noexcept;

}  // namespace rocklock
