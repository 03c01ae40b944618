// Sixteen connections to a daemon that is killed now and then. One serial order must explain all
// responses.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "history/daemon_table_access.hpp"
#include "history/history_judge.hpp"
#include "history/table_clients.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::proof {

namespace {

void make_tables(const TableDaemon& daemon) {
    for (const CreateTable& table : HistoryKeys::tables()) {
        call_daemon(daemon.socket(), "CreateTable",
                    R"({"TableName":")" + table.table +
                        R"(","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[)"
                        R"({"AttributeName":"k","AttributeType":"S"}],"KeySchema":[)"
                        R"({"AttributeName":"k","KeyType":"HASH"}]})");
    }
}

// Counts the requests.
class CountedTableAccess final : public TableAccess {
public:
    CountedTableAccess(std::unique_ptr<TableAccess> access, std::atomic<std::size_t>& asked)
        : access_(std::move(access)), asked_(asked) {}

    TableReply ask(const TableRequest& request) override {
        ++asked_;
        return access_->ask(request);
    }

private:
    std::unique_ptr<TableAccess> access_;
    std::atomic<std::size_t>& asked_;
};

// Kills the daemon `deaths` times, spread evenly over the requests.
ClientsRun run_at(TableDaemon& daemon, ClientsOptions options, std::size_t deaths) {
    const HistoryKeys keys(std::to_string(options.seed) + "-");
    options.careful_removals = deaths > 0;
    std::atomic<std::size_t> asked = 0;
    std::atomic<bool> over = false;
    ClientsRun run;
    std::thread clients([&] {
        run = run_clients(
            [&] {
                return std::make_unique<CountedTableAccess>(table_access_to(daemon.socket(), keys),
                                                            asked);
            },
            options);
        over = true;
    });
    for (std::size_t death = 1; death <= deaths; ++death) {
        while (!over && asked < options.requests * death / (deaths + 1)) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        daemon.kill_and_start();
    }
    clients.join();
    return run;
}

std::size_t unanswered(const ClientsRun& run) {
    std::size_t count = 0;
    for (const auto& [name, number] : run.counts) count += name.ends_with(" open") ? number : 0;
    return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clients_of_a_daemon_see_one_order, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(over_its_socket) {
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string());
    make_tables(daemon);
    const ClientsRun run = run_at(daemon, {}, 0);
    judge_history(run);
    BOOST_TEST(unanswered(run) == 0U);
}

BOOST_AUTO_TEST_CASE(when_it_is_killed) {
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string());
    make_tables(daemon);
    const ClientsRun run = run_at(daemon, {}, 4);
    judge_history(run);
    BOOST_TEST(unanswered(run) > 0U);
}

// In every second history, the daemon is killed.
BOOST_AUTO_TEST_CASE(in_a_long_run, *boost::unit_test::precondition(long_run_wanted)) {
    HistorySums sums;
    while (!sums.over()) {
        const testing::TemporaryDirectory directory;
        TableDaemon daemon(directory.path().string());
        make_tables(daemon);
        for (std::size_t round = 0; round < 20 && !sums.over(); ++round) {
            sums.add(run_at(daemon, sums.next_options(), round % 2 * 4));
        }
    }
    sums.print();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
