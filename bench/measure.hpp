// Functions that measure and report. Threads repeat an operation. Two contestants (the
// implementations that are compared) are measured alternately, in several rounds.
//
// If other programs use the machine, a single rate is not reliable. Therefore, each round measures
// both contestants of a row, one after the other, and computes one ratio. The result is the median
// of these ratios, together with their range.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace rocklock::bench {

double seconds_since(std::chrono::steady_clock::time_point start);

// `threads` threads repeat `once(thread)` for `duration`. Returns the total number of calls of all
// threads per second.
double rate(std::size_t threads, std::chrono::milliseconds duration,
            const std::function<void(std::size_t thread)>& once);

struct Spread {
    double median = 0;
    double low = 0;
    double high = 0;
    // The values in the order of the rounds.
    std::vector<double> rounds{};
};
Spread spread_of(std::vector<double> values);

// See base/jains_index.hpp.
double jains_index(const std::vector<std::uint64_t>& counts);

// A row of the printed table.
struct Row {
    std::string name;
    std::string unit;
    Spread ours;
    // The contestant that Rocklock is compared with. If empty, the row has no ratio.
    std::string against;
    Spread theirs;
    // The factor by which Rocklock is better.
    Spread ratio;
    // The target of the ratio. If the row has no ratio, the target of the value.
    std::optional<double> target;
    // For a row without a ratio, whether a smaller value is better.
    bool less_is_better = false;

    bool reached() const;
};

// Measures both contestants alternately, after a warm-up round that is not counted. Each function
// must return a value for which greater is better.
Row compare(Row row, std::size_t rounds, const std::function<double()>& ours,
            const std::function<double()>& theirs);

// Prints the rows as a Markdown table.
void print_table(std::ostream& out, const std::vector<Row>& rows);
// Prints one JSON object on one line.
void print_json(std::ostream& out, const Row& row);

}  // namespace rocklock::bench
