// The first bytes between a relay and a manager.
#include "daemon/peer/preface.hpp"

#include <random>
#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

std::string_view head_of(const std::string& bytes) {
    return std::string_view(bytes).substr(0, preface_head_size);
}
std::string_view rest_of(const std::string& bytes) {
    return std::string_view(bytes).substr(preface_head_size);
}

const Preface preface{"web1", "0f3c9a52-6f5b-4c0c-9d7e-1f2a3b4c5d6e", "0.1.0"};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_preface)

BOOST_AUTO_TEST_CASE(is_read_as_it_was_written) {
    const auto bytes = encode(preface);
    BOOST_TEST(preface_rest_size(head_of(bytes)).value() == rest_of(bytes).size());
    BOOST_TEST((decode_preface(head_of(bytes), rest_of(bytes)).value() == preface));
    for (const bool accepted : {true, false}) {
        const PrefaceAnswer answer{accepted, "0.1.0", accepted ? "" : "unknown node"};
        const auto text = encode(answer);
        BOOST_TEST(answer_rest_size(head_of(text)).value() == rest_of(text).size());
        BOOST_TEST((decode_answer(head_of(text), rest_of(text)).value() == answer));
    }
}

BOOST_AUTO_TEST_CASE(whose_answer_is_too_long_or_not_text_is_refused) {
    PrefaceAnswer answer{false, "0.1.0", std::string(1'000, 'x')};
    auto bytes = encode(answer);
    BOOST_TEST(decode_answer(head_of(bytes), rest_of(bytes)).has_value());
    // A reason of 1,001 bytes: its size is a varint of two bytes, 0xE8 0x07 for 1,000.
    bytes.replace(bytes.find("\xE8\x07"), 2, "\xE9\x07");
    bytes += 'x';
    BOOST_TEST(!decode_answer(head_of(bytes), rest_of(bytes)).has_value());
    answer.reason = "\xFF";
    bytes = encode(answer);
    BOOST_TEST(!decode_answer(head_of(bytes), rest_of(bytes)).has_value());
}

// A later version may append members.
BOOST_AUTO_TEST_CASE(may_be_followed_by_other_members) {
    auto bytes = encode(preface);
    bytes += "more";
    BOOST_TEST((decode_preface(head_of(bytes), rest_of(bytes)).value() == preface));
}

BOOST_AUTO_TEST_CASE(of_another_version_is_refused_with_advice) {
    auto bytes = encode(preface);
    bytes[4] = 2;
    const auto refused = preface_rest_size(head_of(bytes));
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().message.find("uses version 2 of the protocol between daemons") !=
               std::string::npos);
    BOOST_TEST(!preface_rest_size("GET / HT").has_value());
    // An answer is not a preface.
    BOOST_TEST(!preface_rest_size(head_of(encode(PrefaceAnswer{}))).has_value());
}

BOOST_AUTO_TEST_CASE(that_is_incomplete_is_refused) {
    const auto bytes = encode(preface);
    for (std::size_t size = 0; size < rest_of(bytes).size(); ++size) {
        BOOST_TEST(!decode_preface(head_of(bytes), rest_of(bytes).substr(0, size)).has_value());
    }
}

// Every sequence of bytes is either read or refused.
BOOST_AUTO_TEST_CASE(with_random_changes_is_read_or_refused) {
    std::mt19937 random(20261126);
    std::size_t read = 0;
    for (int round = 0; round < 20'000; ++round) {
        auto bytes = round % 2 == 0 ? encode(preface) : encode(PrefaceAnswer{false, "1", "no"});
        for (unsigned changes = random() % 4; changes > 0; --changes) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        if (random() % 4 == 0) bytes.resize(preface_head_size + random() % (bytes.size() - 7));
        if (preface_rest_size(head_of(bytes)).has_value()) {
            read += decode_preface(head_of(bytes), rest_of(bytes)).has_value() ? 1U : 0U;
        }
        if (answer_rest_size(head_of(bytes)).has_value()) {
            read += decode_answer(head_of(bytes), rest_of(bytes)).has_value() ? 1U : 0U;
        }
    }
    BOOST_TEST(read > 1'000U);
    BOOST_TEST(read < 20'000U);
}

BOOST_AUTO_TEST_SUITE_END()
