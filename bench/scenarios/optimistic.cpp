// Optimistic and pessimistic locks, from no conflict to nothing but conflicts.
#include <cmath>
#include <optional>
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/bank.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t clerks = 16;
constexpr std::chrono::microseconds thinks{1000};

// How many accounts, and how much faster the optimistic ones were there.
struct Step {
    double accounts = 0;
    double ratio = 0;
};

Contender of_clerks(Database& database, const std::string& name, std::chrono::milliseconds duration,
                    const Once& once) {
    return {name, [=, &database] { return work(database, clerks, duration, once); }};
}

// Where both did as many transfers: between two steps a straight line, as the chart has it.
std::optional<double> crossing(const std::vector<Step>& steps) {
    for (std::size_t i = 1; i < steps.size(); ++i) {
        const double before = std::log(steps[i - 1].ratio);
        const double after = std::log(steps[i].ratio);
        if ((before > 0) == (after > 0)) continue;
        const double share = before / (before - after);
        return std::exp((1 - share) * std::log(steps[i - 1].accounts) +
                        share * std::log(steps[i].accounts));
    }
    return std::nullopt;
}

void run(Setting& setting) {
    Database database = setting.open(Store::durable);
    const auto accounts = setting.few<std::size_t>(10'000, 100);
    Bank bank(database, accounts);
    std::vector<Step> steps;
    for (const std::size_t among : setting.few<std::vector<std::size_t>>(
             {10'000, 1'000, 256, 64, 32, 16, 8, 4, 2}, {100, 2})) {
        const auto rounds = setting.measure(
            std::to_string(among),
            {of_clerks(database, "optimistic, repeated until it is saved", setting.duration(),
                       [&bank, among](Worker& worker) {
                           bank.transfer_optimistically(worker, among, thinks);
                       }),
             of_clerks(database, "locks of both accounts", setting.duration(),
                       [&bank, among](Worker& worker) {
                           bank.transfer_under_locks(worker, among, thinks);
                       })},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}, {"vain", waste_of}});
        setting.compare({"optimistic transfers among " + std::to_string(among) + " accounts",
                         "transfers/s", "with locks of both accounts"},
                        rounds[0], rounds[1]);
        steps.push_back(
            {static_cast<double>(among), spread_of(values_of(rounds[0], rate_of)).median /
                                             spread_of(values_of(rounds[1], rate_of)).median});
    }
    bank.audit();
    if (const auto found = crossing(steps)) {
        Row row;
        row.name = "so many accounts, and optimistic and locked transfers are as fast";
        row.unit = "accounts";
        row.ours = {*found, *found, *found};
        setting.row(row);
    }
}

}  // namespace

Scenario optimistic() {
    const std::string x = "accounts among which they transfer: the fewer, the more conflicts";
    return {"optimistic",
            "Optimistic and pessimistic transfers between accounts",
            "Sixteen clerks transfer money between two of some accounts, and think for a "
            "millisecond between reading and saving. An optimistic one saves if nobody has changed "
            "either account since, and otherwise has thought in vain and begins again. A "
            "pessimistic one locks both accounts first. Without conflicts the locks are what it "
            "costs more; with many, what was done in vain is.",
            {{"rate", "Transfers between accounts, durable", x, Scale::log, "transfers a second",
              Scale::log, "more"},
             {"late", "Time from the wish to the saved transfer, 99th percentile", x, Scale::log,
              "microseconds", Scale::log, "less"},
             {"vain", "Attempts that had to be repeated", x, Scale::log, "percent of all attempts",
              Scale::linear, "less"}},
            run};
}

}  // namespace rocklock::bench
