// Checks the history of a client run within a test.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include <boost/test/tree/test_unit.hpp>

#include "history/table_clients.hpp"

namespace rocklock::proof {

// Checks that a serial order explains the history, and that each kind of operation occurred.
void judge_history(const ClientsRun& run);

// Returns whether ROCKLOCK_HISTORY_SECONDS is set; see scripts/serialise.
boost::test_tools::assertion_result long_run_wanted(boost::unit_test::test_unit_id unit);

// Counts the results of a long run.
class HistorySums {
public:
    HistorySums();

    bool over() const;
    // Returns options with 2 to 12 items and a new seed.
    ClientsOptions next_options();
    // Judges the run and adds it to the totals.
    void add(const ClientsRun& run);
    void print() const;

private:
    std::chrono::steady_clock::time_point end_;
    std::uint32_t first_seed_;
    std::size_t histories_ = 0;
    std::size_t operations_ = 0;
    std::size_t reasons_ = 0;
    std::size_t choices_ = 0;
    std::size_t guesses_ = 0;
    std::chrono::nanoseconds judging_{};
    std::map<std::string, std::size_t> counts_;
};

}  // namespace rocklock::proof
