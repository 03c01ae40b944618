// Edits of tables that lock the targets of their foreign keys.
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::chrono::microseconds table_edit_takes{2000};

Contender of_editors(Database& database, const std::string& name, Mode targets, std::size_t editors,
                     std::chrono::milliseconds duration) {
    return {name, [=, &database] {
                return work(database, editors, duration, [=](Worker& worker) {
                    // Each table has two foreign keys. Their targets are shared by many tables.
                    const std::string table = "tables/t" + std::to_string(worker.index);
                    const auto first = worker.below(4);
                    std::vector<LockRequest> locks = {
                        {.resource = table, .mode = Mode::write},
                        {.resource = "tables/target" + std::to_string(first), .mode = targets},
                        {.resource = "tables/target" + std::to_string((first + 1) % 4),
                         .mode = targets}};
                    const Guard guard = take(worker, std::move(locks), worker.waits);
                    hold(table_edit_takes);
                    ++worker.done;
                });
            }};
}

void run_table_edit(Setting& setting) {
    Database database = setting.open(Store::durable);
    for (const std::string& editors : setting.some<std::string>({"2", "4", "8", "16", "32"})) {
        const auto count = static_cast<std::size_t>(std::stoul(editors));
        const auto rounds = setting.measure(
            editors,
            {of_editors(database, "targets in read", Mode::read, count, setting.duration()),
             of_editors(database, "targets in write", Mode::write, count, setting.duration())},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}});
        setting.compare({"table edit, " + editors + " editors", "edits/s", "targets in write"},
                        rounds[0], rounds[1]);
    }
}

}  // namespace

Scenario table_edit() {
    return {"table_edit",
            "Edits of tables with foreign keys",
            "Each editor edits its own table for two milliseconds. The table has two foreign keys, "
            "whose targets are two of four shared tables. The targets must not change during the "
            "edit. If the editors lock the targets in read, they share them; if they lock the "
            "targets in write, they wait for each other.",
            {{"rate", "Edits of tables whose foreign keys point to the same tables", "editors",
              Scale::log, "edits a second", Scale::log, "more"},
             {"late", "Wait before an edit, 99th percentile", "editors", Scale::log, "microseconds",
              Scale::log, "less"}},
            run_table_edit};
}

}  // namespace rocklock::bench
