// The daemon and Redis while other programs use the processors.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/all.hpp"
#include "scenarios/lockers.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t computing_processes = 2;
// The ratio to Redis on the busy machine, as a share of the ratio on the idle machine.
constexpr double busy_target = 0.8;

// Processes that compute until they are destroyed.
class ComputingProcesses {
public:
    explicit ComputingProcesses(std::size_t count) {
        const pid_t parent = ::getpid();
        for (std::size_t i = 0; i < count; ++i) {
            const pid_t child = ::fork();
            if (child < 0) give_up("start a computing process", "fork() failed");
            if (child == 0) compute(parent);
            children_.push_back(child);
        }
    }
    ComputingProcesses(const ComputingProcesses&) = delete;
    ComputingProcesses& operator=(const ComputingProcesses&) = delete;
    ~ComputingProcesses() {
        for (const pid_t child : children_) ::kill(child, SIGKILL);
        for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    }

private:
    [[noreturn]] static void compute(pid_t parent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) std::_Exit(1);
        for (volatile unsigned sum = 0;;) sum = sum + 1;
    }

    std::vector<pid_t> children_;
};

Contender on_busy_machine(Contender contender) {
    contender.name += ", busy machine";
    contender.round = [round = std::move(contender.round)] {
        const ComputingProcesses computing(computing_processes);
        return round();
    };
    return contender;
}

std::vector<double> ratios_of(const std::vector<Sample>& ours, const std::vector<Sample>& theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        ratios.push_back(rate_of(ours[i]) / rate_of(theirs[i]));
    }
    return ratios;
}

// Compares the ratio to Redis on the busy machine with that on the idle machine. `rounds` are those
// of Rocklock and of Redis on the idle machine, and then on the busy machine.
void report_ratio_to_redis(Setting& setting, const std::string& what,
                           const Setting::Rounds& rounds) {
    setting.compare({"daemon, " + what + ", busy machine: ratio to Redis", "×",
                     "on the idle machine", busy_target},
                    ratios_of(rounds[2], rounds[3]), ratios_of(rounds[0], rounds[1]));
}

void measure(Setting& setting, Store store, const std::string& redis, const Locking& locking) {
    const std::string kind(name_of(store));
    const std::string what =
        locking.wanted == Wanted::own
            ? "pairs, " + std::to_string(locking.clients) + " clients, " + kind
            : "hand-off, " + std::to_string(locking.clients) + " on one, " + kind;
    std::vector<Contender> contenders;
    add_clients(contenders, setting, "Rocklock, " + kind, locking);
    add_clients(contenders, setting, redis, locking);
    if (contenders.size() < 2) return;
    for (std::size_t i = 0; i < 2; ++i) contenders.push_back(on_busy_machine(contenders[i]));
    const auto rounds = setting.measure(what, contenders, {{"busy", rate_of}});
    const std::string unit = locking.wanted == Wanted::own ? "pairs/s" : "hand-offs/s";
    setting.compare({"daemon, " + what + ", busy machine", unit, redis, 1.0}, rounds[2], rounds[3]);
    report_ratio_to_redis(setting, what, rounds);
}

}  // namespace

Scenario busy() {
    return {"busy",
            "A busy machine",
            "While the clients acquire and release, two other processes compute without a pause. "
            "'Idle' means that only the clients and the server run. The ratio to Redis should be "
            "about the same on the busy machine as on the idle machine.",
            {{"busy", "Acquire and release on an idle and on a busy machine", "operation",
              Scale::words, "pairs or hand-offs a second", Scale::log, "more"}},
            [](Setting& setting) {
                const Locking pairs{Wanted::own, 64};
                const Locking hand_off{Wanted::the_same, 16};
                measure(setting, Store::memory, "Redis, no log", pairs);
                measure(setting, Store::written, "Redis, synced every second", pairs);
                measure(setting, Store::durable, "Redis, always synced", pairs);
                measure(setting, Store::memory, "Redis, no log", hand_off);
                measure(setting, Store::durable, "Redis, always synced", hand_off);
            }};
}

}  // namespace rocklock::bench
