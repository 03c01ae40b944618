// bench_guard: the cost of guards. Compares a write that presents a lock with one that presents
// none, and a plain read of a table that is bound to resources with one of an unbound table.
//
//     bench_guard [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] [--only WORD]
//
// docs/performance.md explains the rows and has the latest results.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>

#include "guard/guarded_tables.hpp"
#include "measure.hpp"
#include "report.hpp"
#include "support.hpp"

namespace rocklock::bench {
namespace {

class Bench {
public:
    explicit Bench(const CommonOptions& options) : options_(options), report_(options) {}

    void run();

private:
    using Once = std::function<void(GuardedTables& tables, std::size_t thread)>;
    // An operation and the one that it is compared with.
    struct Pair {
        std::string name;
        Once once;
        std::string against;
        Once other;
        double target = 0;
    };

    // Measures both in the same store, in turn.
    void row(const Pair& pair, Durability durability, std::size_t threads);
    void write_rows(Durability durability, std::size_t threads);
    void read_rows(std::size_t threads);

    const CommonOptions options_;
    Report report_;
};

void Bench::row(const Pair& pair, Durability durability, std::size_t threads) {
    Row row;
    row.name = pair.name + (durability == Durability::durable ? ", durable, " : ", written, ") +
               std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    if (!report_.wanted(row.name)) return;
    row.unit = "calls/s";
    row.against = pair.against;
    row.target = pair.target;
    const Folder folder(options_.directory);
    GuardedTables tables(folder.path(), durability, threads);
    const auto measure = [&](const Once& once) {
        return rate(threads, options_.duration, [&](std::size_t thread) { once(tables, thread); });
    };
    report_.add(compare(
        std::move(row), options_.rounds, [&] { return measure(pair.once); },
        [&] { return measure(pair.other); }));
}

void Bench::write_rows(Durability durability, std::size_t threads) {
    const Once put = [](GuardedTables& tables, std::size_t thread) { tables.put(thread); };
    const std::vector<Pair> pairs = {
        {"put with a lock",
         [](GuardedTables& tables, std::size_t thread) { tables.put_guarded(thread); },
         "put without a lock", put, guarded_write_target},
        {"put on a version",
         [](GuardedTables& tables, std::size_t thread) { tables.put_on_version(thread); },
         "put without a lock", put, guarded_write_target},
        {"16 puts together with locks",
         [](GuardedTables& tables, std::size_t thread) { tables.transact(Table::bound, thread); },
         "without locks",
         [](GuardedTables& tables, std::size_t thread) { tables.transact(Table::unbound, thread); },
         guarded_write_target}};
    for (const Pair& pair : pairs) row(pair, durability, threads);
}

void Bench::read_rows(std::size_t threads) {
    const std::vector<Pair> pairs = {
        {"get from a bound table",
         [](GuardedTables& tables, std::size_t thread) { tables.get(Table::bound, thread); },
         "from an unbound table",
         [](GuardedTables& tables, std::size_t thread) { tables.get(Table::unbound, thread); },
         bound_read_target},
        {"query of 64 items of a bound table",
         [](GuardedTables& tables, std::size_t thread) { tables.query(Table::bound, thread); },
         "of an unbound table",
         [](GuardedTables& tables, std::size_t thread) { tables.query(Table::unbound, thread); },
         bound_read_target}};
    for (const Pair& pair : pairs) row(pair, Durability::written, threads);
}

void Bench::run() {
    for (const auto durability : {Durability::written, Durability::durable}) {
        for (const std::size_t threads : {1, 16}) write_rows(durability, threads);
    }
    for (const std::size_t threads : {1, 4}) read_rows(threads);
    report_.finish();
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    Bench(read_arguments(argc, argv)).run();
    return 0;
}
