#include "service/gzip.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

// "hello hello hello hello\n", compressed with gzip.
constexpr unsigned char packed_bytes[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9,
    0x57, 0xc8, 0x40, 0x27, 0xb9, 0x00, 0x00, 0x88, 0x59, 0x0b, 0x18, 0x00, 0x00, 0x00};

std::string_view packed() {
    return {reinterpret_cast<const char*>(packed_bytes), sizeof packed_bytes};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_compressed_body)

BOOST_AUTO_TEST_CASE(is_unpacked) {
    const auto unpacked = unpack_gzip(packed(), 100);
    BOOST_TEST_REQUIRE(unpacked.has_value());
    BOOST_TEST(!unpacked->too_long);
    BOOST_TEST(unpacked->bytes.starts_with("hello hello"));
}

BOOST_AUTO_TEST_CASE(has_a_maximum_unpacked_size) {
    const auto size = unpack_gzip(packed(), 100)->bytes.size();
    BOOST_TEST(!unpack_gzip(packed(), size)->too_long);
    BOOST_TEST(unpack_gzip(packed(), size - 1)->too_long);
}

BOOST_AUTO_TEST_CASE(that_is_damaged_or_truncated_is_refused) {
    for (std::size_t size = 0; size < packed().size(); ++size) {
        BOOST_TEST(!unpack_gzip(packed().substr(0, size), 100).has_value(), size);
    }
    std::string damaged(packed());
    damaged[12] = static_cast<char>(damaged[12] ^ 1);
    BOOST_TEST(!unpack_gzip(damaged, 100).has_value());
    BOOST_TEST(!unpack_gzip("{}", 100).has_value());
}

BOOST_AUTO_TEST_CASE(has_the_checksum_of_the_service) {
    BOOST_TEST(crc32_of("123456789") == 0xCBF43926U);
    BOOST_TEST(crc32_of("") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
