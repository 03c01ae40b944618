#include "measure.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <thread>
#include <utility>

#include "base/jains_index.hpp"

namespace rocklock::bench {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

using Clock = std::chrono::steady_clock;

// Prints three significant digits, with the suffix k or M.
std::string short_number(double value) {
    const char* suffix = "";
    if (value >= 1e6) {
        value /= 1e6;
        suffix = "M";
    } else if (value >= 1e4) {
        value /= 1e3;
        suffix = "k";
    }
    char text[32];
    const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    std::snprintf(text, sizeof text, "%.*f%s", digits, value, suffix);
    return text;
}

std::string short_spread(const Spread& spread, const char* unit = "") {
    if (spread.low == spread.high) return short_number(spread.median) + unit;
    return short_number(spread.median) + unit + " (" + short_number(spread.low) + "–" +
           short_number(spread.high) + ")";
}

std::string json_spread(const char* name, const Spread& spread) {
    char text[160];
    std::snprintf(text, sizeof text, "\"%s\":{\"median\":%.6g,\"low\":%.6g,\"high\":%.6g}", name,
                  spread.median, spread.low, spread.high);
    return text;
}

}  // namespace

double rate(std::size_t threads, std::chrono::milliseconds duration,
            const std::function<void(std::size_t thread)>& once) {
    std::atomic<bool> stop{false};
    std::barrier begin(static_cast<std::ptrdiff_t>(threads) + 1);
    std::vector<std::uint64_t> done(threads);
    std::vector<std::jthread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            begin.arrive_and_wait();
            std::uint64_t count = 0;
            for (; !stop.load(std::memory_order_relaxed); ++count) once(thread);
            done[thread] = count;
        });
    }
    begin.arrive_and_wait();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    stop = true;
    // The operations that are in progress complete, and are counted.
    running.clear();
    const double seconds = seconds_since(start);
    std::uint64_t sum = 0;
    for (const std::uint64_t count : done) sum += count;
    return static_cast<double>(sum) / seconds;
}

Spread spread_of(std::vector<double> values) {
    std::vector<double> rounds = values;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {median, values.front(), values.back(), std::move(rounds)};
}

double jains_index(const std::vector<std::uint64_t>& counts) {
    return rocklock::jains_index(counts);
}

bool Row::reached() const {
    if (!target) return true;
    if (!against.empty()) return ratio.median >= *target;
    return less_is_better ? ours.median <= *target : ours.median >= *target;
}

Row compare(Row row, std::size_t rounds, const std::function<double()>& ours,
            const std::function<double()>& theirs) {
    std::vector<double> our_values;
    std::vector<double> their_values;
    std::vector<double> ratios;
    for (std::size_t round = 0; round <= rounds; ++round) {
        // The order alternates, so that neither contestant always runs after the other.
        double our_value = 0;
        double their_value = 0;
        if (round % 2 == 0) our_value = ours();
        their_value = theirs();
        if (round % 2 == 1) our_value = ours();
        if (round == 0) continue;
        our_values.push_back(our_value);
        their_values.push_back(their_value);
        ratios.push_back(our_value / their_value);
    }
    row.ours = spread_of(std::move(our_values));
    row.theirs = spread_of(std::move(their_values));
    row.ratio = spread_of(std::move(ratios));
    return row;
}

void print_table(std::ostream& out, const std::vector<Row>& rows) {
    out << "| what | Rocklock | against | ratio | target | |\n|---|---|---|---|---|---|\n";
    for (const Row& row : rows) {
        const bool compared = !row.against.empty();
        out << "| " << row.name << " | " << short_spread(row.ours) << ' ' << row.unit << " | ";
        if (compared) out << row.against << ": " << short_spread(row.theirs);
        out << " | ";
        if (compared) out << short_spread(row.ratio, " ×");
        out << " | ";
        if (row.target) {
            const char* at_most = compared || !row.less_is_better ? "" : "≤ ";
            out << at_most << short_number(*row.target) << (compared ? " ×" : "");
        }
        out << " | " << (!row.target ? "" : row.reached() ? "reached" : "**missed**") << " |\n";
    }
}

void print_json(std::ostream& out, const Row& row) {
    out << "{\"row\":\"" << row.name << "\",\"unit\":\"" << row.unit << "\","
        << json_spread("rocklock", row.ours);
    if (!row.against.empty()) {
        out << ",\"against\":\"" << row.against << "\"," << json_spread("theirs", row.theirs) << ','
            << json_spread("ratio", row.ratio);
    }
    if (row.target) {
        out << ",\"target\":" << *row.target
            << ",\"reached\":" << (row.reached() ? "true" : "false");
    }
    out << "}" << std::endl;
}

}  // namespace rocklock::bench
