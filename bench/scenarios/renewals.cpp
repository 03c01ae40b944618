// Sessions that renew themselves, and the performance that is left for other requests.
#include "scenarios/renewals.hpp"

#include <signal.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "child.hpp"
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
};

SessionOptions options_of(std::chrono::milliseconds lease) {
    SessionOptions options;
    options.lease = lease;
    return options;
}

// Opens `count` sessions, spread over the interval between two renewals of a session, so that their
// renewals are spread in the same way.
std::vector<Session> open_sessions(Database& database, std::size_t count,
                                   std::chrono::milliseconds lease) {
    const auto until = std::chrono::duration<double>(lease) / 3;
    std::vector<Session> sessions;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        sessions.push_back(
            must(database.open_session("editor", options_of(lease)), "open a session"));
        const auto due = until * static_cast<double>(i + 1) / static_cast<double>(count);
        std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
    }
    return sessions;
}

// The sessions that are renewed: those of this process if the store is embedded, and those of a
// child process if it is a daemon. The renewals of a child process can be paused.
class RenewedSessions {
public:
    RenewedSessions(Setting& setting, Deployment& deployment, std::size_t count)
        : deployment_(deployment) {
        const std::chrono::milliseconds lease{setting.few(30'000, 300)};
        if (deployment.daemon == nullptr) {
            own_ = open_sessions(deployment.database, count, lease);
            return;
        }
        child_.emplace(std::vector<std::string>{"sessions", deployment.daemon->socket(),
                                                std::to_string(count),
                                                std::to_string(lease.count())});
        if (child_->read_numbers().empty()) give_up("open the sessions", "the child has ended");
    }
    RenewedSessions(const RenewedSessions&) = delete;
    RenewedSessions& operator=(const RenewedSessions&) = delete;
    ~RenewedSessions() {
        if (!child_) return;
        ::kill(child_->pid(), SIGTERM);
        child_->wait();
    }

    // Leaves the sessions to the end of their leases. Otherwise, the destructor closes them, which
    // takes one request per session.
    void detach() {
        for (Session& session : own_) session.detach();
        child_.reset();
    }

    // Null if the sessions belong to this process.
    const ChildProcess* child() const { return child_ ? &*child_ : nullptr; }

    // The processor time of the server and of the process with the sessions.
    double processor_seconds_used() const {
        return child_
                   ? processor_seconds_of(child_->pid()) + deployment_.daemon->processor_seconds()
                   : processor_seconds();
    }

private:
    Deployment& deployment_;
    std::vector<Session> own_;
    std::optional<ChildProcess> child_;
};

// Measures the renewals while there is no other load.
void measure_renewals(Setting& setting, Deployment& deployment, const RenewedSessions& sessions,
                      std::size_t count) {
    const std::string x = std::to_string(count);
    std::vector<double> processors;
    std::vector<double> renewals;
    for (std::size_t round = 0; round < setting.rounds(); ++round) {
        const double used = sessions.processor_seconds_used();
        const auto before = deployment.database.statistics().renewals;
        const auto start = Clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds{setting.few(600, 100)});
        const double seconds = seconds_since(start);
        const auto done = static_cast<double>(deployment.database.statistics().renewals - before);
        processors.push_back(100 * (sessions.processor_seconds_used() - used) / seconds);
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

Sample measure_pairs(Setting& setting, Deployment& deployment) {
    return work(deployment.database, 1,
                setting.few(std::chrono::milliseconds{600}, setting.duration()),
                [](Worker& worker) {
                    Guard guard = take(worker, "mine");
                    must(guard.release(), "release");
                    ++worker.done;
                });
}

struct Pairs {
    std::vector<Sample> beside_renewals;
    // Empty if the renewals cannot be paused.
    std::vector<Sample> while_paused;
};

Pairs measure_all_pairs(Setting& setting, Deployment& deployment, const RenewedSessions& sessions) {
    Pairs pairs;
    for (std::size_t round = 0; round < setting.rounds(); ++round) {
        if (const ChildProcess* const child = sessions.child()) {
            child->pause();
            pairs.while_paused.push_back(measure_pairs(setting, deployment));
            child->resume();
            // The renewals that became due in the meantime are made first.
            std::this_thread::sleep_for(std::chrono::milliseconds{setting.few(600, 50)});
        }
        pairs.beside_renewals.push_back(measure_pairs(setting, deployment));
    }
    return pairs;
}

void measure(Setting& setting, Deployment deployment, const std::vector<std::size_t>& counts) {
    std::vector<Sample> beside_one;
    for (const std::size_t count : counts) {
        const std::string x = std::to_string(count);
        RenewedSessions sessions(setting, deployment, count);
        measure_renewals(setting, deployment, sessions, count);
        Pairs pairs = measure_all_pairs(setting, deployment, sessions);
        setting.point("half", deployment.name, x, values_of(pairs.beside_renewals, half_of));
        setting.point("late", deployment.name, x,
                      values_of(pairs.beside_renewals, one_of_a_hundred_of));
        setting.print_metrics(x, deployment.name, pairs.beside_renewals);
        const bool pauses = !pairs.while_paused.empty();
        if (beside_one.empty()) {
            beside_one = pairs.beside_renewals;
        } else {
            setting.compare({deployment.name + ", pairs beside " + x + " sessions", "pairs/s",
                             pauses ? "their renewals are paused" : "beside one", 0.9},
                            pairs.beside_renewals, pauses ? pairs.while_paused : beside_one);
        }
        setting.progress(deployment.name + ", " + x);
        if (count == counts.back()) sessions.detach();
    }
}

void run_renewals(Setting& setting) {
    const auto counts =
        setting.few<std::vector<std::size_t>>({1, 1'000, 10'000, 100'000}, {1, 100});
    measure(setting, {"embedded, written", setting.open(Store::written)}, counts);
    // Connects first, which also starts the daemon.
    Deployment daemon{"daemon, written", setting.connect(Store::written)};
    daemon.daemon = setting.server("Rocklock, written");
    measure(setting, std::move(daemon), counts);
}

}  // namespace

int run_sessions_child(int argc, char** argv) {
    if (argc < 6) return 2;
    // Before any thread is started, so that sigwait() receives the signal.
    sigset_t closing;
    ::sigemptyset(&closing);
    ::sigaddset(&closing, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &closing, nullptr);
    auto database = must(Database::connect(argv[3]), "connect");
    const auto sessions =
        open_sessions(database, std::strtoull(argv[4], nullptr, 10),
                      std::chrono::milliseconds{std::strtoll(argv[5], nullptr, 10)});
    send_to_parent({static_cast<double>(sessions.size())});
    // The destructors close the sessions.
    int signal = 0;
    ::sigwait(&closing, &signal);
    return 0;
}

Scenario renewals() {
    const std::string x = "sessions that are renewed every ten seconds";
    return {
        "renewals",
        "Renewals of many sessions",
        "A number of sessions are open. Their leases of 30 seconds are renewed every ten "
        "seconds or slightly earlier. The charts show the processor time of the renewals while "
        "there is no other load, and the time that another session needs to acquire a lock "
        "while these sessions are renewed. With the daemon, the processor time is the sum of "
        "that of the server and that of the process with the sessions. In each round, the pairs "
        "are also measured while this process is paused, and thus without renewals.",
        {{"processor", "Processor time of the renewals, without other load", x, Scale::log,
          "percent of one processor", Scale::linear, "less"},
         {"renewals",
          "Renewals per second (a tenth of the number of sessions if all renewals are in time)", x,
          Scale::log, "renewals a second", Scale::log, ""},
         {"half", "Time to acquire while these sessions are renewed, median", x, Scale::log,
          "microseconds", Scale::log, "less"},
         {"late", "Time to acquire while these sessions are renewed, 99th percentile", x,
          Scale::log, "microseconds", Scale::log, "less"}},
        run_renewals};
}

}  // namespace rocklock::bench
