#include "held.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>
#include <vector>

#include "contestants.hpp"

namespace rocklock::bench {

namespace {

constexpr std::string_view child_mark = "--child";
constexpr std::size_t locks_per_session = 1000;

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

Database open_store(const std::string& folder) {
    DatabaseOptions options;
    options.durability = Durability::written;
    return must(Database::open(folder, options), "open");
}

// Sessions and grants stay when this returns, and nothing of them outside of the store.
void fill(Database& database, std::size_t first, std::size_t locks, bool flat) {
    SessionOptions options;
    options.lease = std::chrono::hours{1};
    options.renew = false;
    Session session;
    for (std::size_t i = 0; i < locks; ++i) {
        if (i % locks_per_session == 0) {
            if (session) session.detach();
            session = must(database.open_session("worker", options), "open a session");
        }
        must(session.acquire(name_of(first + i, flat)), "acquire").detach();
    }
    session.detach();
}

// One number on standard output is what the parent reads.
int say(double value) {
    std::cout << value << std::endl;
    return 0;
}

int child_memory(const std::string& folder, std::size_t locks, bool flat) {
    Database database = open_store(folder);
    // What the first requests of all allocate is not any lock's.
    fill(database, locks, 1, flat);
    const std::size_t before = resident_bytes();
    fill(database, 0, locks, flat);
    const double each = (static_cast<double>(resident_bytes()) - static_cast<double>(before)) /
                        static_cast<double>(locks);
    say(each);
    // The end of the process frees it all faster.
    std::_Exit(0);
}

int child_fill(const std::string& folder, std::size_t locks, End end) {
    Database database = open_store(folder);
    fill(database, 0, locks, false);
    if (end == End::closed) {
        must(database.close(), "close");
        return say(0);
    }
    say(0);
    ::kill(::getpid(), SIGKILL);
    return 1;
}

int child_open(const std::string& folder) {
    const auto start = std::chrono::steady_clock::now();
    Database database = open_store(folder);
    Session session = must(database.open_session("first"), "open a session");
    Guard guard = must(session.acquire("a name that is free"), "acquire");
    say(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::_Exit(0);
}

// Runs this program again, and reads its number.
double run(std::vector<std::string> arguments, bool killed = false) {
    int ends[2];
    if (::pipe(ends) != 0) give_up("make a pipe", "it failed");
    arguments.insert(arguments.begin(), {"bench_lock", std::string(child_mark)});
    const pid_t child = ::fork();
    if (child < 0) give_up("fork", "it failed");
    if (child == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        ::execv("/proc/self/exe", words.data());
        std::_Exit(127);
    }
    ::close(ends[1]);
    std::FILE* const said = ::fdopen(ends[0], "r");
    char line[64] = "";
    const bool spoke = std::fgets(line, sizeof line, said) != nullptr;
    std::fclose(said);
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool well = killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!spoke || !well) give_up("run " + arguments[2], "it failed");
    return std::strtod(line, nullptr);
}

}  // namespace

double measure_memory(const std::string& folder, std::size_t locks, bool flat) {
    return run({"memory", folder, std::to_string(locks), flat ? "flat" : "path"});
}

double measure_open(const std::string& folder, std::size_t locks, End end) {
    const bool killed = end == End::killed;
    run({"fill", folder, std::to_string(locks), killed ? "killed" : "closed"}, killed);
    return run({"open", folder});
}

bool is_child(int argc, char** argv) { return argc >= 4 && argv[1] == child_mark; }

int run_child(int argc, char** argv) {
    const std::string_view what = argv[2];
    const std::string folder = argv[3];
    if (what == "open") return child_open(folder);
    if (argc < 6) return 2;
    const std::size_t locks = std::strtoull(argv[4], nullptr, 10);
    const std::string_view how = argv[5];
    if (what == "memory") return child_memory(folder, locks, how == "flat");
    return child_fill(folder, locks, how == "killed" ? End::killed : End::closed);
}

}  // namespace rocklock::bench
