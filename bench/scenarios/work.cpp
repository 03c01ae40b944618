#include "scenarios/work.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>
#include <utility>

#include "support.hpp"

namespace rocklock::bench {

using Clock = std::chrono::steady_clock;

namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Sample sum_of(const std::vector<Worker>& workers) {
    Sample sample;
    for (const Worker& worker : workers) {
        sample.done.push_back(worker.done);
        sample.wasted += worker.wasted;
        sample.waits.add(worker.waits);
        sample.other_waits.add(worker.other_waits);
    }
    return sample;
}

}  // namespace

double processor_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

Sample work(Database& database, std::size_t workers, std::chrono::milliseconds duration,
            const Once& once) {
    std::vector<Worker> all(workers);
    for (std::size_t i = 0; i < workers; ++i) {
        all[i].index = i;
        all[i].random.seed(i + 1);
        all[i].session =
            must(database.open_session("worker-" + std::to_string(i)), "open a session");
    }
    std::atomic<bool> stop{false};
    std::barrier begin(static_cast<std::ptrdiff_t>(workers) + 1);
    std::vector<std::jthread> running;
    for (Worker& worker : all) {
        running.emplace_back([&] {
            begin.arrive_and_wait();
            while (!stop.load(std::memory_order_relaxed)) once(worker);
        });
    }
    begin.arrive_and_wait();
    const double used = processor_seconds();
    const auto start = Clock::now();
    std::this_thread::sleep_for(duration);
    stop = true;
    running.clear();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    Sample sample = sum_of(all);
    sample.seconds = seconds;
    sample.processor_seconds = processor_seconds() - used;
    return sample;
}

Guard take(Worker& worker, std::vector<LockRequest> locks, Latencies& waits) {
    AcquireOptions options;
    options.patience = no_limit;
    const auto start = Clock::now();
    Guard guard = must(worker.session.acquire(std::move(locks), options), "acquire");
    waits.record(Clock::now() - start);
    return guard;
}

Guard take(Worker& worker, const std::string& resource, Mode mode) {
    return take(worker, {{.resource = resource, .mode = mode}}, worker.waits);
}

void hold(std::chrono::microseconds duration) {
    if (duration.count() > 0) std::this_thread::sleep_for(duration);
}

Zipf::Zipf(std::size_t end, double skew) {
    double sum = 0;
    for (std::size_t k = 1; k <= end; ++k) {
        sum += std::pow(static_cast<double>(k), -skew);
        sums_.push_back(sum);
    }
}

std::size_t Zipf::draw(std::mt19937_64& random) const {
    const double at = std::uniform_real_distribution<double>(0, sums_.back())(random);
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
    return std::min(static_cast<std::size_t>(found - sums_.begin()), sums_.size() - 1);
}

}  // namespace rocklock::bench
