#include "database/lock_items.hpp"

#include <chrono>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/time_format.hpp"
#include "wire/lock_members.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

// Writes the members of a value into an item. The functions describe() of wire/lock_members.hpp
// call it for each member.
class ItemMembers {
public:
    static constexpr bool reading = false;

    template <typename T>
    void required(std::string_view name, const T& value) {
        item_.set(name, shown(value));
    }
    template <typename T>
    void defaulted(std::string_view name, const T& value) {
        required(name, value);
    }
    template <typename T>
    void optional(std::string_view name, const T& value) {
        if (!says_nothing(value)) required(name, value);
    }

    template <typename T>
    static Item of(const T& value) {
        ItemMembers members;
        describe(members, value);
        return std::move(members.item_);
    }

private:
    static AttributeValue shown(const std::string& value) { return value; }
    static AttributeValue shown(const std::optional<std::string>& value) { return *value; }
    static AttributeValue shown(bool value) { return AttributeValue(value); }
    template <typename T>
    requires(std::integral<T> && !std::same_as<T, bool>) static AttributeValue shown(T value) {
        return Number(value);
    }
    static AttributeValue shown(Token value) { return Number(number(value)); }
    static AttributeValue shown(GrantId value) { return Number(number(value)); }
    static AttributeValue shown(std::chrono::milliseconds value) { return Number(value.count()); }
    static AttributeValue shown(WallTime value) { return format_time(value); }
    static AttributeValue shown(const SessionId& value) { return to_string(value); }
    static AttributeValue shown(const Metadata& value) {
        AttributeMap map;
        for (const auto& [name, text] : value) map.set(name, text);
        return map;
    }
    template <typename T>
    requires(std::is_enum_v<T>) static AttributeValue shown(T value) { return word(value); }
    static AttributeValue shown(const std::vector<std::string>& values) {
        AttributeList list;
        for (const std::string& value : values) list.emplace_back(value);
        return AttributeValue(std::move(list));
    }
    template <typename T>
    static AttributeValue shown(const std::vector<T>& values) {
        AttributeList list;
        for (const T& value : values) list.emplace_back(of(value));
        return AttributeValue(std::move(list));
    }

    Item item_;
};

}  // namespace

Item item_of(const Holder& holder) { return ItemMembers::of(holder); }
Item item_of(const SessionView& session) { return ItemMembers::of(session); }
Item item_of(const LockEvent& event) { return ItemMembers::of(event); }
Item item_of(const LockClass& lock_class) { return ItemMembers::of(lock_class); }

}  // namespace rocklock
