// The text forms of the public enumerations and identifiers.
#include <set>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/error.hpp>
#include <rocklock/types.hpp>

#include "base/base64url.hpp"
#include "base/hmac.hpp"
#include "base/random.hpp"

namespace rocklock {
namespace {

std::string encode(std::string_view bytes) {
    return base64url_encode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const auto byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 0xF];
    }
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base64url)

// RFC 4648, section 10, without the padding.
BOOST_AUTO_TEST_CASE(agrees_with_its_standard) {
    BOOST_TEST(encode("") == "");
    BOOST_TEST(encode("f") == "Zg");
    BOOST_TEST(encode("fo") == "Zm8");
    BOOST_TEST(encode("foo") == "Zm9v");
    BOOST_TEST(encode("foob") == "Zm9vYg");
    BOOST_TEST(encode("foobar") == "Zm9vYmFy");
    BOOST_TEST(encode("\xfb\xff\xfe") == "-__-");
}

BOOST_AUTO_TEST_CASE(decodes_every_length_that_it_encoded) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
        std::vector<std::uint8_t> decoded(bytes.size());
        BOOST_TEST(base64url_decode(encode(bytes), decoded));
        BOOST_TEST((std::string(decoded.begin(), decoded.end()) == bytes));
        bytes.push_back(static_cast<char>(i * 37));
    }
}

BOOST_AUTO_TEST_CASE(is_strict) {
    for (const char* wrong : {"Z", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm v", "Zm9vY"}) {
        for (std::size_t size = 0; size < 6; ++size) {
            std::vector<std::uint8_t> decoded(size);
            BOOST_TEST(!base64url_decode(wrong, decoded));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_word)

BOOST_AUTO_TEST_CASE(is_parsed_as_it_is_written) {
    for (const Mode mode : {Mode::read, Mode::write, Mode::exclusive}) {
        BOOST_TEST((parse_mode(to_string(mode)) == mode));
    }
    for (const Intent intent : {Intent::read, Intent::edit}) {
        BOOST_TEST((parse_intent(to_string(intent)) == intent));
    }
    BOOST_TEST(!parse_mode("Read"));
    BOOST_TEST(!parse_mode(""));
    BOOST_TEST(!parse_intent("write"));
}

BOOST_AUTO_TEST_CASE(of_an_error_is_unique) {
    std::set<std::string_view> names;
    const int last = static_cast<int>(ErrorCode::corrupt);
    for (int code = 0; code <= last; ++code) names.insert(to_string(static_cast<ErrorCode>(code)));
    BOOST_TEST(names.size() == static_cast<std::size_t>(last) + 1);
    BOOST_TEST(to_string(ErrorCode::store_in_use) == "store_in_use");
}

BOOST_AUTO_TEST_CASE(of_an_identity_has_exactly_one_encoding) {
    SessionId session{random_bytes<16>()};
    Secret secret{random_bytes<32>()};
    BOOST_TEST(to_string(session).size() == 22U);
    BOOST_TEST(to_string(secret).size() == 43U);
    BOOST_TEST((parse_session_id(to_string(session)) == session));
    BOOST_TEST((parse_secret(to_string(secret)) == secret));
    BOOST_TEST(!parse_session_id(to_string(secret)).has_value());
    BOOST_TEST(!parse_session_id(to_string(session) + "A").has_value());
    BOOST_TEST(!parse_secret("").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(hmac_sha256_of_a_message)

// RFC 4231, test cases 1, 2 and 6.
BOOST_AUTO_TEST_CASE(agrees_with_its_standard) {
    BOOST_TEST(hexadecimal(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    BOOST_TEST(hexadecimal(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    BOOST_TEST(hexadecimal(hmac_sha256(std::string(131, '\xaa'),
                                       "Test Using Larger Than Block-Size Key - Hash Key First")) ==
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

BOOST_AUTO_TEST_CASE(is_compared_in_constant_time) {
    BOOST_TEST(equal_in_constant_time("abc", "abc"));
    BOOST_TEST(!equal_in_constant_time("abc", "abd"));
    BOOST_TEST(!equal_in_constant_time("abc", "ab"));
    BOOST_TEST(equal_in_constant_time("", ""));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
