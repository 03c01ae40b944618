// The allocator for large arrays, and other memory with huge pages.
#include "lock/model/huge_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/container_hash/hash.hpp>
#include <boost/test/unit_test.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "lock/model/arena.hpp"

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

BOOST_AUTO_TEST_CASE(contain_a_hash_table_that_grows) {
    using Entry = std::pair<const std::uint64_t, std::uint64_t>;
    boost::unordered_flat_map<std::uint64_t, std::uint64_t, boost::hash<std::uint64_t>,
                              std::equal_to<>, HugePageAllocator<Entry>>
        squares;
    constexpr std::uint64_t count = 2 * HugePageAllocator<Entry>::min_bytes / sizeof(Entry);
    for (std::uint64_t i = 0; i < count; ++i) squares.emplace(i, i * i);
    bool same = squares.size() == count;
    for (std::uint64_t i = 0; i < count; ++i) same = same && squares.at(i) == i * i;
    BOOST_TEST(same);
}

// From 16 MB on, the arena advises the system to use huge pages.
BOOST_AUTO_TEST_CASE(contain_the_pieces_of_the_arena) {
    constexpr std::size_t count = (std::size_t{24} << 20U) / Arena::max_piece;
    const std::size_t before = Arena::pieces_in_use();
    for (int round = 0; round < 2; ++round) {
        std::vector<std::uint64_t*> pieces(count);
        for (std::size_t i = 0; i < count; ++i) {
            pieces[i] = static_cast<std::uint64_t*>(Arena::allocate(Arena::max_piece));
            std::fill_n(pieces[i], Arena::max_piece / sizeof(std::uint64_t), i);
        }
        bool same = true;
        for (std::size_t i = 0; i < count; ++i) {
            same = same && pieces[i][0] == i &&
                   pieces[i][Arena::max_piece / sizeof(std::uint64_t) - 1] == i;
            Arena::free(pieces[i], Arena::max_piece);
        }
        BOOST_TEST(same);
        BOOST_TEST(Arena::pieces_in_use() == before);
    }
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
