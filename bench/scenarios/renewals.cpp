// Sessions that renew themselves, and the performance that is left for other requests.
#include <string>
#include <thread>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Deployment {
    std::string name;
    Database database;
    // Null if the store is embedded in this process.
    const Server* daemon = nullptr;

    double used() const {
        return processor_seconds() + (daemon == nullptr ? 0 : daemon->processor_seconds());
    }
};

// Opens `count` sessions, spread over the interval between two renewals of a session, so that their
// renewals are spread in the same way.
std::vector<Session> open_sessions(Setting& setting, Database& database, std::size_t count) {
    SessionOptions options;
    options.lease = std::chrono::milliseconds{setting.few(30'000, 300)};
    const auto until = std::chrono::duration<double>(options.lease) / 3;
    std::vector<Session> sessions;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        sessions.push_back(must(database.open_session("editor", options), "open a session"));
        const auto due = until * static_cast<double>(i + 1) / static_cast<double>(count);
        std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
    }
    return sessions;
}

// Measures the renewals while there is no other load.
void measure_renewals(Setting& setting, Deployment& deployment, std::size_t count) {
    const std::string x = std::to_string(count);
    std::vector<double> processors;
    std::vector<double> renewals;
    for (std::size_t round = 0; round < setting.rounds(); ++round) {
        const double used = deployment.used();
        const auto before = deployment.database.statistics().renewals;
        const auto start = Clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds{setting.few(600, 100)});
        const double seconds = seconds_since(start);
        const auto done = static_cast<double>(deployment.database.statistics().renewals - before);
        processors.push_back(100 * (deployment.used() - used) / seconds);
        renewals.push_back(done / seconds);
    }
    setting.point("processor", deployment.name, x, processors);
    setting.point("renewals", deployment.name, x, renewals);
    if (count < 1'000) return;
    // Up to ten percent fewer renewals than expected can be due to chance.
    setting.report({deployment.name + ", renewals of " + x + " sessions", "renewals/s",
                    0.9 * static_cast<double>(count) / 10},
                   renewals);
}

std::vector<Sample> measure_pairs(Setting& setting, Deployment& deployment) {
    std::vector<Sample> samples;
    for (std::size_t round = 0; round < setting.rounds(); ++round) {
        samples.push_back(work(deployment.database, 1,
                               setting.few(std::chrono::milliseconds{600}, setting.duration()),
                               [](Worker& worker) {
                                   Guard guard = take(worker, "mine");
                                   must(guard.release(), "release");
                                   ++worker.done;
                               }));
    }
    return samples;
}

void measure(Setting& setting, Deployment deployment, const std::vector<std::size_t>& counts) {
    std::vector<Sample> alone;
    for (const std::size_t count : counts) {
        const std::string x = std::to_string(count);
        auto sessions = open_sessions(setting, deployment.database, count);
        measure_renewals(setting, deployment, count);
        auto pairs = measure_pairs(setting, deployment);
        setting.point("half", deployment.name, x, values_of(pairs, half_of));
        setting.point("late", deployment.name, x, values_of(pairs, one_of_a_hundred_of));
        setting.print_metrics(x, deployment.name, pairs);
        if (alone.empty()) {
            alone = std::move(pairs);
        } else {
            setting.compare({deployment.name + ", pairs beside " + x + " sessions", "pairs/s",
                             "beside one", 0.9},
                            pairs, alone);
        }
        setting.progress(deployment.name + ", " + x);
        if (count != counts.back()) continue;
        // After the last measurement, the sessions are not closed but end with their leases,
        // because closing takes one request per session.
        for (Session& session : sessions) session.detach();
    }
}

void run(Setting& setting) {
    const auto counts =
        setting.few<std::vector<std::size_t>>({1, 1'000, 10'000, 100'000}, {1, 100});
    measure(setting, {"embedded, written", setting.open(Store::written)}, counts);
    // Connects first, which also starts the daemon.
    Deployment daemon{"daemon, written", setting.connect(Store::written)};
    daemon.daemon = setting.server("Rocklock, written");
    measure(setting, std::move(daemon), counts);
}

}  // namespace

Scenario renewals() {
    const std::string x = "sessions that are renewed every ten seconds";
    return {"renewals",
            "Renewals of many sessions",
            "A number of sessions are open. Their leases of 30 seconds are renewed every ten "
            "seconds or slightly earlier. The charts show the processor time of the renewals while "
            "there is no other load, and the time that another session needs to acquire a lock "
            "while these sessions are renewed. With the daemon, the processor time is the sum of "
            "that of the client and that of the server.",
            {{"processor", "Processor time of the renewals, without other load", x, Scale::log,
              "percent of one processor", Scale::linear, "less"},
             {"renewals",
              "Renewals per second (a tenth of the number of sessions if all renewals are in time)",
              x, Scale::log, "renewals a second", Scale::log, ""},
             {"half", "Time to acquire while these sessions are renewed, median", x, Scale::log,
              "microseconds", Scale::log, "less"},
             {"late", "Time to acquire while these sessions are renewed, 99th percentile", x,
              Scale::log, "microseconds", Scale::log, "less"}},
            run};
}

}  // namespace rocklock::bench
