// Fills calls and replies with random values. It uses the same descriptions of the members as the
// codecs, so a new member is tested automatically.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "wire/frame_tag.hpp"
#include "wire/lock_members.hpp"
#include "wire/lock_words.hpp"

namespace rocklock::testing {

// Calls `run` with an empty value of each type of the variant.
template <typename Variant, typename Do, std::size_t... index>
void for_each_type(Do&& run, std::index_sequence<index...> /*all*/) {
    (run(std::variant_alternative_t<index, Variant>{}), ...);
}
template <typename Variant, typename Do>
void for_each_type(Do&& run) {
    for_each_type<Variant>(run, std::make_index_sequence<std::variant_size_v<Variant>>());
}

class RandomMembers {
public:
    static constexpr bool reading = true;

    RandomMembers(std::mt19937_64& random, bool full) : random_(random), full_(full) {}

    template <typename T>
    void required(FrameTag tag, T& value) {
        note(tag);
        fill(value);
    }
    template <typename T>
    void optional(FrameTag tag, T& value) {
        note(tag);
        if (full_ || some(2) == 0) fill(value);
    }
    template <typename T>
    void defaulted(FrameTag tag, T& value) {
        optional(tag, value);
    }
    void patience(FrameTag tag, std::chrono::milliseconds& value) {
        note(tag);
        value = some(3) == 0 ? no_limit : std::chrono::milliseconds(some(1U << 30));
    }
    template <typename T>
    void flat_optional(FrameTag /*tag*/, std::optional<T>& value) {
        T flat{};
        describe(*this, flat);
        if (full_ || some(2) == 0) value = std::move(flat);
    }
    static bool has(FrameTag tag) { return tag.name == "Principal" || tag.name == "Secret"; }
    static void refuse(std::string_view /*what*/) {}

    // Returns a text that names two members of one object with the same number in frames, or
    // nullopt if there are no such members.
    const std::optional<std::string>& duplicate() const { return duplicate_; }

    std::uint64_t some(std::uint64_t most) { return random_() % most; }

private:
    void note(FrameTag tag) {
        if (!numbers_.insert(tag.number).second) duplicate_ = std::string(tag.name);
    }

    void fill(bool& value) { value = full_ || some(2) == 0; }
    template <typename T>
    requires std::is_integral_v<T>
    void fill(T& value) {
        value = static_cast<T>(some(2) == 0 ? 1 + some(100) : 1 + (random_() >> 33));
    }
    void fill(std::uint64_t& value) { value = 1 + (random_() >> 12); }
    void fill(double& value) { value = static_cast<double>(1 + some(1U << 20)) / 4; }
    void fill(AttributeValue& value) {
        if (some(2) == 0) {
            value = AttributeValue(Number(static_cast<std::int64_t>(random_() >> 20)));
            return;
        }
        std::string text;
        fill(text);
        value = AttributeValue(std::move(text));
    }
    void fill(AttributeMap& value) {
        value = {};
        for (auto count = 1 + some(3); count > 0; --count) {
            std::string name;
            AttributeValue member;
            fill(name);
            fill(member);
            value.set(name, std::move(member));
        }
    }
    void fill(Token& value) { value = Token{1 + (random_() >> 12)}; }
    void fill(GrantId& value) { value = GrantId{1 + (random_() >> 12)}; }
    void fill(DraftId& value) { value = DraftId{1 + (random_() >> 12)}; }
    // The name of the table is sent as a separate member, next to the action.
    void fill(WriteItem& value) {
        value.kind = static_cast<WriteItem::Kind>(some(3));
        value.table = "orders";
        value.item = AttributeMap{{"id", "1"}};
        std::string text;
        fill(text);
        value.item.set("text", text);
        if (value.kind != WriteItem::Kind::update) return;
        value.expressions.update = "SET #t = :t";
        value.expressions.placeholders.names.emplace().push_back({"#t", text});
        value.expressions.placeholders.values.emplace().push_back({":t", text});
    }
    template <typename T>
    requires std::is_enum_v<T>
    void fill(T& value) {
        const auto words = words_of(T{});
        value = words[some(words.size())].first;
    }
    void fill(std::chrono::milliseconds& value) {
        value = std::chrono::milliseconds(1 + some(1ULL << 40));
    }
    void fill(std::chrono::nanoseconds& value) {
        value = std::chrono::nanoseconds(some(1ULL << 58));
    }
    // A reader would ignore a histogram with other bounds, like one of another version.
    void fill(Histogram& value) {
        RandomMembers noted(random_, full_);
        describe(noted, value);
        if (noted.duplicate_) duplicate_ = noted.duplicate_;
        std::array<std::uint64_t, std::tuple_size_v<Histogram::Bounds> + 1> counts{};
        for (auto& count : counts) fill(count);
        value.set(counts, std::chrono::nanoseconds(some(1ULL << 58)));
    }
    void fill(BootTime& value) { value = BootTime{std::chrono::nanoseconds(1 + some(1ULL << 58))}; }
    void fill(WallTime& value) {
        value = WallTime{std::chrono::milliseconds(1 + some(1ULL << 40))};
    }
    void fill(std::string& value) {
        static constexpr std::string_view pieces[] = {"a", "/", "\"", "\n", "\0x", "\xc3\xa4", "z"};
        value.clear();
        const auto length = 1 + (some(20) == 0 ? some(400) : some(12));
        for (std::uint64_t i = 0; i < length; ++i) value += pieces[some(std::size(pieces))];
    }
    void fill(SessionId& value) {
        for (auto& byte : value.bytes) byte = static_cast<std::uint8_t>(some(256));
    }
    void fill(Secret& value) {
        for (auto& byte : value.bytes) byte = static_cast<std::uint8_t>(some(256));
    }
    void fill(Metadata& value) {
        value.clear();
        for (auto count = 1 + some(3); count > 0; --count) {
            std::string name;
            std::string text;
            fill(name);
            fill(text);
            value[name] = text;
        }
    }
    template <typename T>
    void fill(std::optional<T>& value) {
        T there{};
        fill(there);
        value = std::move(there);
    }
    template <typename T>
    void fill(std::vector<T>& value) {
        value.clear();
        for (auto count = 1 + some(4); count > 0; --count) fill(value.emplace_back());
    }
    template <typename T>
    requires std::is_class_v<T>
    void fill(T& value) {
        RandomMembers inner(random_, full_);
        describe(inner, value);
        if (inner.duplicate_) duplicate_ = inner.duplicate_;
    }

    std::mt19937_64& random_;
    const bool full_;
    std::set<std::uint16_t> numbers_;
    std::optional<std::string> duplicate_;
};

}  // namespace rocklock::testing
