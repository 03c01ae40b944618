// A large number of leases that end at the same time.
#include <algorithm>
#include <atomic>
#include <future>
#include <semaphore>
#include <string>
#include <thread>

#include "lock/contestants.hpp"
#include "scenarios/all.hpp"
#include "scenarios/redis_store.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;

constexpr double latest_target_ms = 10;
constexpr double ended_target = 257'000;
// The maximum number of probes of each kind.
constexpr std::size_t max_probes = 1000;

BootTime now() { return system_clock().now().boot; }

Session open_prober(Database& database) {
    SessionOptions options;
    options.lease = std::chrono::hours{1};
    return must(database.open_session("prober", options), "open a session");
}

// `count` sessions with one lock each.
class Leases {
public:
    Leases(Database& database, std::size_t count)
        : service_(database.service()), deadlines_(count) {}

    std::size_t count() const { return deadlines_.size(); }
    BootTime deadline(std::size_t number) const { return deadlines_[number]; }
    BootTime last_deadline() const {
        return *std::max_element(deadlines_.begin(), deadlines_.end());
    }

    // Acquires all locks with leases that end at `end`. Returns false if that took too long.
    bool take_until(BootTime end) {
        const bool all = submit_until(end);
        // The callbacks of pending requests use this object, so it waits for all of them.
        for (std::size_t i = 0; i < at_once; ++i) under_way_.acquire();
        return all && now() + milliseconds{100} < end;
    }

private:
    static constexpr std::ptrdiff_t at_once = 1024;

    bool submit_until(BootTime end) {
        for (std::size_t i = 0; i < count(); ++i) {
            const auto left = std::chrono::duration_cast<milliseconds>(end - now());
            if (left < limits::lease_min) return false;
            under_way_.acquire();
            service_.submit(request_for(i, left), [this, i](Result<Answer> answer) {
                deadlines_[i] = std::get<Grant>(must(std::move(answer), "take a lease")).deadline;
                under_way_.release();
            });
        }
        return true;
    }

    static Acquire request_for(std::size_t number, milliseconds lease) {
        Acquire acquire;
        acquire.opens.emplace().principal = "worker";
        acquire.opens->lease = lease;
        acquire.locks.push_back({.resource = name_of(number, false)});
        return acquire;
    }

    LockService& service_;
    std::vector<BootTime> deadlines_;
    std::counting_semaphore<at_once> under_way_{at_once};
};

// Measures how long after the end of a lease its resource is granted to another session. Half of
// the probes wait for a resource before its lease ends; the others request a resource afterwards.
class Probes {
public:
    Probes(Database& database, const Leases& leases)
        : leases_(leases),
          service_(database.service()),
          session_(open_prober(database)),
          each_(std::min(max_probes, leases.count() / 10)) {}

    void wait_before() {
        for (std::size_t i = 0; i < each_; ++i) {
            const std::size_t number = 2 * i * (leases_.count() / (2 * each_));
            submit(number, [this, number](BootTime granted) {
                waited_.record(granted - leases_.deadline(number));
                ++answered_;
            });
        }
    }

    void ask_after() {
        for (std::size_t i = 0; i < each_; ++i) {
            const std::size_t number = (2 * i + 1) * (leases_.count() / (2 * each_));
            std::promise<BootTime> answer;
            const BootTime asked = std::max(now(), leases_.deadline(number));
            submit(number, [&](BootTime granted) { answer.set_value(granted); });
            asked_.record(answer.get_future().get() - asked);
        }
        while (answered_ < each_) std::this_thread::sleep_for(milliseconds{1});
    }

    const Latencies& waited() const { return waited_; }
    const Latencies& asked() const { return asked_; }

private:
    void submit(std::size_t number, std::function<void(BootTime)> granted) {
        Acquire acquire;
        acquire.session = session_.id();
        acquire.locks.push_back({.resource = name_of(number, false)});
        acquire.patience = no_limit;
        service_.submit(std::move(acquire),
                        [granted = std::move(granted)](const Result<Answer>& answer) {
                            must(answer, "take what has ended");
                            granted(now());
                        });
    }

    const Leases& leases_;
    LockService& service_;
    Session session_;
    const std::size_t each_;
    // Accessed only by the thread that completes requests.
    Latencies waited_;
    std::atomic<std::size_t> answered_{0};
    Latencies asked_;
};

// The time that it takes to acquire one lock, or to set one key of Redis, measured in earlier
// attempts. It is used to choose an end of the leases before which all of them are acquired.
struct Speed {
    double seconds_each = 1e-4;

    std::chrono::duration<double> time_for(std::size_t count) const {
        return std::chrono::duration<double>(0.3 +
                                             1.25 * seconds_each * static_cast<double>(count));
    }
    void measured(std::chrono::duration<double> time, std::size_t count) {
        seconds_each = time.count() / static_cast<double>(count);
    }
};

// Returns none if the acquires were not complete in time. The caller then retries with the adjusted
// speed.
std::optional<Sample> end_together(Setting& setting, std::size_t count, Speed& speed) {
    Database database = setting.open(Store::written);
    Leases leases(database, count);
    const BootTime start = now();
    const BootTime end =
        start + std::chrono::duration_cast<std::chrono::nanoseconds>(speed.time_for(count));
    if (!leases.take_until(end)) {
        speed.seconds_each *= 2;
        return std::nullopt;
    }
    speed.measured(now() - start, count);
    Probes probes(database, leases);
    probes.wait_before();
    const BootTime last = leases.last_deadline();
    std::this_thread::sleep_for(last - now());
    double ended_seconds = 0;
    std::jthread watcher([&] {
        while (database.statistics().expired < count) {
            std::this_thread::sleep_for(milliseconds{1});
        }
        ended_seconds = std::chrono::duration<double>(now() - last).count();
    });
    probes.ask_after();
    watcher.join();
    Sample sample;
    sample.seconds = ended_seconds;
    sample.done = {count};
    sample.waits = probes.waited();
    sample.other_waits = probes.asked();
    return sample;
}

