#include "base/base64.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace rocklock {

BOOST_AUTO_TEST_SUITE(base64)

// RFC 4648, section 10.
BOOST_AUTO_TEST_CASE(agrees_with_its_standard) {
    BOOST_TEST(base64_encode("") == "");
    BOOST_TEST(base64_encode("f") == "Zg==");
    BOOST_TEST(base64_encode("fo") == "Zm8=");
    BOOST_TEST(base64_encode("foo") == "Zm9v");
    BOOST_TEST(base64_encode("foob") == "Zm9vYg==");
    BOOST_TEST(base64_encode("fooba") == "Zm9vYmE=");
    BOOST_TEST(base64_encode("foobar") == "Zm9vYmFy");
    BOOST_TEST(base64_encode("\xfb\xff\xfe") == "+//+");
}

BOOST_AUTO_TEST_CASE(decodes_what_it_encoded_at_every_length) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        BOOST_TEST((base64_decode(base64_encode(bytes)) == bytes));
        bytes.push_back(static_cast<char>(i * 37));
    }
    std::string text = "before";
    append_base64(text, "foob");
    BOOST_TEST(text == "beforeZm9vYg==");
}

BOOST_AUTO_TEST_CASE(rejects_text_that_the_encoder_cannot_produce) {
    for (const std::string text :
         {"$$$",    "abc",   "a",        "=",     "==",   "====",      "Zg=",   "Zg",
          "Zm8",    "Zg===", "Zg==Zg==", "Zm9v=", "Z===", "Zg =",      "Zm9\n", "-_-_",
          "Zm9v\n", " Zm9v", "Zh==",     "Zm9=",  "Zm=v", "\xC3\xA9=="}) {
        BOOST_TEST(!base64_decode(text), text);
    }
    BOOST_TEST((base64_decode("") == ""));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
