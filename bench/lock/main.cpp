// bench_lock: the speed of Rocklock's locks, embedded in a program, compared with RocksDB doing the
// same writes and with a minimal lock table.
//
//     bench_lock [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] [--only WORD]
//
// docs/performance.md explains the rows and has the latest results.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "child.hpp"
#include "contestants.hpp"
#include "hand_off.hpp"
#include "held.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace rocklock::bench {

namespace {

using std::chrono::milliseconds;

class Bench {
public:
    explicit Bench(const CommonOptions& options) : options_(options), report_(options_) {}

    void run();

private:
    void pairs_on_disk(bool durable, std::size_t threads, std::optional<double> target);
    void pairs_in_memory(std::size_t threads);
    void sets(double target);
    void hand_offs(Kind kind, const std::string& mode);
    void memory(bool flat, RequestIds ids, double target);
    void open_again(End end, const std::string& how, double target);

    const CommonOptions options_;
    const std::size_t held_locks_ = options_.quick ? 2000 : 1'000'000;
    const PairSizes sizes_ = measure_pair_sizes();
    Report report_;
};

void Bench::pairs_on_disk(bool durable, std::size_t threads, std::optional<double> target) {
    Row row;
    row.name = std::string(durable ? "durable" : "written") + ", " + std::to_string(threads) +
               (threads == 1 ? " thread" : " threads");
    if (!report_.wanted(row.name)) return;
    row.unit = "pairs/s";
    row.target = target;
    // With one thread, a durable pair waits for a single write: that of the grant.
    const bool one_put = durable && threads == 1;
    row.against = one_put ? "RocksDB, one synced Put" : "RocksDB, the same two writes";
    const Folder our_folder(options_.directory);
    const Folder their_folder(options_.directory);
    Embedded ours(durable ? Kind::durable : Kind::written, our_folder.path(), threads);
    RawRocksdb theirs(durable, their_folder.path(), threads, sizes_);
    report_.add(compare(
        std::move(row), options_.rounds,
        [&] {
            return rate(threads, options_.duration, [&](std::size_t thread) { ours.pair(thread); });
        },
        [&] {
            return rate(threads, options_.duration, [&](std::size_t thread) {
                one_put ? theirs.put(thread) : theirs.pair(thread);
            });
        }));
}

// The bare table shows the limit of the machine, so the comparison has no target.
void Bench::pairs_in_memory(std::size_t threads) {
    Row row;
    row.name = "in memory, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    if (!report_.wanted(row.name)) return;
    row.unit = "pairs/s";
    row.against = "a bare lock table";
    BareTable theirs(threads);
    report_.add(compare(
        std::move(row), options_.rounds,
        [&] {
            // A new store for each round, because a store in memory keeps its history.
            Embedded ours(Kind::memory, {}, threads);
            return rate(threads, options_.duration, [&](std::size_t thread) { ours.pair(thread); });
        },
        [&] {
            return rate(threads, options_.duration,
                        [&](std::size_t thread) { theirs.pair(thread); });
        }));
}

void Bench::sets(double target) {
    constexpr std::size_t size = 16;
    Row row;
    row.name = "16 resources as one set, durable";
    if (!report_.wanted(row.name)) return;
    row.unit = "sets/s";
    row.target = target;
    row.against = "16 acquires";
    const Folder set_folder(options_.directory);
    const Folder single_folder(options_.directory);
    Embedded sets(Kind::durable, set_folder.path(), 1);
    Embedded singles(Kind::durable, single_folder.path(), 1);
    report_.add(compare(
        std::move(row), options_.rounds,
        [&] {
            return rate(1, options_.duration, [&](std::size_t thread) { sets.set(thread, size); });
        },
        [&] {
            return rate(1, options_.duration, [&](std::size_t thread) {
                for (std::size_t i = 0; i < size; ++i) singles.pair(thread);
            });
        }));
}

void Bench::hand_offs(Kind kind, const std::string& mode) {
    const std::string name = "hand-off, 16 threads on one, " + mode;
    if (!report_.wanted(name)) return;
    std::vector<double> latencies;
    std::vector<double> rates;
    std::vector<double> fairness;
    for (std::size_t round = 0; round < options_.rounds; ++round) {
        const Folder folder(options_.directory);
        const HandOff found = measure_hand_off(kind, folder.path(), 16, options_.duration);
        latencies.push_back(found.latency_us);
        rates.push_back(found.hand_offs_a_second);
        fairness.push_back(found.fairness);
    }
    Row row;
    row.name = name;
    row.unit = "µs";
    row.less_is_better = true;
    row.ours = spread_of(latencies);
    report_.add(row);
    row.name = name + ", rate";
    row.unit = "hand-offs/s";
    row.less_is_better = false;
    row.ours = spread_of(rates);
    report_.add(row);
    row.name = name + ", fairness";
    row.unit = "Jain's index";
    row.target = 0.99;
    row.ours = spread_of(fairness);
    report_.add(row);
}

void Bench::memory(bool flat, RequestIds ids, double target) {
    Row row;
    row.name = std::string("memory of a held lock, names ") + (flat ? "without '/'" : "with '/'");
    if (ids == RequestIds::with) row.name += ", request ids";
    if (!report_.wanted(row.name)) return;
    row.unit = "bytes";
    row.target = target;
    row.less_is_better = true;
    const Folder folder(options_.directory);
    row.ours = spread_of({measure_memory(folder.path(), held_locks_, flat, ids)});
    report_.add(std::move(row));
}

void Bench::open_again(End end, const std::string& how, double target) {
    Row row;
    row.name = "first grant of a store with " + std::to_string(held_locks_) + " held, " + how;
    if (!report_.wanted(row.name)) return;
    row.unit = "s";
    row.target = target;
    row.less_is_better = true;
    const Folder folder(options_.directory);
    row.ours = spread_of({measure_open(folder.path(), held_locks_, end)});
    report_.add(std::move(row));
}

void Bench::run() {
    std::fprintf(stderr, "a pair writes a key of %zu bytes with values of %zu and %zu bytes\n",
                 sizes_.key, sizes_.acquire, sizes_.release);
    pairs_on_disk(true, 1, 1.3);
    pairs_on_disk(true, 8, 3.5);
    pairs_on_disk(true, 64, 7);
    pairs_on_disk(false, 1, 3.5);
    pairs_on_disk(false, 8, std::nullopt);
    pairs_on_disk(false, 64, 8);
    for (const std::size_t threads : {1, 8, 64}) pairs_in_memory(threads);
    sets(12);
    hand_offs(Kind::memory, "in memory");
    hand_offs(Kind::durable, "durable");
    for (const RequestIds ids : {RequestIds::without, RequestIds::with}) {
        memory(true, ids, 125);
        memory(false, ids, 125);
    }
    open_again(End::closed, "after a close", 0.4);
    open_again(End::killed, "after a kill -9", 0.4);
    report_.finish();
}

}  // namespace

}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    if (is_child(argc, argv)) return run_child(argc, argv);
    Bench(read_arguments(argc, argv)).run();
    return 0;
}
