#include "daemon/lock_work.hpp"

#include <numeric>
#include <optional>
#include <string>

#include "daemon/drive.hpp"

namespace rocklock::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The last release of a lock that all clients share.
struct HandOff {
    std::optional<Clock::time_point> released_at;
    Latencies times;
};

struct Worker {
    std::unique_ptr<LockClient> client;
    std::string resource;
    bool waits = false;
    bool asked = false;
    // Whether the last request was a release.
    bool gives_back = false;
    Clock::time_point asked_at;
    std::uint64_t pairs = 0;
    Latencies latencies;
    // Null if the clients do not share a lock, or run in several threads.
    HandOff* hand_off = nullptr;

    // If `stop` is true, a client that holds the lock still releases it, so that no other client
    // waits forever.
    bool proceed(bool stop) {
        if (gives_back) {
            ++pairs;
            if (stop) return false;
        }
        gives_back = asked && !gives_back;
        asked = true;
        if (gives_back) {
            const auto now = Clock::now();
            latencies.record(now - asked_at);
            if (hand_off != nullptr) {
                if (hand_off->released_at) hand_off->times.record(now - *hand_off->released_at);
                hand_off->released_at = now;
            }
            client->give_back(resource);
        } else {
            asked_at = Clock::now();
            client->ask(resource, waits);
        }
        return true;
    }
};

}  // namespace

double LockRun::pairs_a_second() const {
    return static_cast<double>(std::accumulate(pairs.begin(), pairs.end(), std::uint64_t{0})) /
           seconds;
}

LockRun measure_locks(const ConnectLocks& connect, Wanted wanted, std::size_t clients,
                      std::size_t threads, std::chrono::milliseconds duration) {
    std::vector<Worker> workers(clients);
    std::vector<Work> all;
    HandOff hand_off;
    for (std::size_t i = 0; i < clients; ++i) {
        Worker& worker = workers[i];
        worker.client = connect();
        worker.waits = wanted == Wanted::the_same;
        if (worker.waits && threads == 1) worker.hand_off = &hand_off;
        worker.resource = worker.waits ? "one" : "bench/" + std::to_string(i);
        all.push_back({worker.client.get(), [&worker](bool stop) { return worker.proceed(stop); }});
    }
    LockRun run;
    run.seconds = drive(all, threads, duration);
    for (const Worker& worker : workers) {
        run.pairs.push_back(worker.pairs);
        run.waits.add(worker.latencies);
    }
    run.hand_offs = hand_off.times;
    return run;
}

}  // namespace rocklock::bench
