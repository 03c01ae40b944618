// Database::connect() without a path: the manager that the program uses, started if necessary.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;

// A configuration with a private daemon in a temporary directory. The destructor ends the daemon.
class PrivateDaemon {
public:
    PrivateDaemon() {
        const auto configuration = directory_ / "rocklock.conf";
        std::ofstream(configuration)
            << "manager = private\nprivate-directory = " << directory_.path().string() << "\n"
            << "idle-exit = 1m\n";
        // Set before any thread starts.
        ::setenv("ROCKLOCK_CONFIG", configuration.c_str(), 1);
        ::unsetenv("ROCKLOCK_SOCKET");
        const char* const program = std::getenv("ROCKLOCK_PROGRAM");
        BOOST_REQUIRE(program != nullptr);
        options.program = program;
    }
    PrivateDaemon(const PrivateDaemon&) = delete;
    PrivateDaemon& operator=(const PrivateDaemon&) = delete;
    ~PrivateDaemon() {
        ::unsetenv("ROCKLOCK_CONFIG");
        if (const auto running = pid()) ::kill(running, SIGTERM);
        const auto give_up = std::chrono::steady_clock::now() + 20s;
        while (pid() != 0 && std::chrono::steady_clock::now() < give_up)
            std::this_thread::sleep_for(10ms);
    }

    std::string socket() const {
        return directory_ / (std::to_string(::getuid()) + "/rocklock.sock");
    }
    // Returns the process of the daemon, or 0.
    pid_t pid() const {
        pid_t found = 0;
        std::ifstream(socket() + ".lock") >> found;
        return found > 0 && ::kill(found, 0) == 0 ? found : 0;
    }

    ConnectOptions options;

private:
    const TemporaryDirectory directory_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(connecting_without_a_path, PrivateDaemon)

BOOST_AUTO_TEST_CASE(finds_the_manager_but_starts_none_unless_asked) {
    const auto database = Database::connect({}, options);
    BOOST_TEST_REQUIRE(!database.has_value());
    BOOST_TEST((database.error().code == ErrorCode::unreachable));
    BOOST_TEST(pid() == 0);
}

BOOST_AUTO_TEST_CASE(starts_one_daemon_for_all_programs_of_the_user) {
    options.start = true;
    auto database = Database::connect({}, options);
    BOOST_TEST_REQUIRE(database.has_value(), (database ? "" : database.error().message));
    const auto started = pid();
    BOOST_TEST(started != 0);
    Session session = database->open_session("ann").value();
    const Guard guard = session.acquire("nightly").value();
    auto second = Database::connect({}, options).value();
    BOOST_TEST(pid() == started);
    BOOST_TEST(second.show("nightly").value().holders.size() == 1U);
    BOOST_TEST(Database::connect(socket()).value().list().value().locks.size() == 1U);
}

// The locks survive, because they are in the store.
BOOST_AUTO_TEST_CASE(starts_the_daemon_again_when_it_was_killed) {
    options.start = true;
    auto database = Database::connect({}, options).value();
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("nightly").value();
    const auto first = pid();
    BOOST_REQUIRE(first != 0);
    ::kill(first, SIGKILL);
    BOOST_TEST(session.acquire("weekly").has_value());
    BOOST_TEST(pid() != first);
    BOOST_TEST(guard.valid());
    BOOST_TEST(database.show("nightly").value().holders.size() == 1U);
}

// A program without a session needs the daemon only for its requests.
BOOST_AUTO_TEST_CASE(starts_the_daemon_again_for_a_request_of_tables) {
    options.start = true;
    auto database = Database::connect({}, options).value();
    TableService& tables = *database.tables().value();
    BOOST_TEST(tables.list_tables({}).has_value());
    const auto first = pid();
    BOOST_REQUIRE(first != 0);
    ::kill(first, SIGKILL);
    BOOST_TEST(tables.list_tables({}).has_value());
    BOOST_TEST(pid() != 0);
    BOOST_TEST(pid() != first);
}

BOOST_AUTO_TEST_CASE(reports_a_missing_program_and_an_invalid_configuration) {
    auto missing = options;
    missing.program = "/nonexistent/rocklock";
    const auto none = Database::connect({}, missing);
    BOOST_TEST_REQUIRE(!none.has_value());
    BOOST_TEST((none.error().code == ErrorCode::unreachable));
    BOOST_TEST(none.error().message.find("ConnectOptions::program") != std::string::npos);
    std::ofstream(std::getenv("ROCKLOCK_CONFIG")) << "manager = public\n";
    const auto invalid = Database::connect({}, options);
    BOOST_TEST_REQUIRE(!invalid.has_value());
    BOOST_TEST((invalid.error().code == ErrorCode::invalid_argument));
    BOOST_TEST(invalid.error().message.find("'public'") != std::string::npos);
    auto other = options;
    other.program = "true";
    const auto strange = Database::connect({}, other);
    BOOST_TEST_REQUIRE(!strange.has_value());
    BOOST_TEST(strange.error().message.find("is it rocklock?") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
