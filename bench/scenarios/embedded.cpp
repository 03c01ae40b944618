#include "scenarios/embedded.hpp"

#include <optional>
#include <string>

#include "lock/contestants.hpp"
#include "scenarios/lockers.hpp"

namespace rocklock::bench {
namespace {

void compare_on_disk(Setting& setting, Store store, std::size_t threads, double target) {
    static const PairSizes sizes = measure_pair_sizes();
    const bool durable = store == Store::durable;
    // With one thread, a durable pair waits for a single write: that of the grant.
    const bool one_put = durable && threads == 1;
    Embedded ours(durable ? Kind::durable : Kind::written, setting.folder(), threads);
    RawRocksdb theirs(durable, setting.folder(), threads, sizes);
    const auto rounds = setting.in_turn(
        {{"Rocklock",
          [&] {
              return count_without(threads, setting.duration(),
                                   [&](std::size_t thread) { ours.pair(thread); });
          }},
         {"RocksDB", [&] {
              return count_without(threads, setting.duration(), [&](std::size_t thread) {
                  one_put ? theirs.put(thread) : theirs.pair(thread);
              });
          }}});
    setting.compare(
        {"embedded, " + std::string(name_of(store)) + ", " + threads_of(threads), "pairs/s",
         one_put ? "RocksDB, one synced Put" : "RocksDB, the same two writes", target},
        rounds[0], rounds[1]);
}

// Compares with RocksDB's locks, and with a bare lock table, which shows the limit of the machine
// and has no target.
void compare_in_memory(Setting& setting, TransactionDb& transactions, std::size_t threads) {
    BareTable bare(threads);
    const auto rounds =
        setting.in_turn({{"Rocklock",
                          [&] {
                              // A new store for each round, because a store in memory keeps its
                              // history.
                              Embedded ours(Kind::memory, {}, threads);
                              return count_without(threads, setting.duration(),
                                                   [&](std::size_t thread) { ours.pair(thread); });
                          }},
                         transactions.locks_only(threads, setting.duration()),
                         {"bare table", [&] {
                              return count_without(threads, setting.duration(),
                                                   [&](std::size_t thread) { bare.pair(thread); });
                          }}});
    const std::string name = "embedded, in memory, " + threads_of(threads);
    setting.report({name, "pairs/s", 1'200'000}, values_of(rounds[0], rate_of));
    setting.compare({name, "pairs/s", "RocksDB's transaction locks, nothing written", 2}, rounds[0],
                    rounds[1]);
    setting.compare({name, "pairs/s", "a bare lock table"}, rounds[0], rounds[2]);
}

}  // namespace

void compare_pairs(Setting& setting) {
    compare_on_disk(setting, Store::durable, 1, 1.3);
    compare_on_disk(setting, Store::durable, 8, 3.5);
    compare_on_disk(setting, Store::durable, 64, 7);
    compare_on_disk(setting, Store::written, 1, 3.5);
    compare_on_disk(setting, Store::written, 64, 8);
    TransactionDb transactions(setting.folder(), false);
    for (const std::size_t threads : setting.some<std::size_t>({1, 8, 64})) {
        compare_in_memory(setting, transactions, threads);
    }
    setting.progress("embedded");
}

void compare_sets(Setting& setting) {
    constexpr std::size_t size = 16;
    Embedded sets(Kind::durable, setting.folder(), 1);
    Embedded singles(Kind::durable, setting.folder(), 1);
    const auto rounds =
        setting.in_turn({{"set",
                          [&] {
                              return count_without(1, setting.duration(), [&](std::size_t thread) {
                                  sets.set(thread, size);
                              });
                          }},
                         {"singles", [&] {
                              return count_without(1, setting.duration(), [&](std::size_t thread) {
                                  for (std::size_t i = 0; i < size; ++i) singles.pair(thread);
                              });
                          }}});
    setting.compare(
        {"embedded, 16 resources as one set, durable, 1 thread", "sets/s", "16 acquires", 12},
        rounds[0], rounds[1]);
}

}  // namespace rocklock::bench
