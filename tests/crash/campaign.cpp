#include "crash/campaign.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/kill_point.hpp"
#include "support/event_text.hpp"

namespace rocklock::crash {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// After this many rounds, the next worker begins with a new store, because the model becomes slow
// with a long history.
constexpr std::uint64_t rounds_per_store = 40;
// Long enough for a build with sanitizers on a busy machine.
constexpr std::chrono::seconds too_long{120};
constexpr microseconds poll_interval{100};

std::string worker_program() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "crash/crash_worker")
        .string();
}

pid_t start(const std::string& store, const std::string& journal) {
    const std::string program = worker_program();
    std::string name = "crash_worker";
    std::string first = store;
    std::string second = journal;
    char* const arguments[] = {name.data(), first.data(), second.data(), nullptr};
    pid_t process = 0;
    const int failed = posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environ);
    if (failed != 0) throw std::runtime_error(program + " does not start");
    return process;
}

// Returns the exit status if the process has ended, otherwise none.
std::optional<int> ended(pid_t process) {
    int status = 0;
    pid_t found = 0;
    do found = waitpid(process, &status, WNOHANG);
    while (found < 0 && errno == EINTR);
    if (found == 0) return std::nullopt;
    return status;
}

bool is_durable(Verb verb) {
    return !is_deferred(verb) && verb != Verb::open && verb != Verb::renew &&
           verb != Verb::convert_down;
}

std::string described(const Life& life) {
    std::string text;
    for (const Step& step : life.steps) {
        text += "\n  " + std::to_string(step.decided) + " " +
                std::string(to_string(step.operation.verb)) + ": " +
                proof::describe(Event(step.operation.request)) + " -> " +
                (step.answer ? proof::describe(*step.answer) : "not answered");
    }
    return text;
}

}  // namespace

std::vector<Target> targets() {
    std::vector<Target> all;
    for (std::size_t i = 0; i < verb_count; ++i) {
        const auto verb = static_cast<Verb>(i);
        // Excluded: the grant is written by the manager's thread, as a part of another decision.
        if (verb == Verb::wait) continue;
        for (std::size_t point = 0; point < point_count; ++point) {
            const bool synced = point == static_cast<std::size_t>(KillPoint::after_sync);
            if (!synced || is_durable(verb)) all.push_back({verb, point});
        }
    }
    return all;
}

Orders Campaign::orders() {
    Orders orders;
    orders.seed = random_.next();
    orders.operations = 50;
    return orders;
}

Round Campaign::at_point(Company company, Target target, std::uint32_t nth) {
    Orders orders = this->orders();
    orders.nth = target.verb == Verb::recovery ? 1 : nth;
    orders.verb = target.verb;
    orders.point = target.point;
    orders.background = company != Company::alone;
    orders.threads = company == Company::threads ? 3 : 1;
    return play(orders, Killer::worker);
}

Round Campaign::in_flush(Flushes flushes, std::uint32_t nth) {
    Orders orders = this->orders();
    if (flushes == Flushes::often) {
        orders.threads = 2;
        orders.background = true;
        orders.operations = 500;
        orders.write_buffer_bytes = 8U << 10;
    }
    orders.nth_in_flush = nth;
    return play(orders, Killer::worker);
}

Round Campaign::at_random() {
    Orders orders = this->orders();
    orders.threads = 1 + static_cast<std::uint32_t>(random_.below(3));
    orders.background = random_.percent(80);
    orders.operations = 100;
    orders.stays = true;
    return play(orders, Killer::harness);
}

Round Campaign::play(const Orders& orders, Killer killer) {
    if (!directory_ || counts_.rounds % rounds_per_store == 0) {
        directory_ = std::make_unique<testing::TemporaryDirectory>();
        outside_ = {};
        ++counts_.stores;
    }
    ++counts_.rounds;
    const auto boot = [this] { return "boot " + std::to_string(boots_); };
    Orders own_orders = orders;
    const std::string boot_id = boot();
    std::copy(boot_id.begin(), boot_id.end(), own_orders.boot_id.begin());
    const Journal journal = Journal::create(*directory_ / "journal", own_orders);
    Round round;
    const Complaint wrong =
        end_of(start(*directory_ / "store", *directory_ / "journal"), journal, killer);
    if (auto life = read(journal)) {
        round.life = *std::move(life);
        // Sometimes simulates a restart of the machine.
        const bool reboots = random_.percent(10);
        if (reboots) {
            ++boots_;
            ++counts_.reboots;
        }
        round.found = inspect(*directory_ / "store", boot(), random_.percent(15));
        round.found.exact = !reboots;
    } else {
        round.found.wrong = "the journal can't be read";
    }
    if (wrong) round.found.wrong = wrong;
    count(journal, killer, round);
    return round;
}

