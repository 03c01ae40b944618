// The encoding of a class. It is unchanged since the first version, except for the policies and the
// optional members that were added later.
#include <string>

#include <boost/test/unit_test.hpp>

#include "lock/records/records.hpp"

using namespace rocklock;
using namespace std::chrono_literals;

namespace {

// Returns a record of the first version: pattern "a", policy read_write, `steal` as given, a lease
// of 1 s, no other duration, a queue limit of 5, no permits, and a dependant "b" in `read`.
std::string written_before(char steal) {
    const std::string head(
        "\0\0\0\0\0\0\0\x09\x01"
        "a\x02",
        11);
    const std::string tail(
        "\xe8\x07\0\0\0\0\x05\0\x01\x01"
        "b\0",
        12);
    return head + steal + tail;
}

LockClass read_before(StealPolicy steal) {
    LockClass expected;
    expected.pattern = "a";
    expected.policy = Policy::read_write;
    expected.steal = steal;
    expected.lease = 1s;
    expected.queue_limit = 5;
    expected.dependants = {{"b", Mode::read}};
    return expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_record_of_a_class)

BOOST_AUTO_TEST_CASE(of_the_first_version_is_read_and_written_unchanged) {
    for (const StealPolicy steal : {StealPolicy::never, StealPolicy::anyone}) {
        const auto bytes = written_before(static_cast<char>(steal));
        const auto read = records::decode_class(bytes);
        BOOST_REQUIRE(read.has_value());
        BOOST_TEST((*read == read_before(steal)));
        BOOST_TEST(records::encode(*read, 9) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(has_a_duration_if_its_policy_needs_one) {
    for (const StealPolicy steal : {StealPolicy::idle, StealPolicy::ask}) {
        const auto shorter = written_before(static_cast<char>(steal));
        BOOST_TEST(!records::decode_class(shorter).has_value());
        LockClass expected = read_before(steal);
        expected.steal_after = 2s;
        const auto bytes = records::encode(expected, 9);
        BOOST_TEST(bytes == shorter + "\xd0\x0f");
        BOOST_REQUIRE(records::decode_class(bytes).has_value());
        BOOST_TEST((records::decode_class(bytes) == expected));
    }
}

BOOST_AUTO_TEST_CASE(stores_whether_drafts_are_kept_in_its_last_byte) {
    const auto without = written_before(0);
    LockClass expected = read_before(StealPolicy::never);
    expected.drafts = true;
    const auto bytes = records::encode(expected, 9);
    BOOST_TEST(bytes == without + "\x01");
    BOOST_REQUIRE(records::decode_class(bytes).has_value());
    BOOST_TEST((records::decode_class(bytes) == expected));
    BOOST_TEST(!records::decode_class(without + "\x0f").has_value());
    BOOST_TEST(!records::decode_class(bytes + "\x01").has_value());
    expected.steal = StealPolicy::ask;
    expected.steal_after = 2s;
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
}

BOOST_AUTO_TEST_CASE(stores_optional_members_in_the_order_of_their_tags) {
    const auto without = written_before(0);
    LockClass expected = read_before(StealPolicy::never);
    expected.draining = "upkeep";
    BOOST_TEST(records::encode(expected, 9) == without + "\x04\x06upkeep");
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
    expected.draining = "";
    expected.drafts = true;
    BOOST_TEST(records::encode(expected, 9) == without + std::string("\x01\x04\0", 3));
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
    BOOST_TEST(!records::decode_class(without + std::string("\x04\0\x01", 3)).has_value());
    BOOST_TEST(!records::decode_class(without + "\x04\x06upkee").has_value());
    expected.no_expiry = true;
    BOOST_TEST(records::encode(expected, 9) == without + std::string("\x01\x03\x04\0", 4));
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
}

BOOST_AUTO_TEST_CASE(stores_the_rights_of_users_and_groups) {
    LockClass expected = read_before(StealPolicy::anyone);
    expected.break_by = {"group:ops", "user:a"};
    const auto bytes = records::encode(expected, 9);
    BOOST_TEST(bytes == written_before(1) + std::string("\x05\0\x02\x09group:ops\x06user:a\0", 21));
    BOOST_TEST((records::decode_class(bytes) == expected));
    expected.steal_by = {"group:one"};
    expected.bind_by = {"group:two"};
    expected.drafts = true;
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
    BOOST_TEST(!records::decode_class(bytes.substr(0, bytes.size() - 1)).has_value());
}

BOOST_AUTO_TEST_CASE(stores_the_highest_priority_after_drafts) {
    const auto without = written_before(0);
    LockClass expected = read_before(StealPolicy::never);
    expected.max_priority = 100;
    BOOST_TEST(records::encode(expected, 9) == without + "\x02\x64");
    expected.drafts = true;
    const auto bytes = records::encode(expected, 9);
    BOOST_TEST(bytes == without + "\x01\x02\x64");
    BOOST_REQUIRE(records::decode_class(bytes).has_value());
    BOOST_TEST((records::decode_class(bytes) == expected));
    for (const char* wrong : {"\x02\x64\x01", "\x02\x64\x02\x64", "\x02", "\x7f", "\x01\x01"})
        BOOST_TEST(!records::decode_class(without + wrong).has_value());
}

BOOST_AUTO_TEST_CASE(with_an_unknown_policy_is_invalid) {
    BOOST_TEST(!records::decode_class(written_before(4)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
