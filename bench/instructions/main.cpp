// Counts the instructions that the daemon executes for each call, with Valgrind's callgrind.
//
//   bench_instructions PROGRAM [--json] [--clients N] [--rounds N] [durable | written | memory]
//
// The calls of locks, of items, and of locks over HTTP are counted with a daemon each.
//
// In each round, every client sends one request, and then the program waits for all responses. This
// resembles the load of bench_daemon with many clients. The counts contain everything that the
// daemon executes in user mode during the rounds, including its other threads and its polling
// before it sleeps. The counts vary by a few percent from run to run, far less than times on a busy
// machine.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/client.hpp"
#include "daemon/rocklock_client.hpp"
#include "daemon/server.hpp"
#include "daemon/table_client.hpp"
#include "support.hpp"

namespace rocklock::bench {
namespace {

struct Options {
    std::string program;
    std::string durability = "memory";
    std::size_t clients = 64;
    std::size_t rounds = 100;
    bool json = false;
};

// Callgrind writes one file for each part of the run. A part begins where the previous part ends.
class Counter {
public:
    Counter(const Server& server, std::filesystem::path out)
        : pid_(server.pid()), out_(std::move(out)) {}

    // Returns the number of instructions since the last call.
    std::uint64_t take() {
        const std::string command =
            "callgrind_control -d " + std::to_string(pid_) + " >/dev/null 2>&1";
        if (std::system(command.c_str()) != 0) give_up("callgrind_control failed");
        const auto part = out_.string() + "." + std::to_string(++parts_);
        for (int tries = 0; tries < 1000; ++tries) {
            if (const auto total = total_of(part)) return *total;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        give_up("callgrind wrote no totals to " + part);
    }

private:
    static std::optional<std::uint64_t> total_of(const std::string& file) {
        std::ifstream lines(file);
        std::string line;
        while (std::getline(lines, line)) {
            if (line.rfind("totals: ", 0) == 0) return std::stoull(line.substr(8));
        }
        return std::nullopt;
    }

    const int pid_;
    const std::filesystem::path out_;
    int parts_ = 0;
};

std::string name_of(std::size_t client, std::size_t round) {
    return "orders/" + std::to_string(100'000 + client) + "/" + std::to_string(100'000 + round);
}

struct Count {
    std::string name;
    std::uint64_t instructions = 0;
};

// Calls `ask` for each client in each round, and `answered` after its response.
template <typename Clients, typename Ask, typename Answered>
void in_rounds(Clients& clients, std::size_t rounds, const Ask& ask, const Answered& answered) {
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < clients.size(); ++i) ask(*clients[i], i, round);
        for (std::size_t i = 0; i < clients.size(); ++i) {
            clients[i]->await();
            answered(*clients[i], i, round);
        }
    }
}

void count_locks(const Server& server, Counter& counter, const Options& options,
                 std::vector<Count>& counts) {
    std::vector<std::unique_ptr<RocklockClient>> clients;
    for (std::size_t i = 0; i < options.clients; ++i) {
        clients.push_back(std::make_unique<RocklockClient>(server.connect_soon(Way::socket), true));
    }
    std::vector<std::vector<GrantId>> grants(options.clients);
    const auto acquire = [](RocklockClient& client, std::size_t i, std::size_t round) {
        client.ask(name_of(i, round), false);
    };
    const auto keep = [&](RocklockClient& client, std::size_t i, std::size_t /*round*/) {
        grants[i].push_back(client.grant());
    };
    const auto release = [&](RocklockClient& client, std::size_t i, std::size_t round) {
        client.release(grants[i][round]);
    };
    const auto ignore = [](RocklockClient& /*client*/, std::size_t /*i*/, std::size_t /*round*/) {};
    const std::uint64_t calls = options.clients * options.rounds;
    // The first pass is not counted: it allocates memory and loads code.
    for (const bool counted : {false, true}) {
        for (auto& some : grants) some.clear();
        counter.take();
        in_rounds(clients, options.rounds, acquire, keep);
        const auto acquires = counter.take();
        in_rounds(clients, options.rounds, release, ignore);
        const auto releases = counter.take();
        if (!counted) continue;
        counts.push_back({"acquire", acquires / calls});
        counts.push_back({"release", releases / calls});
    }
}

// Counts the calls of both kinds together, because an HTTP client holds at most one lock.
void count_locks_over_http(const Server& server, Counter& counter, const Options& options,
                           std::vector<Count>& counts) {
    std::vector<std::unique_ptr<LockClient>> clients;
    for (std::size_t i = 0; i < options.clients; ++i) {
        clients.push_back(rocklock_http_client(server.connect_soon(Way::socket)));
    }
    const auto ignore = [](LockClient& /*client*/, std::size_t /*i*/, std::size_t /*round*/) {};
    for (const bool counted : {false, true}) {
        counter.take();
        for (std::size_t round = 0; round < options.rounds; ++round) {
            const auto acquire = [round](LockClient& client, std::size_t i, std::size_t /*one*/) {
                client.ask(name_of(i, round), false);
            };
            const auto release = [round](LockClient& client, std::size_t i, std::size_t /*one*/) {
                client.give_back(name_of(i, round));
            };
            in_rounds(clients, 1, acquire, ignore);
            in_rounds(clients, 1, release, ignore);
        }
        const auto pairs = counter.take();
        if (counted) {
            counts.push_back({"acquire and release over HTTP, each",
                              pairs / (2 * options.clients * options.rounds)});
        }
    }
}

std::string put(const std::string& name) {
    return R"({"TableName":"bench","Item":{"id":{"S":")" + name +
           R"("},"holder":{"S":"billing-worker-3"},"expired_at":{"N":"1795284000"},)"
           R"("fence":{"N":"3706140701491200"},"state":{"S":"normal"},"revision":{"N":"17"}}})";
}

