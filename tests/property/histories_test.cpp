// A part of all histories; scripts/enumerate plays longer ones. With the address sanitizer, the
// histories are shorter: they still run the same code.
#include "property/histories.hpp"

#include <boost/test/unit_test.hpp>

#include "support/repetitions.hpp"

namespace {

using rocklock::Mode;
using rocklock::proof::HistoryBounds;
using rocklock::proof::HistoryTally;
using rocklock::proof::play_every_history;

boost::test_tools::assertion_result wanted(boost::unit_test::test_unit_id /*unit*/) {
    boost::test_tools::assertion_result result(rocklock::testing::runs_all());
    if (!result) result.message() << "takes minutes: run with scripts/test --all";
    return result;
}

constexpr bool sanitized = rocklock::testing::with_address_sanitizer;

// Plays all histories of up to `operations`, or of up to `when_sanitized` with the address
// sanitizer. There is no time limit, because it would hide that they have become too many.
HistoryTally play(HistoryBounds bounds, std::uint32_t operations, std::uint32_t when_sanitized) {
    bounds.operations = sanitized ? when_sanitized : operations;
    HistoryTally tally = play_every_history(bounds, 3600);
    BOOST_TEST_MESSAGE(tally.text());
    BOOST_CHECK_MESSAGE(!tally.wrong, tally.wrong.value_or(""));
    BOOST_TEST((tally.operations == bounds.operations || tally.closed));
    return tally;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(every_history)

// Until no new state is found: every operation has then been tried in every state.
BOOST_AUTO_TEST_CASE(of_any_length) {
    const auto tally = play({}, 100, 4);
    BOOST_TEST(tally.closed == !sanitized);
    BOOST_TEST(tally.operations >= (sanitized ? 4u : 6u));
}

BOOST_AUTO_TEST_CASE(by_force_too) {
    HistoryBounds bounds;
    bounds.forced = true;
    play(bounds, 6, 3);
}

BOOST_AUTO_TEST_CASE(with_requests_for_any_one_of_the_resources) {
    HistoryBounds bounds;
    bounds.any = true;
    play(bounds, 5, 3);
}

BOOST_AUTO_TEST_CASE(with_requests_for_any_one_and_by_force) {
    HistoryBounds bounds;
    bounds.any = true;
    bounds.forced = true;
    play(bounds, 4, 3);
}

BOOST_AUTO_TEST_CASE(in_all_modes) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    play(bounds, 4, 2);
}

BOOST_AUTO_TEST_CASE(of_parent_and_child_resources) {
    HistoryBounds bounds;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    play(bounds, 4, 2);
}

BOOST_AUTO_TEST_CASE(without_confused_resources) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    bounds.merge = false;
    play(bounds, 3, 2);
}

BOOST_AUTO_TEST_CASE(in_all_modes_and_by_force_in_a_long_run,
                     *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    bounds.forced = true;
    play(bounds, 6, 5);
}

BOOST_AUTO_TEST_CASE(of_parent_and_child_resources_in_a_long_run,
                     *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    play(bounds, 6, 5);
}

BOOST_AUTO_TEST_SUITE_END()
