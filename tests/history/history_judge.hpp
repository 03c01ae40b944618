// Holds a run of clients to the promise, in a test.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include <boost/test/tree/test_unit.hpp>

#include "history/table_clients.hpp"

namespace rocklock::proof {

// That one order explains it, and that it had something of everything.
void judge_history(const ClientsRun& run);

// For ROCKLOCK_HISTORY_SECONDS: see scripts/serialise.
boost::test_tools::assertion_result long_run_wanted(boost::unit_test::test_unit_id unit);

// The figures of a long run.
class HistorySums {
public:
    HistorySums();

    bool over() const;
    // Of 2 to 12 items, each time another seed.
    ClientsOptions next_options();
    // Judges it.
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
