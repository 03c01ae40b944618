// The table of the request ids that a lock table remembers, and the hashes of requests.
#include "lock/model/request_table.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "lock/model/names.hpp"
#include "lock/model/nodes.hpp"
#include "support/request_keys.hpp"

namespace rocklock::lock_model {

namespace {

RequestOutcome grant(std::uint64_t number) { return RequestOutcome(GrantId{number}); }

// A table and a map that must agree with it.
class Ids {
public:
    void set(std::uint64_t id, RequestOutcome outcome) {
        table.set(key_of(id), outcome);
        expected_[id] = outcome;
    }
    void erase(std::uint64_t id) {
        table.erase(key_of(id));
        expected_.erase(id);
    }
    RequestOutcome expected(std::uint64_t id) const {
        const auto found = expected_.find(id);
        return found == expected_.end() ? RequestOutcome{} : found->second;
    }
    // Returns whether the table has exactly the ids that were set and not erased, and finds each of
    // them.
    bool agrees() const {
        std::map<std::pair<std::uint64_t, std::uint64_t>, RequestOutcome> seen;
        std::size_t visits = 0;
        table.all_of([&](const RequestKey& key, RequestOutcome outcome) {
            seen[{key.high, key.low}] = outcome;
            return ++visits > 0;
        });
        if (visits != expected_.size() || table.size() != visits) return false;
        for (const auto& [id, outcome] : expected_) {
            const RequestKey key = key_of(id);
            const auto found = seen.find({key.high, key.low});
            if (found == seen.end() || !(found->second == outcome)) return false;
            if (!(table.find(key) == outcome)) return false;
        }
        return true;
    }

    RequestTable table;

private:
    std::map<std::uint64_t, RequestOutcome> expected_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_table_of_request_ids)

BOOST_AUTO_TEST_CASE(finds_the_ids_that_were_set_and_not_erased) {
    Ids tested;
    BOOST_TEST(!tested.table.find(key_of(0)));
    tested.table.erase(key_of(0));
    constexpr std::uint64_t count = 60'000;
    for (std::uint64_t i = 0; i < count; ++i) tested.set(i, grant(i + 1));
    BOOST_TEST(tested.agrees());
    BOOST_TEST(!tested.table.find(key_of(count)));
    for (std::uint64_t i = 0; i < count; i += 2) tested.erase(i);
    BOOST_TEST(tested.agrees());
    BOOST_TEST(!tested.table.find(key_of(0)));
    for (std::uint64_t i = 1; i < count; i += 2) tested.erase(i);
    BOOST_TEST(tested.agrees());
    tested.set(7, grant(7));
    BOOST_TEST(tested.agrees());
    tested.table.clear();
    BOOST_TEST(tested.table.size() == 0U);
    BOOST_TEST(!tested.table.find(key_of(7)));
    tested.set(7, grant(8));
    BOOST_TEST(tested.agrees());
}

BOOST_AUTO_TEST_CASE(agrees_with_a_map_after_random_changes) {
    std::mt19937 random(11);
    Ids tested;
    for (int step = 0; step < 90'000; ++step) {
        const std::uint64_t id = random() % 20'000;
        if (random() % 3 == 0) {
            tested.erase(id);
        } else {
            tested.set(id, grant(random()));
        }
        const std::uint64_t asked = random() % 20'000;
        BOOST_TEST_REQUIRE((tested.table.find(key_of(asked)) == tested.expected(asked)));
        if (step % 10'000 == 0) BOOST_TEST_REQUIRE(tested.agrees());
    }
    BOOST_TEST(tested.agrees());
}

// Keys with the same hash are in the same bucket, even if the part has many buckets.
BOOST_AUTO_TEST_CASE(distinguishes_keys_with_the_same_hash) {
    RequestTable table;
    for (std::uint64_t low = 0; low < 300; ++low) table.set({5, low}, grant(low + 1));
    for (std::uint64_t low = 0; low < 300; ++low)
        BOOST_TEST_REQUIRE((table.find({5, low}) == grant(low + 1)));
    BOOST_TEST(!table.find({6, 0}));
    for (std::uint64_t low = 0; low < 300; ++low) table.erase({5, low});
    BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_outcome_is_a_grant_or_a_session_or_a_wait) {
    Session session;
    Wait wait;
    const RequestOutcome none;
    BOOST_TEST((!none && none.grant() == GrantId{} && none.session() == nullptr));
    BOOST_TEST(none.wait() == nullptr);
    constexpr std::uint64_t greatest = (std::uint64_t{1} << 53) - 1;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, greatest}) {
        const RequestOutcome given = grant(number);
        BOOST_TEST((given && given.grant() == GrantId{number}));
        BOOST_TEST((given.session() == nullptr && given.wait() == nullptr));
    }
    const RequestOutcome opened(session);
    BOOST_TEST((opened && opened.session() == &session && opened.wait() == nullptr));
    BOOST_TEST((opened.grant() == GrantId{}));
    const RequestOutcome waiting(wait);
    BOOST_TEST((waiting && waiting.wait() == &wait && waiting.session() == nullptr));
    BOOST_TEST((waiting.grant() == GrantId{} && !(waiting == opened)));
}

BOOST_AUTO_TEST_CASE(erase_keeps_an_outcome_that_has_replaced_the_given_one) {
    Wait first;
    Wait second;
    RequestTable table;
    table.set(key_of(1), RequestOutcome(first));
    table.set(key_of(1), RequestOutcome(second));
    BOOST_TEST(table.size() == 1U);
    table.erase(key_of(1), RequestOutcome(first));
    BOOST_TEST(table.find(key_of(1)).wait() == &second);
    table.erase(key_of(1), RequestOutcome(second));
    BOOST_TEST(!table.find(key_of(1)));
    BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(all_of_stops_after_visit_has_returned_false) {
    RequestTable table;
    for (std::uint64_t i = 0; i < 100; ++i) table.set(key_of(i), grant(i + 1));
    std::size_t visits = 0;
    BOOST_TEST(!table.all_of([&](const RequestKey&, RequestOutcome) { return ++visits < 10; }));
    BOOST_TEST(visits == 10U);
}

// The hash of a number is stored on disk. It must be the hash of the eight bytes of the number.
BOOST_AUTO_TEST_CASE(the_hash_of_a_number_is_that_of_its_bytes) {
    std::mt19937_64 random(3);
    for (unsigned step = 0; step < 1'000; ++step) {
        const std::uint64_t number = step < 300 ? step : random() >> random() % 64;
        const std::uint64_t start = random();
        char bytes[sizeof number];
        for (std::size_t i = 0; i < sizeof bytes; ++i)
            bytes[i] = static_cast<char>(number >> 8 * i & 0xFF);
        BOOST_TEST_REQUIRE(fnv1a_of_number(number, start) ==
                           fnv1a(std::string_view(bytes, sizeof bytes), start));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::lock_model