// Waits until the worker kills itself, or kills it. Returns a complaint if it ends in any other
// way. Sleeping is intended: the worker is another process, and must die at an arbitrary time.
Complaint Campaign::end_of(int process, const Journal& journal, Killer killer) {
    const auto begin = steady_clock::now();
    const bool from_the_start = random_.percent(15);
    microseconds wait{random_.below(30'000)};
    std::optional<int> status;
    bool waited = killer == Killer::worker;
    while (!(status = ended(process))) {
        const auto now = steady_clock::now();
        const bool late = now - begin > too_long;
        if (!waited && (from_the_start || journal.header().recovered.load() != 0)) {
            std::this_thread::sleep_for(wait);
            waited = true;
            kill(process, SIGKILL);
        } else if (late) {
            kill(process, SIGKILL);
            waitpid(process, nullptr, 0);
            return "the worker does not come to an end";
        } else {
            std::this_thread::sleep_for(poll_interval);
        }
    }
    if (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL) return std::nullopt;
    return "the worker ended by itself, with status " + std::to_string(*status);
}

void Campaign::count(const Journal& journal, Killer killer, Round& round) {
    const JournalHeader& header = journal.header();
    for (std::size_t verb = 0; verb < verb_count; ++verb) {
        for (std::size_t point = 0; point < point_count; ++point) {
            counts_.passed[verb][point] += header.passed[verb][point].load();
        }
    }
    round.verb = header.orders.verb;
    round.point = header.orders.point;
    round.at_point = header.killed_itself.load() != 0;
    if (header.killed_in_flush.load() != 0) {
        ++counts_.killed_in_flush;
    } else if (killer == Killer::harness) {
        ++counts_.killed_at_random;
    } else if (round.at_point) {
        ++counts_.killed_at_points;
        ++counts_.kills[static_cast<std::size_t>(round.verb)][round.point];
    } else {
        ++counts_.missed;
    }
}

Complaint Campaign::judge(const Round& round) {
    const Verdict verdict = outside_.judge(round.life, round.found);
    counts_.decided += verdict.decided;
    counts_.answered += verdict.answered;
    counts_.grants_compared += verdict.grants;
    counts_.lost += verdict.decided - verdict.survived;
    for (const Step& step : round.life.steps) {
        const bool survived = step.decided > 0 && step.decided <= verdict.survived;
        if (survived && !step.answer) ++counts_.unanswered_survivors;
    }
    if (!verdict.wrong) return std::nullopt;
    return "seed " + std::to_string(seed_) + ", round " + std::to_string(counts_.rounds) + ", " +
           (round.at_point ? std::string(to_string(round.verb)) + " " + point_names[round.point]
                           : std::string("killed at random or in a flush")) +
           ": " + *verdict.wrong + described(round.life);
}

std::vector<Target> Campaign::never_hit() const {
    std::vector<Target> missing;
    for (const Target& target : targets()) {
        if (counts_.kills[static_cast<std::size_t>(target.verb)][target.point] == 0) {
            missing.push_back(target);
        }
    }
    return missing;
}

std::string Campaign::report() const {
    std::string text =
        std::to_string(counts_.rounds) + " rounds on " + std::to_string(counts_.stores) +
        " stores: " + std::to_string(counts_.killed_at_points) + " killed at points, " +
        std::to_string(counts_.killed_in_flush) + " in a flush, " +
        std::to_string(counts_.killed_at_random) + " at random, " + std::to_string(counts_.missed) +
        " at the end of their work; " + std::to_string(counts_.reboots) +
        " restarts of the machine\n" + std::to_string(counts_.decided) + " operations decided, " +
        std::to_string(counts_.answered) + " answers judged, " + std::to_string(counts_.lost) +
        " decisions lost, " + std::to_string(counts_.unanswered_survivors) +
        " survived unanswered, " + std::to_string(counts_.grants_compared) + " grants compared\n";
    char line[128];
    std::snprintf(line, sizeof line, "%-14s", "killed at");
    text += line;
    for (const char* const name : point_names) {
        std::snprintf(line, sizeof line, "%22s", name);
        text += line;
    }
    for (std::size_t verb = 0; verb < verb_count; ++verb) {
        std::snprintf(line, sizeof line, "\n%-14s",
                      std::string(to_string(static_cast<Verb>(verb))).c_str());
        text += line;
        for (std::size_t point = 0; point < point_count; ++point) {
            std::snprintf(line, sizeof line, "%9llu of %9llu",
                          static_cast<unsigned long long>(counts_.kills[verb][point]),
                          static_cast<unsigned long long>(counts_.passed[verb][point]));
            text += line;
        }
    }
    return text + "\n";
}

}  // namespace rocklock::crash
