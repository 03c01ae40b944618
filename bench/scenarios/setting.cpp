#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "scenarios/scenario.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock::bench {
namespace {

std::string_view word_of(Scale scale) {
    switch (scale) {
        case Scale::linear:
            return "linear";
        case Scale::log:
            return "log";
        case Scale::words:
            return "words";
    }
    return "";
}

void print(JsonWriter json) { std::cout << json.take() << std::endl; }

void write(JsonWriter& json, std::string_view name, std::string_view value) {
    json.key(name);
    json.string(value);
}

void write(JsonWriter& json, const Spread& spread) {
    json.key("median");
    json.number(spread.median);
    json.key("low");
    json.number(spread.low);
    json.key("high");
    json.number(spread.high);
    if (spread.rounds.empty()) return;
    json.key("rounds");
    json.begin_array();
    for (const double round : spread.rounds) json.number(round);
    json.end_array();
}

void write(JsonWriter& json, std::string_view name, const Spread& spread) {
    json.key(name);
    json.begin_object();
    write(json, spread);
    json.end_object();
}

// Runs a round, and adds the memory and the processor time of the server to its sample.
Sample round_of(const Contender& contender) {
    const Server* const server = contender.server;
    const double used = server == nullptr ? 0 : server->processor_seconds();
    Sample sample = contender.round();
    sample.megabytes = megabytes_of(::getpid());
    if (server == nullptr) return sample;
    sample.server_processor_seconds = server->processor_seconds() - used;
    sample.server_megabytes = server->megabytes();
    return sample;
}

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
}

// Returns the metrics to report: those for which the samples have values.
using Metrics = std::vector<std::pair<std::string, Metric>>;
Metrics metrics_of(const Scenario& scenario, const std::vector<Sample>& samples) {
    const auto any = [&](const auto& has) {
        return std::any_of(samples.begin(), samples.end(), has);
    };
    Metrics metrics{{"a second", rate_of}};
    const auto add_waits = [&](const std::string& whose, Latencies Sample::*waits) {
        if (!any([&](const Sample& one) { return (one.*waits).count() > 0; })) return;
        const std::string before = whose.empty() ? whose : whose + ": ";
        for (const auto& [name, share] : std::initializer_list<std::pair<std::string, double>>{
                 {"p50, µs", 0.5}, {"p99, µs", 0.99}, {"p99.9, µs", 0.999}}) {
            metrics.emplace_back(before + name, [waits, share = share](const Sample& one) {
                return (one.*waits).quantile_us(share);
            });
        }
    };
    add_waits(scenario.waits_of, &Sample::waits);
    add_waits(scenario.other_waits_of, &Sample::other_waits);
    if (any([](const Sample& one) { return one.done.size() > 1; })) {
        metrics.emplace_back("Jain's index", fairness_of);
    }
    if (any([](const Sample& one) { return one.wasted > 0; })) {
        metrics.emplace_back("repeated, %", waste_of);
    }
    const bool served = any([](const Sample& one) { return one.server_megabytes > 0; });
    if (any([](const Sample& one) { return one.processor_seconds > 0; })) {
        metrics.emplace_back(served ? "processor of the clients, µs each" : "processor, µs each",
                             thrift_of_clients);
    }
    if (any([](const Sample& one) { return one.megabytes > 0; })) {
        metrics.emplace_back(served ? "memory of the clients, MB" : "memory, MB",
                             megabytes_of_process);
    }
    if (served) {
        metrics.emplace_back("processor of the server, µs each", thrift_of_server);
        metrics.emplace_back("memory of the server, MB", megabytes_of_server);
    }
    return metrics;
}

// Begins a JSON line about a scenario.
JsonWriter line_of(std::string_view kind, std::string_view scenario) {
    JsonWriter json;
    json.begin_object();
    write(json, "kind", kind);
    write(json, "scenario", scenario);
    return json;
}

}  // namespace

std::string_view name_of(Store store) {
    switch (store) {
        case Store::memory:
            return "in memory";
        case Store::written:
            return "written";
        case Store::durable:
            return "durable";
    }
    return "";
}

