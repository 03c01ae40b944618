// One history over all interfaces of a daemon (mixed_clients.hpp), also with clients behind a
// relay, while both daemons are killed.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "history/daemon_table_access.hpp"
#include "history/http_line.hpp"
#include "history/mixed_clients.hpp"
#include "support/linearizability.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::proof {

namespace {

using LockVerb = Operation::Verb;
using Observed = Operation::Result;
using History = std::vector<Operation>;

std::size_t count(const History& history, LockVerb verb, Observed observed) {
    return static_cast<std::size_t>(
        std::count_if(history.begin(), history.end(), [&](const Operation& operation) {
            return operation.verb == verb && operation.result == observed;
        }));
}

void judge(const History& history, unsigned seed) {
    const auto wrong = find_contradiction(history);
    BOOST_TEST(!wrong, "seed " << seed << ": " << wrong.value_or(""));
    const auto disorder = find_token_disorder(history);
    BOOST_TEST(!disorder, "seed " << seed << ": " << disorder.value_or(""));
}

// Runs clients of one daemon, which is not killed.
History run(const TableDaemon& daemon, std::size_t clients, std::size_t operations, unsigned seed) {
    std::atomic<std::size_t> done = 0;
    return run_mixed_clients(
        {{{daemon.socket(), daemon.port()}}, clients, operations, seed, nullptr}, done);
}

// A manager, and a relay for its clients on "another host". Both have ports that stay the same when
// a daemon is killed and started again.
class ManagerAndRelay {
public:
    ManagerAndRelay(const std::string& directory)
        : manager_(made(directory + "/manager"),
                   {"--http", address(manager_port_), "--peer-listen", address(peer_port_)}),
          relay_(made(directory + "/relay"),
                 {"--http", address(relay_port_), "--relay", address(peer_port_), "--node", "web1"},
                 TableDaemon::Kind::relay) {
        make_orders_table(manager_);
    }

    // Runs clients, of which half are clients of the relay. Kills the daemons in turn, `deaths`
    // times in total.
    History run(std::size_t clients, std::size_t operations, unsigned seed, std::size_t deaths) {
        const MixedRun mixed{{{manager_.socket(), manager_port_}, {relay_.socket(), relay_port_}},
                             clients,
                             operations,
                             seed,
                             &kills_};
        std::atomic<std::size_t> done = 0;
        std::atomic<bool> over = false;
        History history;
        std::exception_ptr failure;
        std::thread all([&] {
            try {
                history = run_mixed_clients(mixed, done);
            } catch (...) {
                failure = std::current_exception();
            }
            over = true;
        });
        try {
            for (std::size_t death = 1; death <= deaths; ++death) {
                while (!over && done < operations * death / (deaths + 1)) {
                    std::this_thread::sleep_for(std::chrono::microseconds(100));
                }
                kill_one(death % 2 == 0 ? manager_ : relay_);
            }
        } catch (...) {
            // The clients end as well, because their requests get no answers.
            all.join();
            throw;
        }
        all.join();
        if (failure) std::rethrow_exception(failure);
        return history;
    }

private:
    void kill_one(TableDaemon& daemon) {
        ++kills_;
        daemon.kill_and_start();
        ++kills_;
    }

    static std::string address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
    static std::string made(const std::string& directory) {
        std::filesystem::create_directory(directory);
        return directory;
    }

    std::atomic<unsigned> kills_ = 0;
    std::uint16_t manager_port_ = free_port();
    std::uint16_t peer_port_ = free_port();
    std::uint16_t relay_port_ = free_port();
    TableDaemon manager_;
    TableDaemon relay_;
};

// The number of operations of each verb and result in a long run.
class Totals {
public:
    void add(const History& history) {
        operations_ += history.size();
        for (const Operation& operation : history) ++totals_[{operation.verb, operation.result}];
    }
    std::size_t operations() const { return operations_; }
    void print(std::string_view what) {
        const auto total = [&](LockVerb verb, Observed observed) {
            return totals_[{verb, observed}];
        };
        std::cout << operations_ << " operations over frames, HTTP on Unix and TCP, and guarded "
                  << "writes" << what << ": " << total(LockVerb::acquire, Observed::done)
                  << " acquired, " << total(LockVerb::acquire, Observed::refused) << " refused, "
                  << total(LockVerb::convert, Observed::done) << " converted, "
                  << total(LockVerb::release, Observed::done) << " released, "
                  << total(LockVerb::write, Observed::done) << " written, "
                  << total(LockVerb::write, Observed::not_held)
                  << " writes without the lock refused\n";
    }

private:
    std::map<std::pair<LockVerb, Observed>, std::size_t> totals_;
    std::size_t operations_ = 0;
};

std::size_t operations_wanted() {
    const char* text = std::getenv("ROCKLOCK_INTERFACE_OPERATIONS");
    if (text == nullptr) return 0;
    const std::string_view view(text);
    std::size_t wanted = 0;
    std::from_chars(view.data(), view.data() + view.size(), wanted);
    return wanted;
}

boost::test_tools::assertion_result long_run_of_interfaces(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result asked(operations_wanted() > 0);
    asked.message() << "takes minutes: run scripts/linearize --interfaces, or --relay";
    return asked;
}

// The nodes of a cluster that another program runs: `socket,port` of each node, separated by
// spaces.
std::vector<DaemonAddress> nodes_given() {
    const char* text = std::getenv("ROCKLOCK_HISTORY_NODES");
    std::vector<DaemonAddress> nodes;
    std::istringstream words(text != nullptr ? text : "");
    for (std::string word; words >> word;) {
        const auto comma = word.find(',');
        nodes.push_back(
            {word.substr(0, comma), static_cast<std::uint16_t>(std::stoi(word.substr(comma + 1)))});
    }
    return nodes;
}

boost::test_tools::assertion_result has_nodes(boost::unit_test::test_unit_id /*id*/) {
    boost::test_tools::assertion_result given(!nodes_given().empty());
    given.message() << "tests/cluster/faults_test.py runs it";
    return given;
}

constexpr std::array<std::size_t, 3> numbers_of_clients{4, 8, 16};
const std::vector<std::string> with_tcp{"--http", "127.0.0.1:0"};

}  // namespace

