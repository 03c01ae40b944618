// The index of grants by their numbers.
#include "lock/model/grant_index.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "lock/model/held.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

namespace {

class Index {
public:
    ~Index() {
        for (const auto& [number, grant] : grants_) Grant::destroy(grant);
    }
    Index() = default;
    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;

    void add(std::uint64_t number) {
        Grant* const grant = Grant::make(1);
        grant->set_id(GrantId{number});
        index.add(*grant);
        grants_[number] = grant;
    }
    void remove(std::uint64_t number) {
        index.remove(*grants_.at(number));
        Grant::destroy(grants_.at(number));
        grants_.erase(number);
    }
    // Returns whether the index has exactly the grants that were added and not removed, in order.
    bool agrees() const {
        auto expected = grants_.begin();
        const bool same = index.all_of([&](const Grant& grant) {
            return expected != grants_.end() && (expected++)->second == &grant;
        });
        const Grant* const oldest = grants_.empty() ? nullptr : grants_.begin()->second;
        return same && expected == grants_.end() && index.size() == grants_.size() &&
               index.empty() == grants_.empty() && index.oldest() == oldest;
    }
    const std::map<std::uint64_t, Grant*>& grants() const { return grants_; }

    GrantIndex index;

private:
    std::map<std::uint64_t, Grant*> grants_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_index_of_grants)

BOOST_AUTO_TEST_CASE(finds_the_grants_that_were_added_and_not_removed) {
    Index tested;
    for (std::uint64_t number = 1; number <= 100; ++number) tested.add(number);
    for (std::uint64_t number = 1; number <= 100; number += 3) tested.remove(number);
    for (std::uint64_t number = 0; number <= 200; ++number) {
        const auto expected = tested.grants().find(number);
        Grant* const found = tested.index.find(number);
        BOOST_TEST(found == (expected == tested.grants().end() ? nullptr : expected->second));
    }
    BOOST_TEST(tested.agrees());
}

BOOST_AUTO_TEST_CASE(has_gaps_and_numbers_up_to_the_greatest) {
    Index tested;
    const std::uint64_t greatest = (std::uint64_t{1} << 53) - 1;
    const std::vector<std::uint64_t> numbers{7, 31, 32, 1'000'000, 5'000'000'000, greatest};
    for (const std::uint64_t number : numbers) tested.add(number);
    for (const std::uint64_t number : numbers)
        BOOST_TEST(tested.index.find(number) == tested.grants().at(number));
    BOOST_TEST(tested.index.find(8) == nullptr);
    BOOST_TEST(tested.index.find(5'000'000'000 + 32) == nullptr);
    BOOST_TEST(tested.agrees());
}

// The page of the greatest number stays when it is empty.
BOOST_AUTO_TEST_CASE(can_be_emptied_and_filled_again) {
    Index tested;
    std::uint64_t next = 1;
    for (int round = 0; round < 200; ++round) {
        tested.add(next);
        BOOST_TEST_REQUIRE(tested.agrees());
        tested.remove(next);
        BOOST_TEST_REQUIRE(tested.agrees());
        BOOST_TEST_REQUIRE(tested.index.find(next) == nullptr);
        next += round % 7 == 0 ? 40 : 1;
    }
}

BOOST_AUTO_TEST_CASE(agrees_with_a_map_after_random_changes) {
    std::mt19937 random(7);
    Index tested;
    std::uint64_t next = 1;
    for (int step = 0; step < 4000; ++step) {
        // Grows at first, then shrinks.
        const bool grows = random() % 100 < (step < 2000 ? 70U : 30U);
        if (grows || tested.grants().empty()) {
            tested.add(next);
            next += random() % 20 == 0 ? random() % 100 + 1 : 1;
        } else {
            auto chosen = tested.grants().lower_bound(random() % next);
            if (chosen == tested.grants().end()) chosen = tested.grants().begin();
            tested.remove(chosen->first);
        }
        if (step % 16 == 0) BOOST_TEST_REQUIRE(tested.agrees());
        const std::uint64_t asked = random() % (next + 10);
        const auto expected = tested.grants().find(asked);
        BOOST_TEST_REQUIRE(tested.index.find(asked) ==
                           (expected == tested.grants().end() ? nullptr : expected->second));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::lock_model
