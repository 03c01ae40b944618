// The reservations of tokens and versions: their sizes, and their marks after a restart.
#include "lock/table/number_reservation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <boost/test/unit_test.hpp>

namespace rocklock {

BOOST_AUTO_TEST_SUITE(a_number_reservation)

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t min_count = 1'000;

// Takes versions until the reservation is low, and extends it. Returns the number of versions that
// are then reserved.
std::uint64_t use_and_extend(NumberReservation& numbers, BootTime now) {
    std::uint64_t last = 0;
    while (!numbers.is_low()) last = numbers.take_version();
    return numbers.extend(min_count, now).version - last - 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_low_when_half_of_it_is_left) {
    NumberReservation numbers;
    numbers.start_at(50, 70);
    BOOST_TEST(numbers.is_low());
    BOOST_TEST(numbers.is_used_up());
    const ReservedNumbers marks = numbers.extend(min_count, BootTime(milliseconds{0}));
    BOOST_TEST(marks.token == 50u + min_count);
    BOOST_TEST(marks.version == 70u + min_count);
    for (std::uint64_t taken = 0; taken < min_count / 2; ++taken) {
        BOOST_TEST(!numbers.is_low());
        BOOST_TEST(numbers.take_version() == 70u + taken);
    }
    BOOST_TEST(numbers.is_low());
    BOOST_TEST(!numbers.is_used_up());
}

BOOST_AUTO_TEST_CASE(is_greater_while_numbers_are_used_quickly) {
    NumberReservation numbers;
    BootTime now(milliseconds{5'000});
    std::uint64_t size = use_and_extend(numbers, now);
    BOOST_TEST(size == min_count);
    for (int times = 2; times <= 64; times *= 2) {
        now += milliseconds{900};
        size = use_and_extend(numbers, now);
        BOOST_TEST(size ==
                   std::min<std::uint64_t>(static_cast<std::uint64_t>(times), 32) * min_count);
    }
    now += milliseconds{1'000};
    BOOST_TEST(use_and_extend(numbers, now) == 32 * min_count);
    now += milliseconds{8'000};
    BOOST_TEST(use_and_extend(numbers, now) == 24 * min_count);
    for (int i = 0; i < 20; ++i) {
        now += milliseconds{8'000};
        size = use_and_extend(numbers, now);
    }
    BOOST_TEST(size == min_count);
}

BOOST_AUTO_TEST_CASE(never_moves_a_mark_back) {
    NumberReservation numbers;
    BootTime now(milliseconds{0});
    ReservedNumbers marks;
    for (int i = 0; i < 6; ++i) {
        while (!numbers.is_low()) numbers.take_version();
        marks = numbers.extend(min_count, now);
    }
    numbers.confirm_durable(marks);
    // Few tokens were used, so that the smaller reservation would end before the last mark.
    for (int i = 0; i < 6; ++i) {
        now += std::chrono::hours{1};
        while (!numbers.is_low()) numbers.take_version();
        const ReservedNumbers next = numbers.extend(min_count, now);
        BOOST_TEST(next.token >= marks.token);
        BOOST_TEST(next.version > marks.version);
        BOOST_TEST(numbers.is_consistent());
        marks = next;
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