BOOST_AUTO_TEST_SUITE(clients_of_all_interfaces_see_one_order, *boost::unit_test::label("rocksdb"))

// P7: one order explains the answers of all interfaces.
BOOST_AUTO_TEST_CASE(of_locks_and_guarded_writes) {
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string(), with_tcp);
    make_orders_table(daemon);
    const History history = run(daemon, 6, 9'000, 1);
    judge(history, 1);
    for (const Observed observed : {Observed::done, Observed::refused, Observed::already_held}) {
        BOOST_TEST(count(history, LockVerb::acquire, observed) > 0U);
    }
    BOOST_TEST(count(history, LockVerb::convert, Observed::done) > 0U);
    BOOST_TEST(count(history, LockVerb::write, Observed::done) > 0U);
    BOOST_TEST(count(history, LockVerb::write, Observed::not_held) > 0U);
    // An answered grant that was revoked when a connection closed would show here.
    BOOST_TEST(count(history, LockVerb::release, Observed::not_held) == 0U);
}

// P7, S5: the clients of a relay and those of the manager see one order, also if both daemons are
// killed.
BOOST_AUTO_TEST_CASE(through_a_relay_when_both_daemons_are_killed) {
    const testing::TemporaryDirectory directory;
    ManagerAndRelay daemons(directory.path().string());
    const History history = daemons.run(6, 6'000, 1, 6);
    judge(history, 1);
    BOOST_TEST(count(history, LockVerb::acquire, Observed::done) > 0U);
    BOOST_TEST(count(history, LockVerb::acquire, Observed::refused) > 0U);
    BOOST_TEST(count(history, LockVerb::write, Observed::done) > 0U);
    BOOST_TEST(count(history, LockVerb::write, Observed::not_held) > 0U);
    // An acknowledged grant that a kill has ended would show here.
    BOOST_TEST(count(history, LockVerb::release, Observed::not_held) == 0U);
}

BOOST_AUTO_TEST_CASE(in_a_long_run, *boost::unit_test::precondition(long_run_of_interfaces)) {
    const testing::TemporaryDirectory directory;
    TableDaemon daemon(directory.path().string(), with_tcp);
    make_orders_table(daemon);
    Totals totals;
    for (std::size_t round = 0; totals.operations() < operations_wanted(); ++round) {
        const unsigned seed = std::random_device{}();
        const History history =
            run(daemon, numbers_of_clients[round % numbers_of_clients.size()], 20'000, seed);
        judge(history, seed);
        totals.add(history);
    }
    totals.print("");
}

// Ends when the standard input ends.
BOOST_AUTO_TEST_CASE(through_the_nodes_of_a_cluster, *boost::unit_test::precondition(has_nodes)) {
    std::atomic<bool> stop = false;
    std::jthread reader([&] {
        while (std::cin.get() != std::char_traits<char>::eof()) {
        }
        stop = true;
    });
    MixedRun run{.addresses = nodes_given(), .clients = 6, .operations = 60'000};
    run.seed = std::random_device{}();
    run.takeovers = true;
    run.stop = &stop;
    std::atomic<std::size_t> done = 0;
    const History history = run_mixed_clients(run, done);
    judge(history, run.seed);
    // An acknowledged grant that was lost would show here.
    BOOST_TEST(count(history, LockVerb::release, Observed::not_held) == 0U);
    Totals totals;
    totals.add(history);
    totals.print(" through the nodes of a cluster");
}

BOOST_AUTO_TEST_CASE(through_a_relay_in_a_long_run,
                     *boost::unit_test::precondition(long_run_of_interfaces)) {
    const testing::TemporaryDirectory directory;
    ManagerAndRelay daemons(directory.path().string());
    constexpr std::size_t deaths = 12;
    Totals totals;
    std::size_t rounds = 0;
    for (; totals.operations() < operations_wanted(); ++rounds) {
        const unsigned seed = std::random_device{}();
        const History history = daemons.run(numbers_of_clients[rounds % numbers_of_clients.size()],
                                            20'000, seed, deaths);
        judge(history, seed);
        BOOST_TEST(count(history, LockVerb::release, Observed::not_held) == 0U);
        totals.add(history);
    }
    totals.print(", half of them through a relay, with " + std::to_string(rounds * deaths) +
                 " kills");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
