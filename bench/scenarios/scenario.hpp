// Scenarios: what many do who want the same, and what is told of it.
//
//     bench_scenarios ──► Scenario::run(Setting&) ──► points and rows, one JSON object a line
//
// scripts/bench runs each in a process of its own, and makes the table, the charts and the page.
//
// To add one: write a file with a function that returns a Scenario, name the function in all.hpp
// and in the list of main.cpp, and the file in bench/meson.build. Setting::measure() lets the
// contestants take turns and tells the points of the charts; compare() tells a row of ratios.
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
    // "more", "less", or neither.
    std::string better;
};

struct Settings {
    bool quick = false;
    std::size_t rounds = 5;
    std::chrono::milliseconds duration{300};
    std::string directory;
    Programs programs;
};

class Setting;

struct Scenario {
    std::string name;
    std::string title;
    // What is done, and what to look for.
    std::string says;
    std::vector<Chart> charts;
    std::function<void(Setting&)> run;
    // Whose waits Sample has, where they are not everybody's.
    std::string waits_of{};
    std::string other_waits_of{};
};

// In the order in which they are told.
const std::vector<Scenario>& scenarios();

// The kinds of a store.
enum class Store : std::uint8_t { memory, written, durable };
std::string_view name_of(Store store);

// A row that compares.
struct Comparison {
    std::string name;
    std::string unit;
    std::string against;
    // What the ratio is to reach.
    std::optional<double> target = std::nullopt;
    bool less_is_better = false;
    Metric metric = rate_of;
};

// What a scenario runs with, and where it tells what it found.
class Setting {
public:
    Setting(const Scenario& scenario, const Settings& settings);
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting();

    bool quick() const { return settings_.quick; }
    std::size_t rounds() const { return settings_.rounds; }
    std::chrono::milliseconds duration() const { return settings_.duration; }
    // Of these values only one, where a moment is all there is.
    template <typename T>
    std::vector<T> some(std::vector<T> values) const {
        return quick() ? std::vector<T>{values[values.size() / 2]} : values;
    }
    template <typename T>
    T few(T normally, T quickly) const {
        return quick() ? quickly : normally;
    }

    // A store of this process's, in a folder that goes with the scenario.
    Database open(Store store);
    // That of a daemon, through its socket.
    Database connect(Store store);
    // Of a daemon or another server, as bench_daemon calls it: started when it is wanted first.
    // None, and told, where it cannot be.
    const Server* server(const std::string& name);
    // The same, to be started and ended by the scenario itself, in a folder that it names.
    Contestant contestant(const std::string& name, const std::string& folder) const;
    // Tells that one is not measured.
    void leave_out(const std::string& name, const std::string& why) const;
    // A folder that goes with the scenario.
    std::string folder();

    // Each contestant once a round, in turn, after a round that does not count.
    using Rounds = std::vector<std::vector<Sample>>;
    Rounds in_turn(const std::vector<Contender>& contenders) const;
    // That a step of the scenario is done.
    void progress(const std::string& step) const;
    // The same; and each of the charts gets a point of each contestant. `what` tells steps with the
    // same x and the same contestants apart.
    using Charts = std::vector<std::pair<std::string, Metric>>;
    Rounds measure(const std::string& x, const std::vector<Contender>& contenders,
                   const Charts& charts, const std::string& what = {});

    // All that the samples have, for the page; measure() tells it of each contestant.
    void figures(const std::string& x, const std::string& contestant,
                 const std::vector<Sample>& samples) const;

    void point(const std::string& chart, const std::string& series, const std::string& x,
               const std::vector<double>& values);
    // How many times better ours is than theirs.
    void compare(const Comparison& what, const std::vector<Sample>& ours,
                 const std::vector<Sample>& theirs);
    void row(const Row& row);

private:
    Scale x_scale_of(const std::string& chart) const;

    const Scenario& scenario_;
    const Settings& settings_;
    const std::string place_;
    int folders_ = 0;
    std::map<std::string, std::unique_ptr<Server>> servers_;
};

// The line of a scenario.
void print_scenario(const Scenario& scenario);

}  // namespace rocklock::bench
