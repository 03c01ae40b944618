#include "lock/model/request_loader.hpp"

#include <cstddef>
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "support/request_keys.hpp"

namespace rocklock::lock_model {
namespace {

RequestOutcome outcome_of(std::uint64_t number) { return RequestOutcome(GrantId{number}); }

// Sets `count` ids, each of them twice: first with another outcome, and then, after all others,
// with its own.
void set_all(RequestLoader& loader, RequestTable& table, std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) loader.set(table, key_of(i), outcome_of(count + i));
    for (std::uint64_t i = 1; i <= count; ++i) loader.set(table, key_of(i), outcome_of(i));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_loader_of_request_ids)

// Two batches and a part of a third; with and without a thread.
BOOST_AUTO_TEST_CASE(adds_all_ids_and_keeps_the_last_outcome_of_each) {
    for (const std::size_t batch : {std::size_t{100}, RequestLoader::min_for_thread}) {
        RequestTable table;
        RequestLoader loader(batch);
        const std::uint64_t count = batch * 5 / 4;
        set_all(loader, table, count);
        loader.finish(table);
        BOOST_TEST(table.size() == count);
        for (std::uint64_t i = 1; i <= count; ++i)
            BOOST_REQUIRE((table.find(key_of(i)) == outcome_of(i)));
    }
}

BOOST_AUTO_TEST_CASE(can_have_nothing_to_add) {
    RequestTable table;
    RequestLoader loader;
    loader.start(table);
    loader.finish(table);
    BOOST_TEST(table.size() == 0U);
}

// Recovery ends in this way if a record is damaged.
BOOST_AUTO_TEST_CASE(can_be_destroyed_before_it_has_finished) {
    RequestTable table;
    {
        RequestLoader loader(RequestLoader::min_for_thread);
        set_all(loader, table, RequestLoader::min_for_thread * 3 / 4);
    }
    // The first batch was added.
    BOOST_TEST(table.size() == RequestLoader::min_for_thread * 3 / 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::lock_model
