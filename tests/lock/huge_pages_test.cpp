// The allocator for large arrays.
#include "lock/model/huge_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <tuple>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {

BOOST_AUTO_TEST_SUITE(huge_pages)

BOOST_AUTO_TEST_CASE(contain_an_array_that_grows_and_shrinks) {
    using Numbers = std::vector<std::uint64_t, HugePageAllocator<std::uint64_t>>;
    constexpr std::size_t count = 4 * Numbers::allocator_type::min_bytes / sizeof(std::uint64_t);
    Numbers numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(i);
    bool same = true;
    for (std::size_t i = 0; i < count; ++i) same = same && numbers[i] == i;
    BOOST_TEST(same);
    Numbers copy = numbers;
    numbers.resize(10);
    numbers.shrink_to_fit();
    BOOST_TEST(numbers.back() == 9U);
    BOOST_TEST(copy.back() == count - 1);
}

BOOST_AUTO_TEST_CASE(are_advised_for_any_part_of_the_memory) {
    std::vector<char> memory(3 * huge_page_bytes, 'x');
    for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, huge_page_bytes}) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, huge_page_bytes - 1,
                                       huge_page_bytes, 2 * huge_page_bytes - 1}) {
            advise_huge_pages(memory.data() + begin, size);
        }
    }
    BOOST_TEST(memory == std::vector<char>(memory.size(), 'x'));
}

BOOST_AUTO_TEST_CASE(refuse_an_array_that_is_too_large) {
    HugePageAllocator<std::uint64_t> allocator;
    BOOST_CHECK_THROW(std::ignore = allocator.allocate(std::size_t{1} << 58), std::bad_alloc);
    BOOST_CHECK_THROW(std::ignore = allocator.allocate(std::numeric_limits<std::size_t>::max() / 4),
                      std::bad_alloc);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
