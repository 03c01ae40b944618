// A slice of all histories: scripts/enumerate plays longer ones.
#include "lock/histories.hpp"

#include <cstdlib>

#include <boost/test/unit_test.hpp>

namespace {

using rocklock::Mode;
using rocklock::proof::HistoryBounds;
using rocklock::proof::HistoryTally;
using rocklock::proof::play_every_history;

boost::test_tools::assertion_result wanted(boost::unit_test::test_unit_id /*unit*/) {
    boost::test_tools::assertion_result result(std::getenv("ROCKLOCK_TEST_ALL") != nullptr);
    if (!result) result.message() << "takes minutes: run with scripts/test --all";
    return result;
}

// Plays them all, for as long as it takes; a time limit would hide that they have become too many.
HistoryTally play(const HistoryBounds& bounds) {
    HistoryTally tally = play_every_history(bounds, 3600);
    BOOST_TEST_MESSAGE(tally.text());
    BOOST_CHECK_MESSAGE(!tally.wrong, tally.wrong.value_or(""));
    return tally;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(every_history)

// Until nothing new comes: whatever follows has been tried from every state there is.
BOOST_AUTO_TEST_CASE(of_any_length) {
    HistoryBounds bounds;
    bounds.operations = 100;
    const auto tally = play(bounds);
    BOOST_TEST(tally.closed);
    BOOST_TEST(tally.operations > 6u);
}

BOOST_AUTO_TEST_CASE(of_six_operations_by_force_too) {
    HistoryBounds bounds;
    bounds.forced = true;
    BOOST_TEST(play(bounds).operations == 6u);
}

BOOST_AUTO_TEST_CASE(of_four_operations_in_all_modes) {
    HistoryBounds bounds;
    bounds.operations = 4;
    bounds.modes.push_back(Mode::exclusive);
    BOOST_TEST(play(bounds).operations == 4u);
}

BOOST_AUTO_TEST_CASE(of_four_operations_one_below_the_other) {
    HistoryBounds bounds;
    bounds.operations = 4;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    BOOST_TEST(play(bounds).operations == 4u);
}

BOOST_AUTO_TEST_CASE(of_three_operations_none_taken_for_another) {
    HistoryBounds bounds;
    bounds.operations = 3;
    bounds.modes.push_back(Mode::exclusive);
    bounds.merge = false;
    BOOST_TEST(play(bounds).operations == 3u);
}

BOOST_AUTO_TEST_CASE(of_six_operations_in_all_modes, *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    bounds.forced = true;
    BOOST_TEST(play(bounds).operations == 6u);
}

BOOST_AUTO_TEST_CASE(of_six_operations_one_below_the_other,
                     *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    BOOST_TEST(play(bounds).operations == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
