// Optimistic and pessimistic locks, from almost no conflicts to very many.
#include <cmath>
#include <optional>
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/bank.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t clerks = 16;
constexpr std::chrono::microseconds thinks{1000};

// A number of accounts, and the ratio of the optimistic rate to the pessimistic one.
struct Step {
    double accounts = 0;
    double ratio = 0;
};

Contender of_clerks(Database& database, const std::string& name, std::chrono::milliseconds duration,
                    const Once& once) {
    return {name, [=, &database] { return work(database, clerks, duration, once); }};
}

// Returns the number of accounts at which both rates are equal, or none if they never are.
// Interpolates between two steps on logarithmic scales, as the chart does.
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

void report_crossing(Setting& setting, const std::string& what, const std::vector<Step>& steps) {
    const auto found = crossing(steps);
    if (!found) {
        return setting.leave_out("number of accounts with which " + what,
                                 "the same method was faster with every number of accounts");
    }
    Row row;
    row.name = "number of accounts with which " + what;
    row.unit = "accounts";
    row.ours = {*found, *found, *found};
    setting.row(row);
}

void run_optimistic(Setting& setting) {
    Database database = setting.open(Store::durable);
    const auto accounts = setting.few<std::size_t>(10'000, 100);
    Bank bank(database, accounts);
    std::vector<Step> by_rate;
    std::vector<Step> by_wait;
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
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}, {"wasted", waste_of}});
        setting.compare({"optimistic transfers among " + std::to_string(among) + " accounts",
                         "transfers/s", "with locks of both accounts"},
                        rounds[0], rounds[1]);
        setting.compare(
            {"the slowest of a hundred among " + std::to_string(among) + " accounts", "µs",
             "with locks of both accounts", std::nullopt, true, one_of_a_hundred_of},
            rounds[0], rounds[1]);
        const auto median = [&](std::size_t which, const Metric& metric) {
            return spread_of(values_of(rounds[which], metric)).median;
        };
        const auto accounts_there = static_cast<double>(among);
        by_rate.push_back({accounts_there, median(0, rate_of) / median(1, rate_of)});
        by_wait.push_back(
            {accounts_there, median(1, one_of_a_hundred_of) / median(0, one_of_a_hundred_of)});
    }
    bank.audit();
    report_crossing(setting, "optimistic transfers are as fast as locked ones", by_rate);
    report_crossing(setting, "the slowest of a hundred take as long without locks as with them",
                    by_wait);
}

}  // namespace

Scenario optimistic() {
    const std::string x = "number of accounts (fewer accounts cause more conflicts)";
    return {"optimistic",
            "Optimistic and pessimistic transfers between accounts",
            "Sixteen clerks transfer money between two accounts out of a number of accounts, and "
            "think for a millisecond between reading and saving. An optimistic clerk saves if "
            "neither account has changed since it was read; otherwise, the clerk starts again. A "
            "pessimistic clerk locks both accounts first, and never starts again. With few "
            "conflicts, locks cost more than repeated work. The more conflicts there are, the more "
            "work is repeated, and the slowest transfers are the first to show it.",
            {{"rate", "Transfers between accounts, durable", x, Scale::log, "transfers a second",
              Scale::log, "more"},
             {"late", "Time from the beginning to the saved transfer, 99th percentile", x,
              Scale::log, "microseconds", Scale::log, "less"},
             {"wasted", "Transfers that were repeated because an account had changed", x,
              Scale::log, "percent of all attempts", Scale::linear, "less"}},
            run_optimistic};
}

}  // namespace rocklock::bench