std::string get(const std::string& name) {
    return R"({"TableName":"bench","Key":{"id":{"S":")" + name + R"("}}})";
}

void count_items(const Server& server, Counter& counter, const Options& options,
                 std::vector<Count>& counts) {
    std::vector<std::unique_ptr<TableClient>> clients;
    for (std::size_t i = 0; i < options.clients; ++i) {
        clients.push_back(std::make_unique<TableClient>(server.connect_soon(Way::socket)));
    }
    clients.front()->call("CreateTable",
                          R"({"TableName":"bench","BillingMode":"PAY_PER_REQUEST",)"
                          R"("AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],)"
                          R"("KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})");
    const auto ask = [&](std::string_view operation, auto body, std::string_view begin) {
        return [=](TableClient& client, std::size_t i, std::size_t round) {
            client.ask(table_request(operation, body(name_of(i, round))), begin);
        };
    };
    const auto ignore = [](TableClient& /*client*/, std::size_t /*i*/, std::size_t /*round*/) {};
    const std::uint64_t calls = options.clients * options.rounds;
    for (const bool counted : {false, true}) {
        counter.take();
        in_rounds(clients, options.rounds, ask("PutItem", put, "{}"), ignore);
        const auto puts = counter.take();
        in_rounds(clients, options.rounds, ask("GetItem", get, R"({"Item":)"), ignore);
        const auto gets = counter.take();
        if (!counted) continue;
        counts.push_back({"GetItem", gets / calls});
        counts.push_back({"PutItem", puts / calls});
    }
}

using Measure = void (*)(const Server& server, Counter& counter, const Options& options,
                         std::vector<Count>& counts);

// Starts a daemon under callgrind, and counts the instructions of some calls.
void count_with_daemon(const Options& options, Measure measure, std::vector<Count>& counts) {
    const Folder folder(std::filesystem::temp_directory_path().string());
    const std::filesystem::path directory = folder.path();
    const auto out = directory / "out";
    Contestant daemon;
    daemon.name = "Rocklock under callgrind";
    daemon.socket = (directory / "socket").string();
    daemon.command = {"valgrind",      "--tool=callgrind",
                      "--quiet",       "--callgrind-out-file=" + out.string(),
                      options.program, "serve",
                      "--socket",      daemon.socket};
    if (options.durability == "memory") {
        daemon.command.emplace_back("--memory");
    } else {
        for (const auto& word : {std::string("--db"), (directory / "db").string(),
                                 std::string("--durability"), options.durability}) {
            daemon.command.push_back(word);
        }
    }
    const Server server(daemon);
    if (!server.why_not().empty()) give_up("the daemon did not start: " + server.why_not());
    Counter counter(server, out);
    measure(server, counter, options, counts);
}

// Each kind of call has a daemon of its own, because the daemon moves the records of locks to table
// files, and removes those of ended grants, later, in the time of other calls.
std::vector<Count> count(const Options& options) {
    std::vector<Count> counts;
    for (const Measure measure : {count_locks, count_items, count_locks_over_http}) {
        count_with_daemon(options, measure, counts);
    }
    return counts;
}

std::size_t number_of(const std::string& text) {
    std::size_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number == 0 ||
        number > 10'000) {
        give_up("'" + text + "' is not a number from 1 to 10000");
    }
    return number;
}

Options options_of(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool has_value = i + 1 < words.size();
        if (word == "--json") {
            options.json = true;
        } else if (word == "--clients" && has_value) {
            options.clients = number_of(words[++i]);
        } else if (word == "--rounds" && has_value) {
            options.rounds = number_of(words[++i]);
        } else if (word == "durable" || word == "written" || word == "memory") {
            options.durability = word;
        } else if (options.program.empty() && word[0] != '-') {
            options.program = word;
        } else {
            give_up("unknown argument " + word +
                    "; the arguments are durable, written or memory; --clients N; --rounds N; "
                    "--json");
        }
    }
    if (options.program.empty()) give_up("name the program of Rocklock");
    return options;
}

void print(const std::vector<Count>& counts, const Options& options) {
    if (!options.json) {
        std::cout << "| call (" << options.durability << ", " << options.clients
                  << " clients) | instructions |\n|---|---|\n";
    }
    for (const Count& count : counts) {
        if (options.json) {
            std::cout << R"({"Call":")" << count.name << R"(","Durability":")" << options.durability
                      << R"(","Clients":)" << options.clients << R"(,"Instructions":)"
                      << count.instructions << "}\n";
        } else {
            std::cout << "| " << count.name << " | " << count.instructions << " |\n";
        }
    }
}

}  // namespace
}  // namespace rocklock::bench

int main(int count, char** words) {
    using namespace rocklock::bench;
    const Options options = options_of({words + 1, words + count});
    print(rocklock::bench::count(options), options);
    return 0;
}
