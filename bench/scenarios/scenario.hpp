// Scenarios. In a scenario, many clients use the same resources. The scenario compares several
// implementations, which are called contenders, and reports the metrics of each.
//
//     bench_scenarios ──► Scenario::run(Setting&) ──► points and rows, one JSON object per line
//
// scripts/bench runs each scenario in a separate process, and creates the table, the charts and the
// page.
//
// To add a scenario: write a file with a function that returns a Scenario, add the function to
// all.hpp and to the list in main.cpp, and add the file to bench/meson.build. Setting::measure()
// runs the contenders alternately and prints the points of the charts. Setting::compare() prints a
// row with ratios.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>

#include "daemon/server.hpp"
#include "measure.hpp"
#include "scenarios/sample.hpp"
#include "support.hpp"

namespace rocklock::bench {

enum class Scale : std::uint8_t { linear, log, words };

struct Chart {
    std::string name;
    std::string title;
    std::string x;
    Scale x_scale = Scale::log;
    std::string y;
    Scale y_scale = Scale::log;
    // "more" if greater values are better, "less" if smaller values are better, otherwise empty.
    std::string better;
};

struct Settings {
    bool quick = false;
    std::size_t rounds = 5;
    std::chrono::milliseconds duration{250};
    std::string directory;
    Programs programs;
};

class Setting;

struct Scenario {
    std::string name;
    std::string title;
    // A description for readers: the operations, and how to interpret the results.
    std::string says;
    std::vector<Chart> charts;
    std::function<void(Setting&)> run;
    // The kinds of requests that Sample::waits and Sample::other_waits measure, such as "readers".
    // Empty if they measure all requests.
    std::string waits_of{};
    std::string other_waits_of{};
};

// Returns the scenarios in the order in which they run.
const std::vector<Scenario>& scenarios();

// The kinds of store.
enum class Store : std::uint8_t { memory, written, durable };
std::string_view name_of(Store store);

// A row that compares two contenders.
struct Comparison {
    std::string name;
    std::string unit;
    std::string against;
    // The target of the ratio.
    std::optional<double> target = std::nullopt;
    bool less_is_better = false;
    Metric metric = rate_of;
};

// A row about Rocklock alone.
struct Value {
    std::string name;
    std::string unit;
    // The target of the value.
    std::optional<double> target = std::nullopt;
    bool less_is_better = false;
};

// The environment of a scenario. It creates stores and servers, runs the contenders, and prints the
// results.
class Setting {
public:
    Setting(const Scenario& scenario, const Settings& settings);
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting();

    bool quick() const { return settings_.quick; }
    std::size_t rounds() const { return settings_.rounds; }
    std::chrono::milliseconds duration() const { return settings_.duration; }
    // In a quick run, returns a list with only one of the values. Otherwise, returns all values.
    template <typename T>
    std::vector<T> some(std::vector<T> values) const {
        return quick() ? std::vector<T>{values[values.size() / 2]} : values;
    }
    template <typename T>
    T few(T normally, T quickly) const {
        return quick() ? quickly : normally;
    }

    // Opens an embedded store in a folder that is removed after the scenario.
    Database open(Store store);
    // Connects, through a socket, to a daemon that has a store of this kind. The first call starts
    // the daemon.
    Database connect(Store store);
    // Returns the server `name` (see contestants()). The first call starts the server. If the
    // server cannot be started, reports with leave_out() that it is not measured, and returns null.
    const Server* server(const std::string& name);
    // Returns the description of the server `name`, which stores its data in `folder`. The scenario
    // starts and stops this server itself.
    Contestant contestant(const std::string& name, const std::string& folder) const;
    // Reports that a contender is not measured, and the reason `why`.
    void leave_out(const std::string& name, const std::string& why) const;
    // Creates a folder that is removed after the scenario.
    std::string folder();

    // in_turn() runs a warm-up round, which is not counted, and then the counted rounds. Each round
    // runs all contenders once, one after the other.
    using Rounds = std::vector<std::vector<Sample>>;
    Rounds in_turn(const std::vector<Contender>& contenders) const;
    // Reports on stderr that a step of the scenario is complete.
    void progress(const std::string& step) const;
    // measure() works as in_turn(), but also adds a point for each contender to each of the charts.
    // `what` distinguishes steps with the same x and the same contenders.
    using Charts = std::vector<std::pair<std::string, Metric>>;
    Rounds measure(const std::string& x, const std::vector<Contender>& contenders,
                   const Charts& charts, const std::string& what = {});

    // Prints all metrics of the samples, for the page. measure() calls this function for each
    // contender.
    void print_metrics(const std::string& x, const std::string& contestant,
                       const std::vector<Sample>& samples) const;

    void point(const std::string& chart, const std::string& series, const std::string& x,
               const std::vector<double>& values);
    // Prints a row with the ratio of the two contenders. A greater ratio is better for `ours`.
    void compare(const Comparison& what, const std::vector<Sample>& ours,
                 const std::vector<Sample>& theirs);
    // Does the same with the values of the rounds. Comparison::metric is not used.
    void compare(const Comparison& what, std::vector<double> ours, std::vector<double> theirs);
    // Prints a row with the values of the rounds.
    void report(const Value& what, std::vector<double> values);
    void row(const Row& row);

private:
    Scale x_scale_of(const std::string& chart) const;

    const Scenario& scenario_;
    const Settings& settings_;
    const std::string directory_;
    int folders_ = 0;
    std::map<std::string, std::unique_ptr<Server>> servers_;
};

// Prints the line that describes a scenario.
void print_scenario(const Scenario& scenario);

}  // namespace rocklock::bench
