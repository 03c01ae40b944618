#include "daemon/lock_work.hpp"

#include <numeric>
#include <string>

#include "daemon/drive.hpp"

namespace rocklock::bench {
namespace {

using Clock = std::chrono::steady_clock;

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
            latencies.record(Clock::now() - asked_at);
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
    for (std::size_t i = 0; i < clients; ++i) {
        Worker& worker = workers[i];
        worker.client = connect();
        worker.waits = wanted == Wanted::the_same;
        worker.resource = worker.waits ? "one" : "bench/" + std::to_string(i);
        all.push_back({worker.client.get(), [&worker](bool stop) { return worker.proceed(stop); }});
    }
    LockRun run;
    run.seconds = drive(all, threads, duration);
    for (const Worker& worker : workers) {
        run.pairs.push_back(worker.pairs);
        run.waits.add(worker.latencies);
    }
    return run;
}

}  // namespace rocklock::bench
