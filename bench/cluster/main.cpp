// bench_cluster: clients of the nodes of a cluster. bench/cluster/*.py starts the cluster and runs
// this program.
//
//     bench_cluster SOCKET own|same CLIENTS SECONDS   pairs of one acquire and one release
//     bench_cluster SOCKET hold FIRST LOCKS           acquires locks with numbers from FIRST, which
//                                                     stay held for an hour
//     bench_cluster SOCKET probe                      acquires and releases until a line is read
//
// Prints one JSON object with the results. Times of day are those of the monotonic clock, so that
// another process can compare them with its own.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "daemon/client.hpp"
#include "daemon/lock_work.hpp"
#include "lock/held.hpp"
#include "support.hpp"

namespace rocklock::bench {
namespace {

using Clock = std::chrono::steady_clock;

int connected(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        give_up("no daemon listens on " + path);
    }
    return fd;
}

void run_pairs(const std::string& socket, Wanted wanted, std::size_t clients, double seconds) {
    const auto run =
        measure_locks([&] { return rocklock_client(connected(socket)); }, wanted, clients, 1,
                      std::chrono::milliseconds{static_cast<std::int64_t>(1000 * seconds)});
    const auto& times = wanted == Wanted::own ? run.waits : run.hand_offs;
    std::printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", run.pairs_a_second(),
                times.quantile_us(0.5), times.quantile_us(0.99));
}

void hold(const std::string& socket, std::size_t from, std::size_t locks) {
    const std::size_t count = std::min<std::size_t>(64, locks);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            auto database = must(Database::connect(socket), "connect");
            const auto first = locks * i / count;
            hold_locks(database, from + first, locks * (i + 1) / count - first, false);
        });
    }
    threads.clear();
    std::printf("{\"locks\": %zu}\n", locks);
}

double seconds_of(Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Measures the longest time between two grants. If a call fails, it is repeated.
void probe(const std::string& socket) {
    std::atomic<bool> stop{false};
    const std::jthread reader([&] {
        std::string line;
        std::getline(std::cin, line);
        stop = true;
    });
    auto database = must(Database::connect(socket), "connect");
    SessionOptions options;
    options.lease = std::chrono::minutes{1};
    auto session = must(database.open_session("probe", options), "open a session");
    std::puts("ready");
    std::fflush(stdout);
    std::size_t grants = 0;
    std::size_t failures = 0;
    auto last = Clock::now();
    auto begin = last;
    Clock::duration longest{0};
    while (!stop) {
        auto guard = session.acquire("probe/" + std::to_string(::getpid()));
        if (!guard) {
            ++failures;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            continue;
        }
        const auto now = Clock::now();
        if (now - last > longest) {
            longest = now - last;
            begin = last;
        }
        last = now;
        ++grants;
        if (!guard->release()) ++failures;
    }
    std::printf("{\"grants\": %zu, \"failures\": %zu, \"gap_began\": %.6f, \"gap_ended\": %.6f}\n",
                grants, failures, seconds_of(begin), seconds_of(begin + longest));
    std::fflush(stdout);
}

int run(const std::vector<std::string>& words) {
    if (words.size() == 4 && (words[1] == "own" || words[1] == "same")) {
        run_pairs(words[0], words[1] == "own" ? Wanted::own : Wanted::the_same,
                  std::stoul(words[2]), std::stod(words[3]));
    } else if (words.size() == 4 && words[1] == "hold") {
        hold(words[0], std::stoul(words[2]), std::stoul(words[3]));
    } else if (words.size() == 2 && words[1] == "probe") {
        probe(words[0]);
    } else {
        give_up("unknown arguments; see the comment in bench/cluster/main.cpp");
    }
    return 0;
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    return rocklock::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
