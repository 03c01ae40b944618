// Writes that present a lock, and reads of tables that are bound to resources.
#include <string>

#include "guard/guarded_tables.hpp"
#include "scenarios/all.hpp"
#include "scenarios/lockers.hpp"

namespace rocklock::bench {
namespace {

using Do = void (*)(GuardedTables& tables, std::size_t thread);

Contender of_calls(GuardedTables& tables, const std::string& name, std::size_t threads,
                   std::chrono::milliseconds duration, Do once) {
    return {name, [=, &tables] {
                return work_without(threads, duration,
                                    [=, &tables](std::size_t thread) { once(tables, thread); });
            }};
}

void measure_writes(Setting& setting, Durability durability, std::size_t threads) {
    GuardedTables tables(setting.folder(), durability, threads);
    const std::string where =
        (durability == Durability::durable ? "durable, " : "written, ") + threads_of(threads);
    const auto of = [&](const std::string& name, Do once) {
        return of_calls(tables, name, threads, setting.duration(), once);
    };
    const auto puts = setting.measure(
        where,
        {of("without a lock", [](GuardedTables& all, std::size_t thread) { all.put(thread); }),
         of("with a lock", [](GuardedTables& all, std::size_t thread) { all.put_guarded(thread); }),
         of("compares a version",
            [](GuardedTables& all, std::size_t thread) { all.put_on_version(thread); })},
        {{"puts", rate_of}}, "a put");
    setting.compare(
        {"put with a lock, " + where, "calls/s", "put without a lock", guarded_write_target},
        puts[1], puts[0]);
    setting.compare(
        {"put on a version, " + where, "calls/s", "put without a lock", guarded_write_target},
        puts[2], puts[0]);
    const auto together = setting.measure(
        where,
        {of("without a lock",
            [](GuardedTables& all, std::size_t thread) { all.transact(Table::unbound, thread); }),
         of("with a lock",
            [](GuardedTables& all, std::size_t thread) { all.transact(Table::bound, thread); })},
        {{"together", rate_of}}, "16 puts together");
    setting.compare({"16 puts together with locks, " + where, "calls/s", "16 without locks",
                     guarded_write_target},
                    together[1], together[0]);
}

void measure_reads(Setting& setting, std::size_t threads) {
    struct Read {
        std::string name;
        Do bound;
        Do unbound;
    };
    static const std::vector<Read> reads = {
        {"get", [](GuardedTables& all, std::size_t thread) { all.get(Table::bound, thread); },
         [](GuardedTables& all, std::size_t thread) { all.get(Table::unbound, thread); }},
        {"query of 64 items",
         [](GuardedTables& all, std::size_t thread) { all.query(Table::bound, thread); },
         [](GuardedTables& all, std::size_t thread) { all.query(Table::unbound, thread); }}};
    GuardedTables tables(setting.folder(), Durability::written, threads);
    for (const auto& [name, bound, unbound] : reads) {
        const std::string x = name + ", " + threads_of(threads);
        const auto rounds = setting.measure(
            x,
            {of_calls(tables, "table without resources", threads, setting.duration(), unbound),
             of_calls(tables, "table bound to resources", threads, setting.duration(), bound)},
            {{"reads", rate_of}});
        setting.compare({name + " from a bound table, " + threads_of(threads), "calls/s",
                         "from an unbound table", bound_read_target},
                        rounds[1], rounds[0]);
    }
}

void run_guarded(Setting& setting) {
    for (const auto durability : {Durability::written, Durability::durable}) {
        for (const std::size_t threads : setting.some<std::size_t>({1, 16})) {
            measure_writes(setting, durability, threads);
        }
    }
    for (const std::size_t threads : setting.some<std::size_t>({1, 4})) {
        measure_reads(setting, threads);
    }
}

}  // namespace

Scenario guarded() {
    return {"guarded",
            "Guarded writes, and reads of bound tables",
            "A guarded write presents the token of its lock. The commit of the write checks that "
            "the lock is still held; otherwise, the write is refused. The scenario compares a put "
            "with a lock, and a put that requires a version of the item instead, with the same put "
            "without a lock. A plain read of a table that is bound to resources must check whether "
            "another session holds the resource of the item in exclusive.",
            {{"puts", "Puts of one item", "durability and number of threads", Scale::words,
              "puts a second", Scale::log, "more"},
             {"together", "Puts of 16 items in one commit", "durability and number of threads",
              Scale::words, "commits a second", Scale::log, "more"},
             {"reads", "Plain reads of a table", "kind of read and number of threads", Scale::words,
              "reads a second", Scale::log, "more"}},
            run_guarded};
}

}  // namespace rocklock::bench