void print_scenario(const Scenario& scenario) {
    JsonWriter json;
    json.begin_object();
    write(json, "kind", "scenario");
    write(json, "name", scenario.name);
    write(json, "title", scenario.title);
    write(json, "says", scenario.says);
    json.key("charts");
    json.begin_array();
    for (const Chart& chart : scenario.charts) {
        json.begin_object();
        write(json, "name", chart.name);
        write(json, "title", chart.title);
        write(json, "x", chart.x);
        write(json, "x_scale", word_of(chart.x_scale));
        write(json, "y", chart.y);
        write(json, "y_scale", word_of(chart.y_scale));
        write(json, "better", chart.better);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    print(std::move(json));
}

Setting::Setting(const Scenario& scenario, const Settings& settings)
    : scenario_(scenario),
      settings_(settings),
      directory_(settings.directory + "/bench_scenarios." + std::to_string(::getpid())) {
    std::filesystem::create_directories(directory_);
    // Servers that do not run as root create their folders in this directory.
    std::filesystem::permissions(directory_, std::filesystem::perms::all);
}

Setting::~Setting() {
    servers_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::string Setting::folder() {
    auto path = directory_ + "/store-" + std::to_string(++folders_);
    std::filesystem::create_directories(path);
    return path;
}

Database Setting::open(Store store) {
    if (store == Store::memory) return must(Database::in_memory(), "open in memory");
    DatabaseOptions options;
    if (store == Store::written) options.durability = Durability::written;
    return must(Database::open(folder(), std::move(options)), "open");
}

Database Setting::connect(Store store) {
    const std::string name = "Rocklock, " + std::string(name_of(store));
    const Server* const daemon = server(name);
    if (daemon == nullptr) give_up("connect", name + " cannot be started");
    return must(Database::connect(daemon->socket()), "connect");
}

Contestant Setting::contestant(const std::string& name, const std::string& folder) const {
    auto known = contestants(settings_.programs, folder);
    const auto at =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    if (at == known.end()) give_up("start a server", name + " is not known");
    return std::move(*at);
}

void Setting::leave_out(const std::string& name, const std::string& why) const {
    JsonWriter json = line_of("left_out", scenario_.name);
    write(json, "contestant", name);
    write(json, "why", why);
    json.end_object();
    print(std::move(json));
}

const Server* Setting::server(const std::string& name) {
    auto& found = servers_[name];
    if (!found) {
        found = std::make_unique<Server>(contestant(name, directory_));
        if (!found->why_not().empty()) leave_out(name, found->why_not());
    }
    return found->why_not().empty() ? found.get() : nullptr;
}

Setting::Rounds Setting::in_turn(const std::vector<Contender>& contenders) const {
    Rounds all(contenders.size());
    for (std::size_t round = 0; round <= settings_.rounds; ++round) {
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            // The order rotates, so that no contestant always runs first.
            const std::size_t turn = (i + round) % contenders.size();
            Sample sample = round_of(contenders[turn]);
            if (round > 0) all[turn].push_back(std::move(sample));
        }
    }
    return all;
}

Setting::Rounds Setting::measure(const std::string& x, const std::vector<Contender>& contenders,
                                 const Charts& charts, const std::string& what) {
    auto all = in_turn(contenders);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        for (const auto& [chart, metric] : charts) {
            point(chart, contenders[i].name, x, values_of(all[i], metric));
        }
        print_metrics(x, (what.empty() ? what : what + ": ") + contenders[i].name, all[i]);
    }
    progress(x);
    return all;
}

void Setting::progress(const std::string& step) const {
    std::cerr << scenario_.name << ": " << step << std::endl;
}

Scale Setting::x_scale_of(const std::string& chart) const {
    const auto at = std::find_if(scenario_.charts.begin(), scenario_.charts.end(),
                                 [&](const auto& one) { return one.name == chart; });
    if (at == scenario_.charts.end()) give_up("draw a point", "there is no chart " + chart);
    return at->x_scale;
}

void Setting::print_metrics(const std::string& x, const std::string& contestant,
                            const std::vector<Sample>& samples) const {
    JsonWriter json = line_of("figures", scenario_.name);
    write(json, "x", x);
    write(json, "contestant", contestant);
    json.key("figures");
    json.begin_array();
    for (const auto& [name, metric] : metrics_of(scenario_, samples)) {
        const auto values = values_of(samples, metric);
        if (!all_finite(values)) continue;
        json.begin_object();
        write(json, "name", name);
        write(json, spread_of(values));
        json.end_object();
    }
    json.end_array();
    json.end_object();
    print(std::move(json));
}

void Setting::point(const std::string& chart, const std::string& series, const std::string& x,
                    const std::vector<double>& values) {
    if (!all_finite(values)) return;
    JsonWriter json = line_of("point", scenario_.name);
    write(json, "chart", chart);
    write(json, "series", series);
    json.key("x");
    if (x_scale_of(chart) == Scale::words) {
        json.string(x);
    } else {
        json.number(std::stod(x));
    }
    write(json, spread_of(values));
    json.end_object();
    print(std::move(json));
}

void Setting::compare(const Comparison& what, const std::vector<Sample>& ours,
                      const std::vector<Sample>& theirs) {
    compare(what, values_of(ours, what.metric), values_of(theirs, what.metric));
}

void Setting::compare(const Comparison& what, std::vector<double> ours,
                      std::vector<double> theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        ratios.push_back(what.less_is_better ? theirs[i] / ours[i] : ours[i] / theirs[i]);
    }
    Row compared;
    compared.name = what.name;
    compared.unit = what.unit;
    compared.against = what.against;
    compared.ours = spread_of(std::move(ours));
    compared.theirs = spread_of(std::move(theirs));
    compared.ratio = spread_of(std::move(ratios));
    compared.target = what.target;
    row(compared);
}

void Setting::report(const Value& what, std::vector<double> values) {
    Row reported;
    reported.name = what.name;
    reported.unit = what.unit;
    reported.ours = spread_of(std::move(values));
    reported.target = what.target;
    reported.less_is_better = what.less_is_better;
    row(reported);
}

void Setting::row(const Row& row) {
    JsonWriter json = line_of("row", scenario_.name);
    write(json, "name", row.name);
    write(json, "unit", row.unit);
    write(json, "ours", row.ours);
    if (!row.against.empty()) {
        write(json, "against", row.against);
        write(json, "theirs", row.theirs);
        write(json, "ratio", row.ratio);
    }
    if (row.target) {
        json.key("target");
        json.number(*row.target);
        json.key("reached");
        json.boolean(row.reached());
        if (row.against.empty() && row.less_is_better) write(json, "better", "less");
    }
    json.end_object();
    print(std::move(json));
}

}  // namespace rocklock::bench
