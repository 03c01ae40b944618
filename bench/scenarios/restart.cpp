// Reopens stores with a large number of held locks.
#include <optional>
#include <string>
#include <thread>

#include "lock/held.hpp"
#include "scenarios/all.hpp"
#include "scenarios/left_store.hpp"
#include "scenarios/redis_store.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

// The targets of memory and of the time to the first grant after a kill, for a million locks.
constexpr double memory_target_bytes = 125;
constexpr double restart_1m_target_s = 0.4;

// Redis without a log, with one key for each lock. It writes the keys to its RDB file once, and
// loads the file at each start.
class LeftRedis {
public:
    LeftRedis(Setting& setting, std::size_t keys)
        : contestant_(setting.contestant("Redis, no log", setting.folder())) {
        const Server server(contestant_);
        why_not_ = server.why_not();
        if (!why_not_.empty()) return;
        RedisStore store(server.connect_soon(Way::socket));
        // The first requests allocate memory that belongs to no key; it must not be counted.
        store.answers();
        const auto before = static_cast<double>(server.resident_bytes());
        // The keys expire, as locks do.
        store.fill(keys, std::chrono::time_point_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now() + std::chrono::hours{1}));
        bytes_each_ =
            (static_cast<double>(server.resident_bytes()) - before) / static_cast<double>(keys);
        store.save();
        contestant_.prepare.clear();
    }

    const std::string& why_not() const { return why_not_; }
    double bytes_each() const { return bytes_each_; }

    // Measures from the start of the program.
    Sample start_again() {
        const auto start = std::chrono::steady_clock::now();
        const Server server(contestant_);
        if (!server.why_not().empty()) give_up("start Redis again", server.why_not());
        RedisStore store(server.connect_soon(Way::socket));
        while (!store.answers()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return sample_of(seconds_since(start));
    }

private:
    Contestant contestant_;
    std::string why_not_;
    double bytes_each_ = 0;
};

// Prints the rows that have absolute targets.
void report_large(Setting& setting, const std::vector<Sample>& killed, double bytes_each) {
    setting.report({"first grant with 1M held, Rocklock embedded, killed before", "s",
                    restart_1m_target_s, true},
                   values_of(killed, seconds_of));
    setting.report({"memory of a held lock, 1M of them", "bytes", memory_target_bytes, true},
                   {bytes_each});
}

void measure(Setting& setting, std::size_t locks) {
    const LeftStore closed(setting, 0, locks, End::closed);
    const LeftStore killed(setting, 0, locks, End::killed);
    const LeftStore idle(setting, 0, locks, End::killed_when_idle);
    LeftRedis redis(setting, locks);
    const double ours_each = measure_memory(setting.folder() + "/memory", locks, true);
    setting.point("memory", "Rocklock embedded", std::to_string(locks), {ours_each});
    std::vector<Contender> contenders = {
        {"Rocklock embedded, closed before", [&] { return closed.open_embedded(); }},
        {"Rocklock embedded, killed before", [&] { return killed.open_embedded(); }},
        {"Rocklock daemon, killed before", [&] { return killed.start_daemon(); }},
        {"Rocklock embedded, killed when idle", [&] { return idle.open_embedded(); }},
        {"Rocklock daemon, killed when idle", [&] { return idle.start_daemon(); }}};
    if (redis.why_not().empty()) {
        setting.point("memory", "Redis", std::to_string(locks), {redis.bytes_each()});
        contenders.push_back({"Redis, from its RDB file", [&] { return redis.start_again(); }});
    } else {
        setting.leave_out("Redis", redis.why_not());
    }
    const auto rounds =
        setting.measure(std::to_string(locks), contenders, {{"restart", seconds_of}});
    if (locks == 1'000'000) report_large(setting, rounds[1], ours_each);
    if (!redis.why_not().empty()) return;
    for (std::size_t i = 0; i + 1 < contenders.size(); ++i) {
        setting.compare({"first grant with " + short_of(locks) + " held, " + contenders[i].name,
                         "s", "Redis, from its RDB file", 1.0, true, seconds_of},
                        rounds[i], rounds.back());
    }
    setting.compare(
        {"memory of a held lock, " + short_of(locks) + " of them", "bytes", "Redis", 1.0, true},
        std::vector<double>{ours_each}, std::vector<double>{redis.bytes_each()});
}

void run_restart(Setting& setting) {
    // Requirement S1: a million locks of one manager can be held at the same time.
    for (const std::size_t locks :
         setting.few<std::vector<std::size_t>>({10'000, 100'000, 1'000'000}, {2'000})) {
        measure(setting, locks);
    }
}

}  // namespace

Scenario restart() {
    return {"restart",
            "Opening a store with very many held locks",
            "A store with a number of held locks is closed, or its process is killed: directly "
            "after the last lock was acquired, or, \"when idle\", four seconds later. Then the "
            "store is opened again, and a free name is locked. For the daemon and Redis, the time "
            "begins when the program is started. For an embedded store, it begins with the call "
            "that opens the store. Redis loads the same number of keys from its RDB file, and its "
            "time ends when it no longer answers LOADING. The memory of a lock is the growth of "
            "the resident memory of the process, divided by the number of locks.",
            {{"restart", "Until the first grant after a restart", "held locks", Scale::log,
              "seconds", Scale::log, "less"},
             {"memory", "Resident memory of a held lock", "held locks", Scale::log, "bytes a lock",
              Scale::linear, "less"}},
            run_restart};
}

}  // namespace rocklock::bench
