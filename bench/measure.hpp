// Measuring: threads that do a thing over and over, rounds of two contestants in turn, and what is
// told of them.
//
// On a machine that others use too a rate by itself says little. So the contestants of a row take
// turns in every round, each round gives one ratio, and what counts is the median of the ratios,
// with their range.
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

// How many times a second `once(thread)` is done by so many threads together.
double rate(std::size_t threads, std::chrono::milliseconds duration,
            const std::function<void(std::size_t thread)>& once);

struct Spread {
    double median = 0;
    double low = 0;
    double high = 0;
    // Each round's, in their order.
    std::vector<double> rounds{};
};
Spread spread_of(std::vector<double> values);

// base/jains_index.hpp.
double jains_index(const std::vector<std::uint64_t>& counts);

// One line of the table.
struct Row {
    std::string name;
    std::string unit;
    Spread ours;
    // What it is compared with; without, the row stands for itself.
    std::string against;
    Spread theirs;
    // How many times better than it.
    Spread ratio;
    // What the ratio, or without one the value, is to reach.
    std::optional<double> target;
    // Without a ratio: a smaller value is better.
    bool less_is_better = false;

    bool reached() const;
};

// Measures both in turn, after one round that does not count. Each returns a value of which more is
// better.
Row compare(Row row, std::size_t rounds, const std::function<double()>& ours,
            const std::function<double()>& theirs);

// The table, in Markdown.
void print_table(std::ostream& out, const std::vector<Row>& rows);
// One JSON object on one line.
void print_json(std::ostream& out, const Row& row);

}  // namespace rocklock::bench
