// Tests a RingWriter and a RingReader with random sizes, and with invalid positions.
#include "shared_memory/byte_ring.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

struct Ring {
    RingPositions positions{};
    std::array<char, 256> space{};
    RingWriter writer{positions, space};
    RingReader reader{positions, space};

    std::string read(std::size_t size) {
        std::string bytes(size, '\0');
        const auto count = reader.read(bytes);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return bytes;
    }
};

BOOST_AUTO_TEST_SUITE(byte_ring)

BOOST_AUTO_TEST_CASE(an_empty_ring_has_nothing_to_read) {
    Ring ring;
    std::array<char, 4> buffer;
    BOOST_TEST(ring.reader.read(buffer) == -1);
    BOOST_TEST(errno == EAGAIN);
    BOOST_TEST(!ring.reader.has_bytes());
    BOOST_TEST(ring.writer.unread() == 0);
    BOOST_TEST(!ring.writer.was_read());
}

BOOST_AUTO_TEST_CASE(a_full_ring_accepts_nothing) {
    Ring ring;
    BOOST_TEST(ring.writer.write(std::string(300, 'a')) == 256);
    BOOST_TEST(ring.writer.write("b") == -1);
    BOOST_TEST(errno == EAGAIN);
    BOOST_TEST(ring.writer.unread() == 256);
    BOOST_TEST(ring.read(1) == "a");
    BOOST_TEST(ring.writer.was_read());
    BOOST_TEST(ring.writer.write("bc") == 1);
    BOOST_TEST(ring.read(300) == std::string(255, 'a') + "b");
}

BOOST_AUTO_TEST_CASE(short_messages_always_begin_at_the_same_place) {
    Ring ring;
    for (int i = 0; i < 1000; ++i) {
        BOOST_TEST(ring.writer.write("0123456789") == 10);
        BOOST_TEST(std::string(ring.space.data(), 10) == "0123456789");
        BOOST_TEST(ring.read(10) == "0123456789");
        ring.space.fill('x');
    }
}

BOOST_AUTO_TEST_CASE(bytes_arrive_in_order_whatever_the_sizes_are) {
    std::mt19937 random(7);
    Ring ring;
    std::deque<char> expected;
    char next = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t size = random() % 300;
        if (random() % 2 == 0) {
            std::string bytes(size, '\0');
            for (char& byte : bytes) byte = next++;
            const auto written = ring.writer.write(bytes);
            const auto count = written < 0 ? 0 : static_cast<std::size_t>(written);
            BOOST_TEST_REQUIRE(count == std::min(size, 256 - expected.size()));
            next = static_cast<char>(next - static_cast<char>(size - count));
            expected.insert(expected.end(), bytes.begin(),
                            bytes.begin() + static_cast<std::ptrdiff_t>(count));
        } else {
            const auto bytes = ring.read(size);
            BOOST_TEST_REQUIRE(bytes.size() == std::min(size, expected.size()));
            const auto end = expected.begin() + static_cast<std::ptrdiff_t>(bytes.size());
            BOOST_TEST_REQUIRE(std::equal(bytes.begin(), bytes.end(), expected.begin(), end));
            expected.erase(expected.begin(), end);
        }
        BOOST_TEST_REQUIRE(ring.writer.unread() == expected.size());
        BOOST_TEST_REQUIRE(ring.reader.has_bytes() == !expected.empty());
    }
}

BOOST_AUTO_TEST_CASE(invalid_positions_of_the_other_side_are_refused) {
    for (const std::uint64_t position : {std::uint64_t{257}, std::uint64_t{1} << 63, UINT64_MAX}) {
        Ring ring;
        std::array<char, 512> buffer;
        ring.positions.written = position;
        BOOST_TEST(ring.reader.read(buffer) == -1);
        BOOST_TEST(errno == EPROTO);
    }
    // A reader that has read more than was written.
    Ring ring;
    BOOST_TEST(ring.writer.write("abc") == 3);
    ring.positions.read = 4;
    BOOST_TEST(ring.writer.write("d") == -1);
    BOOST_TEST(errno == EPROTO);
    BOOST_TEST(ring.writer.unread() == 3);
    BOOST_TEST(!ring.writer.was_read());
}

BOOST_AUTO_TEST_CASE(any_start_position_of_the_writer_stays_within_the_space) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 1000; ++i) {
        Ring ring;
        ring.positions.written = 1 + random() % 256;
        ring.positions.start = random();
        BOOST_TEST(ring.read(256).size() == ring.positions.written);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
