// Random attribute values of every type and size. Equal seeds return equal sequences of values.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock::testing {

class RandomValues {
public:
    explicit RandomValues(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t most) { return random_() % most; }

    // Returns up to 39 bytes. The alphabet is small, so that some values are equal or have a common
    // prefix.
    std::string bytes() {
        static constexpr char some[] = {'\x00', '\x01', 'a', 'b', '\x7F', '\x80', '\xFE', '\xFF'};
        std::string bytes(below(4) == 0 ? below(40) : below(4), '\0');
        for (char& byte : bytes) byte = some[below(sizeof some)];
        return bytes;
    }

    std::string text() {
        static constexpr const char* some[] = {"",
                                               "a",
                                               "b",
                                               "\"",
                                               "\n",
                                               "\xC3\xA9",
                                               "\xEF\xBF\xBD",
                                               "\xF0\x9F\x98\x80",
                                               "0123456789abcdef"};
        std::string text;
        for (auto words = below(4); words > 0; --words) text += some[below(std::size(some))];
        return text;
    }

    Number number() {
        for (;;) {
            std::string text = below(2) == 0 ? "-" : "";
            // Numbers of several nines, and numbers of a one followed by zeros, test carries
            // between digits.
            const auto kind = below(4);
            const auto size = below(3) == 0 ? 38 : below(4) + 1;
            for (std::uint64_t i = 0; i < size; ++i) {
                const auto digit = kind == 0 ? 9 : kind == 1 ? (i == 0 ? 1 : 0) : below(10);
                text += std::to_string(digit);
            }
            text += 'e';
            const auto exponent =
                below(3) == 0 ? static_cast<int>(below(293)) - 167 : static_cast<int>(below(5)) - 2;
            const auto made = Number::parse(text + std::to_string(exponent));
            if (made) return *made;
        }
    }

    // Returns a value of any type with at most `levels` levels of nesting.
    AttributeValue value(std::size_t levels = 5) {
        switch (below(levels > 1 ? 10 : 8)) {
            case 0:
                return text();
            case 1:
                return number();
            case 2:
                return Binary{bytes()};
            case 3:
                return below(2) == 0;
            case 4:
                return Null{};
            case 5:
                return set<std::string>([&] { return text(); });
            case 6:
                return set<Number>([&] { return number(); });
            case 7:
                return set<Binary>([&] { return Binary{bytes()}; });
            case 8:
                return list(levels - 1);
            default:
                return map(levels - 1);
        }
    }

    // Returns a value of `type` for a key attribute. It is valid except for its length, which is
    // not checked and can be zero.
    AttributeValue key(AttributeType type) {
        if (type == AttributeType::number) return number();
        if (type == AttributeType::string) return bytes();
        return Binary{bytes()};
    }

    AttributeMap map(std::size_t levels = 5) {
        AttributeMap map;
        for (auto count = size(); count > 0; --count) map.set("n" + text(), value(levels));
        return map;
    }

private:
    // Returns a random number of elements, which is at most 3 in about nine of ten cases.
    std::uint64_t size() { return below(10) == 0 ? below(20) : below(4); }

    AttributeValue list(std::size_t levels) {
        AttributeList list;
        for (auto count = size(); count > 0; --count) list.push_back(value(levels));
        return AttributeValue(std::move(list));
    }

    template <typename Member, typename Make>
    AttributeSet<Member> set(const Make& make) {
        auto set = AttributeSet<Member>::make({make()}).value();
        for (auto count = size(); count > 0; --count) {
            set.insert(AttributeSet<Member>::make({make()}).value());
        }
        return set;
    }

    std::mt19937_64 random_;
};

}  // namespace rocklock::testing