// Lets `count` keys expire at the same time, and measures how long Redis takes to remove them.
std::optional<Sample> end_together(const Server& redis, std::size_t count, Speed& speed) {
    using Wall = std::chrono::system_clock;
    RedisStore store(redis.connect_soon(Way::socket));
    const auto before = store.keys();
    const auto start = std::chrono::time_point_cast<milliseconds>(Wall::now());
    const auto end = start + std::chrono::ceil<milliseconds>(speed.time_for(count));
    store.fill(count, end);
    if (Wall::now() + milliseconds{10} > end) {
        speed.seconds_each *= 2;
        return std::nullopt;
    }
    speed.measured(Wall::now() - start, count);
    std::this_thread::sleep_until(end);
    while (store.keys() > before) std::this_thread::sleep_for(milliseconds{1});
    Sample sample;
    sample.seconds = std::chrono::duration<double>(Wall::now() - end).count();
    sample.done = {count};
    return sample;
}

double half_waited(const Sample& sample) { return sample.waits.quantile_us(0.5) / 1000; }
double last_waited(const Sample& sample) { return sample.waits.max_us() / 1000; }
double half_asked(const Sample& sample) { return sample.other_waits.quantile_us(0.5) / 1000; }
double last_asked(const Sample& sample) { return sample.other_waits.max_us() / 1000; }

void report_ours(Setting& setting, const std::string& count, const std::vector<Sample>& ours) {
    for (const auto& [series, metric] : std::initializer_list<std::pair<std::string, Metric>>{
             {"waiting before the end: median", half_waited},
             {"waiting before the end: maximum", last_waited},
             {"requested after the end: median", half_asked},
             {"requested after the end: maximum", last_asked}}) {
        setting.point("late", series, count, values_of(ours, metric));
    }
    setting.point("ended", "Rocklock embedded, written", count, values_of(ours, rate_of));
    const std::string all = count + " leases end at once: ";
    setting.report({all + "time until the last waiter is granted", "ms", latest_target_ms, true},
                   values_of(ours, last_waited));
    setting.report({all + "longest acquire after the end", "ms", latest_target_ms, true},
                   values_of(ours, last_asked));
    setting.report({all + "cleaned up", "leases/s", ended_target}, values_of(ours, rate_of));
}

// The speeds of the store and of Redis.
struct Speeds {
    Speed ours;
    Speed theirs;
};

void measure(Setting& setting, std::size_t count, std::size_t rounds, Speeds& speeds) {
    const Server* const redis = setting.server("Redis, no log");
    std::vector<Sample> ours;
    std::vector<Sample> theirs;
    const std::size_t wanted_of_redis = redis == nullptr ? 0 : rounds;
    for (std::size_t tries = 0; tries < 2 * rounds + 1; ++tries) {
        if (ours.size() < rounds) {
            if (auto sample = end_together(setting, count, speeds.ours))
                ours.push_back(std::move(*sample));
        }
        if (theirs.size() < wanted_of_redis) {
            if (auto sample = end_together(*redis, count, speeds.theirs))
                theirs.push_back(std::move(*sample));
        }
    }
    const std::string x = std::to_string(count);
    if (ours.size() < rounds) {
        return setting.leave_out(
            "Rocklock, " + x + " leases",
            "the machine is too slow to acquire all locks before the leases end");
    }
    report_ours(setting, x, ours);
    if (theirs.size() < wanted_of_redis) {
        setting.leave_out("Redis, " + x + " keys",
                          "the machine is too slow to set all keys before they expire");
    } else if (redis != nullptr) {
        setting.point("ended", "Redis, no log", x, values_of(theirs, rate_of));
        setting.compare(
            {x + " leases end at once: cleaned up, beside Redis", "leases/s", "Redis, no log", 1},
            ours, theirs);
    }
    setting.progress(x);
}

void run_ends(Setting& setting) {
    Speeds speeds;
    measure(setting, setting.few<std::size_t>(10'000, 1'000), setting.rounds(), speeds);
    if (setting.quick()) return;
    measure(setting, 100'000, setting.rounds(), speeds);
    // Takes minutes, mostly to acquire the leases.
    measure(setting, 1'000'000, setting.rounds(), speeds);
}

}  // namespace

Scenario ends() {
    return {"ends",
            "Leases that end at the same moment",
            "Many sessions, each with one lock, end in the same millisecond, as if a machine with "
            "all its programs had failed. Other sessions acquire some of these locks. A request "
            "that already waits should be granted as soon as the lease has ended. A request that "
            "arrives later should be granted immediately, even while the other leases are still "
            "being cleaned up.",
            {{"late", "From the end of a lease to the grant to another session",
              "leases that end at once", Scale::log, "milliseconds", Scale::log, "less"},
             {"ended", "Leases that are cleaned up", "leases that end at once", Scale::log,
              "leases a second", Scale::log, "more"}},
            run_ends};
}

}  // namespace rocklock::bench
