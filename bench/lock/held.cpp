#include "held.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>

#include "child.hpp"
#include "contestants.hpp"

namespace rocklock::bench {

namespace {

constexpr std::size_t locks_per_session = 1000;
// The maximum number of requests that hold_locks_quickly() has sent and that are not answered.
constexpr std::ptrdiff_t at_once = 1024;
// An idle store begins to write its records to files after at most two seconds.
constexpr std::chrono::seconds idle_time{4};

// The values of End, as words for a child process.
constexpr std::array<std::string_view, 3> end_words{"closed", "killed", "idle"};

std::string word_of(End end) { return std::string(end_words.at(static_cast<std::size_t>(end))); }

End end_of(std::string_view word) {
    return static_cast<End>(std::ranges::find(end_words, word) - end_words.begin());
}

Database open_store(const std::string& folder) {
    DatabaseOptions options;
    options.durability = Durability::written;
    return must(Database::open(folder, options), "open");
}

// Opens a session, and detaches the previous one, if any.
Session next_session(Database& database, Session previous) {
    if (previous) previous.detach();
    SessionOptions options;
    options.lease = std::chrono::hours{1};
    options.renew = false;
    return must(database.open_session("worker", options), "open a session");
}

int child_memory(const std::string& folder, std::size_t locks, bool flat, RequestIds ids) {
    Database database = open_store(folder);
    // The first requests allocate memory that belongs to no lock; it must not be counted.
    hold_locks(database, locks, 1, flat, ids);
    const std::size_t before = resident_bytes();
    hold_locks(database, 0, locks, flat, ids);
    const double each = (static_cast<double>(resident_bytes()) - static_cast<double>(before)) /
                        static_cast<double>(locks);
    send_to_parent({each});
    // Skips destructors: the end of the process frees the memory faster.
    std::_Exit(0);
}

int child_fill(const std::string& folder, std::size_t first, std::size_t locks, End end) {
    Database database = open_store(folder);
    hold_locks_quickly(database, first, locks);
    if (end == End::closed) must(database.close(), "close");
    if (end == End::killed_when_idle) std::this_thread::sleep_for(idle_time);
    send_to_parent({0});
    if (end == End::closed) return 0;
    ::kill(::getpid(), SIGKILL);
    return 1;
}

int child_open(const std::string& folder) {
    const auto start = std::chrono::steady_clock::now();
    Database database = open_store(folder);
    Session session = must(database.open_session("first"), "open a session");
    Guard guard = must(session.acquire("a name that is free"), "acquire");
    send_to_parent(
        {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    std::_Exit(0);
}

}  // namespace

void hold_locks(Database& database, std::size_t first, std::size_t locks, bool flat,
                RequestIds ids) {
    Session session;
    for (std::size_t i = 0; i < locks; ++i) {
        if (i % locks_per_session == 0) session = next_session(database, std::move(session));
        const std::string name = name_of(first + i, flat);
        if (ids == RequestIds::with) {
            Acquire acquire;
            acquire.session = session.id();
            acquire.locks = {{.resource = name}};
            acquire.request_id = name;
            must(database.service().ask(std::move(acquire)), "acquire");
        } else {
            must(session.acquire(name), "acquire").detach();
        }
    }
    session.detach();
}

void hold_locks_quickly(Database& database, std::size_t first, std::size_t locks) {
    // Shared, because the last release() may still run when all requests are answered.
    const auto pending = std::make_shared<std::counting_semaphore<at_once>>(at_once);
    Session session;
    for (std::size_t i = 0; i < locks; ++i) {
        if (i % locks_per_session == 0) session = next_session(database, std::move(session));
        Acquire acquire;
        acquire.session = session.id();
        acquire.locks.push_back({.resource = name_of(first + i, false)});
        pending->acquire();
        database.service().submit(std::move(acquire), [pending](const Result<Answer>& answer) {
            must(answer, "acquire");
            pending->release();
        });
    }
    for (std::ptrdiff_t i = 0; i < at_once; ++i) pending->acquire();
    session.detach();
}

double measure_memory(const std::string& folder, std::size_t locks, bool flat, RequestIds ids) {
    return run_child_process({"memory", folder, std::to_string(locks), flat ? "flat" : "path",
                              ids == RequestIds::with ? "ids" : "no-ids"})
        .front();
}

void fill_store(const std::string& folder, std::size_t first, std::size_t locks, End end) {
    run_child_process({"fill", folder, std::to_string(locks), word_of(end), std::to_string(first)},
                      end != End::closed);
}

double measure_first_grant(const std::string& folder) {
    return run_child_process({"open", folder}).front();
}

double measure_open(const std::string& folder, std::size_t locks, End end) {
    fill_store(folder, 0, locks, end);
    return measure_first_grant(folder);
}

int run_child(int argc, char** argv) {
    const std::string_view what = argv[2];
    const std::string folder = argv[3];
    if (what == "open") return child_open(folder);
    if (argc < 6) return 2;
    const std::size_t locks = std::strtoull(argv[4], nullptr, 10);
    const std::string_view how = argv[5];
    if (what == "memory") {
        const bool with_ids = argc > 6 && std::string_view(argv[6]) == "ids";
        return child_memory(folder, locks, how == "flat",
                            with_ids ? RequestIds::with : RequestIds::without);
    }
    const std::size_t first = argc > 6 ? std::strtoull(argv[6], nullptr, 10) : 0;
    return child_fill(folder, first, locks, end_of(how));
}

}  // namespace rocklock::bench
