// The sorted list of a memtable, compared with a map.
#include "storage/entry_list.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(the_list_of_entries)

namespace {

// An internal key, as RocksDB encodes it.
std::string internal_key(std::string_view user_key, std::uint64_t sequence) {
    std::string key(user_key);
    for (int i = 0; i < 8; ++i) key += static_cast<char>((sequence << 8 | 1) >> (8 * i));
    return key;
}

// The key of a grant: a tag and a number of 8 bytes.
std::string grant_key(std::uint64_t number) {
    std::string key = "g";
    for (int i = 8; i-- > 0;) key += static_cast<char>(number >> (8 * i));
    return key;
}

struct InOrder {
    bool operator()(const std::string& a, const std::string& b) const {
        return compare_internal_keys(a, b) < 0;
    }
};

class Fixture {
public:
    // Inserts a key into the list and the map. Returns false if the list contains the key.
    bool insert(const std::string& key, EntryList::Hint& hint) {
        const int height = list.random_height();
        std::string entry;
        for (std::size_t left = key.size();; left >>= 7) {
            entry += static_cast<char>(left < 0x80 ? left : (left & 0x7F) | 0x80);
            if (left < 0x80) break;
        }
        entry += key;
        const std::size_t words = (EntryList::node_bytes(height) + entry.size() + 7) / 8;
        memory_.push_back(std::make_unique<std::uint64_t[]>(words));
        auto* const node = EntryList::initialize(memory_.back().get(), height);
        std::memcpy(node->entry(), entry.data(), entry.size());
        const bool inserted = list.insert(node, hint);
        BOOST_TEST(inserted == expected.emplace(key, true).second);
        return inserted;
    }

    void check_order() const {
        const auto* node = list.first();
        for (const auto& [key, present] : expected) {
            BOOST_REQUIRE(node != nullptr);
            BOOST_REQUIRE(node->key() == key);
            node = node->next();
        }
        BOOST_TEST(node == nullptr);
    }

    // Compares the searches for a key that may be absent.
    void check_search(const std::string& key) const {
        const auto at = expected.lower_bound(key);
        const auto* const found = list.first_not_before(key);
        BOOST_REQUIRE((found == nullptr) == (at == expected.end()));
        if (found != nullptr) BOOST_REQUIRE(found->key() == at->first);
        const auto* const before = list.last_before(key);
        BOOST_REQUIRE((before == nullptr) == (at == expected.begin()));
        if (before != nullptr) BOOST_REQUIRE(before->key() == std::prev(at)->first);
    }

    EntryList list;
    std::map<std::string, bool, InOrder> expected;

private:
    std::deque<std::unique_ptr<std::uint64_t[]>> memory_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(keys_are_ordered_by_user_key_and_descending_sequence) {
    BOOST_TEST(compare_internal_keys(internal_key("a", 1), internal_key("b", 1)) < 0);
    BOOST_TEST(compare_internal_keys(internal_key("a", 2), internal_key("a", 1)) < 0);
    BOOST_TEST(compare_internal_keys(internal_key("a", 1), internal_key("a", 300)) > 0);
    BOOST_TEST(compare_internal_keys(internal_key("a", 9), internal_key("aa", 1)) < 0);
    BOOST_TEST(compare_internal_keys(internal_key("\xFF", 1), internal_key("a", 1)) > 0);
    BOOST_TEST(compare_internal_keys(internal_key("", 1), internal_key("", 1)) == 0);
}

BOOST_FIXTURE_TEST_CASE(an_empty_list_has_no_nodes, Fixture) {
    BOOST_TEST(list.first() == nullptr);
    BOOST_TEST(list.last() == nullptr);
    check_search(internal_key("a", 1));
}

BOOST_FIXTURE_TEST_CASE(rejects_a_key_that_it_contains, Fixture) {
    EntryList::Hint hint;
    BOOST_TEST(insert(internal_key("a", 1), hint));
    BOOST_TEST(insert(internal_key("b", 2), hint));
    BOOST_TEST(!insert(internal_key("a", 1), hint));
    BOOST_TEST(!insert(internal_key("b", 2), hint));
    check_order();
    BOOST_TEST(list.last()->key() == internal_key("b", 2));
}

// Grants with increasing numbers, of which each ends a little later, and other keys.
BOOST_FIXTURE_TEST_CASE(the_keys_of_grants_are_in_order, Fixture) {
    std::mt19937_64 random(1);
    EntryList::Hint grants;
    EntryList::Hint others;
    std::deque<std::uint64_t> held;
    std::uint64_t sequence = 0;
    for (std::uint64_t number = 1; number <= 20'000; ++number) {
        insert(internal_key(grant_key(number), ++sequence), grants);
        held.push_back(number);
        if (held.size() > 64) {
            const auto which = static_cast<std::ptrdiff_t>(random() % held.size());
            insert(internal_key(grant_key(held[static_cast<std::size_t>(which)]), ++sequence),
                   grants);
            held.erase(held.begin() + which);
        }
        if (number % 10 == 0) insert(internal_key("s" + grant_key(random()), ++sequence), others);
        if (number % 11 == 0) insert(internal_key("c", ++sequence), others);
    }
    check_order();
    for (int i = 0; i < 2'000; ++i) {
        check_search(internal_key(grant_key(random() % 21'000), random() % (sequence + 2)));
    }
}

// A wrong hint makes an insertion slower, but the result is still correct.
BOOST_FIXTURE_TEST_CASE(random_keys_are_in_order_with_any_hint, Fixture) {
    std::mt19937_64 random(2);
    EntryList::Hint hints[3];
    for (int i = 0; i < 20'000; ++i) {
        std::string user_key(random() % 200, '\0');
        for (char& byte : user_key) byte = static_cast<char>(random() % 3);
        if (random() % 2 == 0) user_key = grant_key(random() % 500);
        insert(internal_key(user_key, random() % 50), hints[random() % 3]);
    }
    check_order();
    for (const auto& [key, present] : expected) check_search(key);
}

BOOST_FIXTURE_TEST_CASE(a_list_is_read_while_keys_are_inserted, Fixture) {
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> inserted{0};
    std::thread reader([&] {
        while (!done.load()) {
            const std::uint64_t before = inserted.load();
            std::uint64_t read = 0;
            std::string previous;
            for (const auto* node = list.first(); node != nullptr; node = node->next(), ++read) {
                const std::string key(node->key());
                if (!previous.empty() && compare_internal_keys(previous, key) >= 0) std::abort();
                previous = key;
            }
            if (read < before) std::abort();
            // A key that was inserted before is found.
            if (before > 0 && list.first_not_before(previous) == nullptr) std::abort();
            if (before > 0 && list.last() == nullptr) std::abort();
        }
    });
    std::mt19937_64 random(3);
    EntryList::Hint hint;
    for (std::uint64_t i = 1; i <= 5'000; ++i) {
        insert(internal_key(grant_key(random() % 3 == 0 ? random() % i : i), i), hint);
        inserted = i;
    }
    done = true;
    reader.join();
    check_order();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
