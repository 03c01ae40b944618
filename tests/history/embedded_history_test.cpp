// Sixteen threads use tables in the same process. One serial order must explain all responses.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "history/history_judge.hpp"
#include "history/jostled_storage.hpp"
#include "history/serial_order.hpp"
#include "history/table_clients.hpp"
#include "support/stores/test_store.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::proof {

namespace {

void make_tables(TableService& service) {
    for (const CreateTable& table : HistoryKeys::tables()) service.create_table(table).value();
}

ClientsRun run_at(TableService& service, const ClientsOptions& options) {
    const HistoryKeys keys(std::to_string(options.seed) + "-");
    return run_clients([&] { return table_access_to(service, keys); }, options);
}

// Runs the clients on a store in memory, or on the fake etcd. Its threads interleave often.
ClientsRun run_in_memory(const ClientsOptions& options) {
    testing::SimulatedClock clock;
    JostledStorage storage(testing::make_test_store(clock));
    const auto service = open_tables(storage, clock).value();
    make_tables(*service);
    return run_at(*service, options);
}

// Replaces the trail that one operation saw by an earlier one of the same item. Chooses an
// operation that began after another one had returned the later trail. Returns false if there is
// none.
bool make_stale(TableHistory& history) {
    for (TableOperation& operation : history) {
        for (Touch& touch : operation.touches) {
            if (operation.touches.size() > 1 || touch.effect != Effect::none || !touch.seen ||
                touch.seen->size() < 2 || touch.demand.kind != Demand::Kind::none) {
                continue;
            }
            const bool late = std::any_of(history.begin(), history.end(), [&](const auto& other) {
                return other.number == touch.seen->back() && !other.open &&
                       other.returned < operation.called;
            });
            if (!late) continue;
            touch.seen->pop_back();
            return true;
        }
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clients_of_tables_see_one_order)

BOOST_AUTO_TEST_CASE(in_memory) {
    for (const std::uint32_t seed : {1U, 2U}) {
        ClientsOptions options;
        options.seed = seed;
        judge_history(run_in_memory(options));
    }
}

BOOST_AUTO_TEST_CASE(of_two_items_with_contention) {
    ClientsOptions options;
    options.keys = 2;
    judge_history(run_in_memory(options));
}

BOOST_AUTO_TEST_CASE(on_a_disk, *boost::unit_test::label("rocksdb")) {
    const testing::TemporaryDirectory directory;
    Database database = Database::open(directory / "store").value();
    TableService& service = *database.tables().value();
    make_tables(service);
    judge_history(run_at(service, {}));
}

BOOST_AUTO_TEST_CASE(and_an_injected_stale_read_is_detected) {
    ClientsOptions options;
    options.requests = 800;
    ClientsRun run = run_in_memory(options);
    BOOST_TEST_REQUIRE(make_stale(run.history));
    BOOST_TEST((explain(run.history).verdict == Explanation::Verdict::contradicted));
}

// Alternates between both kinds of storage. Each history uses its own items.
BOOST_AUTO_TEST_CASE(in_a_long_run, *boost::unit_test::precondition(long_run_wanted) *
                                        boost::unit_test::label("rocksdb")) {
    HistorySums sums;
    while (!sums.over()) {
        const testing::TemporaryDirectory directory;
        Database database = Database::open(directory / "store").value();
        make_tables(*database.tables().value());
        for (int round = 0; round < 20 && !sums.over(); ++round) {
            ClientsOptions options = sums.next_options();
            const bool on_disk = round % 4 == 0;
            sums.add(on_disk ? run_at(*database.tables().value(), options)
                             : run_in_memory(options));
        }
    }
    sums.print();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
