// bench_scenarios: the behaviour of locks under contention.
//
//     bench_scenarios [--list] [--quick] [--rounds N] [--seconds S] [--directory DIR]
//                     [--program ROCKLOCK] [--dynalite PROGRAM] [--dynamodb-local DIR]
//                     [SCENARIO...]
//
// Prints one JSON object per line: the scenarios, and their points and rows as they are measured.
// Reports its progress on stderr. scripts/bench creates the table, the charts and the page from
// this output.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "child.hpp"
#include "lock/held.hpp"
#include "scenarios/all.hpp"
#include "scenarios/renewals.hpp"

namespace rocklock::bench {

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = {
        uncontended(), hot(),        zipf(),     readers_and_writers(),
        sets(),        table_edit(), upgrades(), renewals(),
        ends(),        deaths(),     guarded(),  optimistic(),
        coarse(),      items(),      restart(),  growth(),
        busy()};
    return all;
}

namespace {

struct Asked {
    Settings settings;
    bool list = false;
    std::vector<const Scenario*> scenarios;
};

[[noreturn]] void explain(const std::string& wrong) {
    std::cerr << "bench_scenarios: " << wrong << "\nThe scenarios are:";
    for (const Scenario& scenario : scenarios()) std::cerr << ' ' << scenario.name;
    std::cerr << std::endl;
    std::exit(2);
}

const Scenario& find(std::string_view name) {
    const auto& all = scenarios();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (at == all.end()) explain("there is no scenario '" + std::string(name) + "'");
    return *at;
}

double number_of(std::string_view option, std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number <= 0 || number > 3600) {
        explain(std::string(option) + " wants a number above 0, and not '" + std::string(text) +
                "'");
    }
    return number;
}

Asked read(const std::vector<std::string>& words) {
    Asked asked;
    asked.settings.directory = std::filesystem::temp_directory_path().string();
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 >= words.size()) explain(word + " wants a value");
            return words[++i];
        };
        if (word == "--list") {
            asked.list = true;
        } else if (word == "--quick") {
            asked.settings.quick = true;
            asked.settings.rounds = 1;
            asked.settings.duration = std::chrono::milliseconds{50};
        } else if (word == "--rounds") {
            asked.settings.rounds =
                std::max<std::size_t>(1, static_cast<std::size_t>(number_of(word, value())));
        } else if (word == "--seconds") {
            asked.settings.duration = std::chrono::milliseconds{std::max<std::int64_t>(
                1, static_cast<std::int64_t>(1000 * number_of(word, value())))};
        } else if (word == "--directory") {
            asked.settings.directory = value();
        } else if (word == "--program") {
            asked.settings.programs.rocklock = value();
        } else if (word == "--dynalite") {
            asked.settings.programs.dynalite = value();
        } else if (word == "--dynamodb-local") {
            asked.settings.programs.dynamodb_local = value();
        } else if (word.starts_with("-")) {
            explain("there is no option " + word);
        } else {
            asked.scenarios.push_back(&find(word));
        }
    }
    if (!asked.list && asked.settings.programs.rocklock.empty()) {
        explain("--program must name the program rocklock");
    }
    if (asked.scenarios.empty()) {
        for (const Scenario& scenario : scenarios()) asked.scenarios.push_back(&scenario);
    }
    return asked;
}

void run(const Asked& asked) {
    for (const Scenario* scenario : asked.scenarios) {
        print_scenario(*scenario);
        if (asked.list) continue;
        Setting setting(*scenario, asked.settings);
        scenario->run(setting);
    }
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    if (is_child(argc, argv)) {
        return std::string_view(argv[2]) == "sessions" ? run_sessions_child(argc, argv)
                                                       : run_child(argc, argv);
    }
    run(read(std::vector<std::string>(argv + 1, argv + argc)));
    return 0;
}
