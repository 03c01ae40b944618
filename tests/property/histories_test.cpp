// A part of all histories; scripts/enumerate plays longer ones. The address sanitizer makes the
// test four times as slow, so there the histories are one operation shorter, and two if they are
// very many: they still run the same code.
#include "property/histories.hpp"

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

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Plays all histories without a time limit, which would hide that they have become too many.
HistoryTally play(HistoryBounds bounds, std::uint32_t operations) {
    bounds.operations = sanitized ? operations - 1 : operations;
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
    const auto tally = play({}, sanitized ? 6 : 100);
    BOOST_TEST(tally.closed == !sanitized);
    BOOST_TEST(tally.operations >= (sanitized ? 5u : 6u));
}

BOOST_AUTO_TEST_CASE(by_force_too) {
    HistoryBounds bounds;
    bounds.forced = true;
    play(bounds, sanitized ? 5 : 6);
}

BOOST_AUTO_TEST_CASE(with_requests_for_any_one_of_the_resources) {
    HistoryBounds bounds;
    bounds.any = true;
    play(bounds, 5);
}

BOOST_AUTO_TEST_CASE(with_requests_for_any_one_and_by_force) {
    HistoryBounds bounds;
    bounds.any = true;
    bounds.forced = true;
    play(bounds, 4);
}

BOOST_AUTO_TEST_CASE(in_all_modes) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    play(bounds, 4);
}

BOOST_AUTO_TEST_CASE(of_parent_and_child_resources) {
    HistoryBounds bounds;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    play(bounds, 4);
}

BOOST_AUTO_TEST_CASE(without_confused_resources) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    bounds.merge = false;
    play(bounds, 3);
}

BOOST_AUTO_TEST_CASE(in_all_modes_and_by_force_in_a_long_run,
                     *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.modes.push_back(Mode::exclusive);
    bounds.forced = true;
    play(bounds, 6);
}

BOOST_AUTO_TEST_CASE(of_parent_and_child_resources_in_a_long_run,
                     *boost::unit_test::precondition(wanted)) {
    HistoryBounds bounds;
    bounds.resources = {"a", "a/b"};
    bounds.subtrees = true;
    play(bounds, 6);
}

BOOST_AUTO_TEST_SUITE_END()
