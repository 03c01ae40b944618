#include "item/key_codec.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "item/literal.hpp"
#include "item/random_values.hpp"

namespace rocklock::testing {
namespace {

constexpr std::array key_types = {AttributeType::string, AttributeType::number,
                                  AttributeType::binary};

std::string key(const AttributeValue& value) {
    std::string bytes;
    append_key_value(bytes, value);
    return bytes;
}

std::string partition(const AttributeValue& value) {
    std::string bytes;
    append_partition(bytes, value);
    return bytes;
}

AttributeValue number(std::string_view text) { return Number::parse(text).value(); }

std::uint32_t hash_of(const std::string& bytes) {
    std::uint32_t hash = 0;
    for (int i = 0; i < 4; ++i) hash = hash << 8 | static_cast<std::uint8_t>(bytes[i]);
    return hash;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_key_of_an_item)

BOOST_AUTO_TEST_CASE(is_in_the_order_of_its_value) {
    RandomValues random(1);
    for (const auto type : key_types) {
        for (int i = 0; i < 20'000; ++i) {
            const auto left = random.key(type);
            const auto right = random.key(type);
            const auto order = compare(left, right);
            BOOST_REQUIRE(order.has_value());
            BOOST_TEST((key(left) <=> key(right) == *order));
        }
    }
}

BOOST_AUTO_TEST_CASE(is_in_the_order_of_neighbouring_numbers) {
    std::vector<AttributeValue> numbers = {Number()};
    for (int exponent = -130; exponent <= 88; ++exponent) {
        for (const std::string digits :
             {"1", "10000000000000000000000000000000000001", "2", "9", "99", "991", "1001",
              "99999999999999999999999999999999999999"}) {
            for (const char* sign : {"", "-"}) {
                numbers.push_back(number(sign + digits + "e" + std::to_string(exponent)));
            }
        }
    }
    std::sort(numbers.begin(), numbers.end(), [](const auto& left, const auto& right) {
        return *left.template get_if<Number>() < *right.template get_if<Number>();
    });
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        const bool same = numbers[i - 1] == numbers[i];
        BOOST_TEST((key(numbers[i - 1]) < key(numbers[i])) == !same);
        BOOST_TEST((key(numbers[i - 1]) == key(numbers[i])) == same);
    }
}

BOOST_AUTO_TEST_CASE(is_decoded_to_the_same_value_and_leaves_the_rest) {
    RandomValues random(2);
    for (const auto type : key_types) {
        for (int i = 0; i < 5'000; ++i) {
            const auto value = random.key(type);
            const auto suffix = random.bytes();
            const auto bytes = partition(value) + key(value) + suffix;
            std::string_view rest = bytes;
            BOOST_TEST((take_partition(rest) == value));
            BOOST_TEST((take_key_value(rest) == value));
            BOOST_TEST(rest == suffix);
        }
    }
}

// Therefore, a scan of a partition's prefix returns the items of that partition only, and keys of
// several parts differ if any of their parts do (E6).
BOOST_AUTO_TEST_CASE(is_never_the_beginning_of_another) {
    RandomValues random(3);
    for (int i = 0; i < 60'000; ++i) {
        const auto left = random.key(key_types[random.below(3)]);
        const auto right = random.key(key_types[random.below(3)]);
        if (left == right) continue;
        BOOST_TEST(!key(right).starts_with(key(left)));
        BOOST_TEST(!partition(right).starts_with(partition(left)));
    }
}

BOOST_AUTO_TEST_CASE(is_ordered_by_the_range_key_within_its_partition) {
    RandomValues random(4);
    for (int i = 0; i < 5'000; ++i) {
        const auto prefix = partition(random.key(AttributeType::string));
        const auto range = random.key(AttributeType::number);
        const auto full = prefix + key(range) + random.bytes();
        BOOST_TEST((prefix <= full && full < end_of_prefix(prefix)));
        // Bytes after the encoded value do not affect the order.
        const auto other = random.key(AttributeType::number);
        if (*compare(range, other) < 0) BOOST_TEST((full < prefix + key(other)));
    }
}

// A `begins_with` condition on a sort key is a comparison of encoded prefixes.
BOOST_AUTO_TEST_CASE(has_the_prefix_of_its_value) {
    RandomValues random(5);
    for (const auto type : {AttributeType::string, AttributeType::binary}) {
        for (int i = 0; i < 10'000; ++i) {
            const auto value = random.key(type);
            const auto wanted = random.key(type);
            std::string prefix;
            append_key_prefix(prefix, wanted);
            const auto text = [](const AttributeValue& of) {
                const auto* string = of.get_if<std::string>();
                return string != nullptr ? *string : of.get_if<Binary>()->bytes;
            };
            BOOST_TEST(key(value).starts_with(prefix) == text(value).starts_with(text(wanted)));
        }
    }
}

BOOST_AUTO_TEST_CASE(decoded_from_random_bytes_is_invalid_or_encodes_to_them) {
    RandomValues random(6);
    for (int i = 0; i < 100'000; ++i) {
        std::string bytes(random.below(30), '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random.below(random.below(2) == 0 ? 256 : 3));
        if (!bytes.empty()) bytes[0] = static_cast<char>(random.below(7));
        std::string_view rest = bytes;
        const auto value = take_key_value(rest);
        const auto taken = bytes.substr(0, bytes.size() - rest.size());
        BOOST_TEST((value ? key(*value) == taken : taken.empty()));
        rest = bytes;
        BOOST_TEST(!take_partition(rest));
    }
}

BOOST_AUTO_TEST_CASE(with_a_changed_byte_is_invalid_or_a_different_key) {
    RandomValues random(7);
    for (int i = 0; i < 50'000; ++i) {
        auto bytes = key(random.number());
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        std::string_view rest = bytes;
        if (const auto value = take_key_value(rest)) {
            BOOST_TEST((key(*value) == bytes.substr(0, bytes.size() - rest.size())));
        }
    }
}

// The bytes are those of docs/storage_format.md, "Keys of items".
BOOST_AUTO_TEST_CASE(has_the_bytes_that_are_documented) {
    BOOST_TEST((key("a") == literal("\x04"
                                    "a\x00\x01")));
    BOOST_TEST((key(std::string("a\0b", 3)) == literal("\x04"
                                                       "a\x00\xFF"
                                                       "b\x00\x01")));
    BOOST_TEST((key(Binary{""}) == literal("\x05\x00\x01")));
    BOOST_TEST((key(Number()) == literal("\x02")));
    BOOST_TEST((key(Number(1)) == literal("\x03\x41\x02")));
    BOOST_TEST((key(Number(-1)) == literal("\x01\xBE\xFD")));
    BOOST_TEST((key(number("12345.6")) == literal("\x03\x43\x03\x2F\x5B\x78")));
    BOOST_TEST((key(number("1e-130")) == literal("\x03\x00\x02")));
    BOOST_TEST((key(number("1e125")) == literal("\x03\x7F\x14")));
}

// The hash is part of stored keys: if it changed, items of existing stores would not be found.
BOOST_AUTO_TEST_CASE(has_the_hash_that_is_documented) {
    BOOST_TEST(hash_of(partition("a")) == 0x5E627872);
    BOOST_TEST(hash_of(partition(Number(1))) == 0xCC7F7100);
    BOOST_TEST(hash_of(partition("a longer name of an item")) == 0x4F8A77EF);
}

BOOST_AUTO_TEST_CASE(has_a_hash_that_spreads_partitions_evenly) {
    constexpr std::size_t count = 100'000;
    constexpr std::size_t parts = 100;
    for (const char* kind : {"numbers", "names"}) {
        std::array<int, parts> found{};
        for (std::size_t i = 0; i < count; ++i) {
            const bool names = std::string(kind) == "names";
            const auto bytes =
                names ? partition("order#" + std::to_string(i)) : partition(Number(i));
            ++found[std::uint64_t{hash_of(bytes)} * parts >> 32];
        }
        double error = 0;
        constexpr double expected = static_cast<double>(count) / parts;
        for (const int each : found) error += (each - expected) * (each - expected) / expected;
        // Chi-squared with 99 degrees of freedom: a uniform distribution exceeds 180 in about one
        // of a million cases.
        BOOST_TEST(error < 180, kind << " " << error);
    }
}

BOOST_AUTO_TEST_CASE(is_in_exactly_one_segment) {
    for (const std::uint32_t segments : {1U, 2U, 3U, 7U, 1'000U, 4'096U, 999'999U, 1'000'000U}) {
        std::uint64_t next = 0;
        std::uint32_t segment = 0;
        for (; segment < segments; ++segment) {
            const auto hashes = hashes_of_segment(segment, segments);
            // Boost.Test is not called for each segment, because there are millions of them.
            if (hashes.first != next || hashes.last < hashes.first) break;
            next = std::uint64_t{hashes.last} + 1;
        }
        BOOST_TEST(segment == segments);
        BOOST_TEST(next == std::uint64_t{1} << 32);
    }
}

BOOST_AUTO_TEST_CASE(begins_with_its_hash) {
    const auto bytes = partition("a");
    BOOST_TEST(bytes.starts_with(hash_prefix(hash_of(bytes))));
    BOOST_TEST((hash_prefix(0x01020304) == "\x01\x02\x03\x04"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_end_of_a_prefix)

BOOST_AUTO_TEST_CASE(is_the_first_key_without_the_prefix) {
    BOOST_TEST(end_of_prefix("a") == "b");
    BOOST_TEST(end_of_prefix("a\xFF\xFF") == "b");
    BOOST_TEST(end_of_prefix("a\x7F") == "a\x80");
    BOOST_TEST(end_of_prefix("\xFF").empty());
    BOOST_TEST(end_of_prefix("").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
