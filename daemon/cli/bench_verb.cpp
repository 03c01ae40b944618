// bench: measures how many locks per second a daemon or a store grants and releases.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/lock.hpp>

#include "base/duration_text.hpp"
#include "base/jains_index.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "service/process_id.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int max_clients = 1000;
constexpr milliseconds longest{600'000};

struct Plan {
    int clients = 8;
    milliseconds duration{3000};
    // If true, all clients lock the same resource; otherwise each client has a resource of its own.
    bool same = false;
};

// Collects the results of all clients.
class Tally {
public:
    void add(std::vector<microseconds> waits) {
        const std::lock_guard lock(mutex_);
        waits_.insert(waits_.end(), waits.begin(), waits.end());
        pairs_.push_back(waits.size());
    }
    void fail(const Error& error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = error;
        failed_.notify_all();
    }
    // Waits for this time, or until a client fails. There is no result then.
    void wait_for(milliseconds duration) {
        std::unique_lock lock(mutex_);
        failed_.wait_for(lock, duration, [this] { return error_.has_value(); });
    }
    const std::optional<Error>& error() const { return error_; }
    void sort() { std::sort(waits_.begin(), waits_.end()); }
    std::size_t count() const { return waits_.size(); }
    // Returns the wait that `thousandth` of 1,000 acquires did not exceed. Requires sort().
    microseconds within(std::size_t thousandth) const {
        if (waits_.empty()) return microseconds{0};
        return waits_[std::min(waits_.size() - 1, waits_.size() * thousandth / 1000)];
    }

    double fairness() const { return jains_index(pairs_); }

private:
    std::mutex mutex_;
    std::condition_variable failed_;
    std::vector<microseconds> waits_;
    // The number of acquires and releases, for each client.
    std::vector<std::uint64_t> pairs_;
    std::optional<Error> error_;
};

// Runs one client: acquires and releases until `over` is set, at least once. Returns the wait of
// each acquire.
Result<std::vector<microseconds>> work(LockService& manager, OpenSession open,
                                       const std::string& resource, std::latch& ready,
                                       const std::atomic<bool>& over) {
    const auto session = manager.ask(std::move(open));
    ready.arrive_and_wait();
    if (!session) return session.error();
    std::vector<microseconds> waits;
    do {
        Acquire acquire;
        acquire.session = session->id;
        acquire.patience = no_limit;
        LockRequest lock;
        lock.resource = resource;
        acquire.locks = {std::move(lock)};
        const auto start = steady_clock::now();
        const auto grant = manager.ask(std::move(acquire));
        if (!grant) return grant.error();
        waits.push_back(std::chrono::duration_cast<microseconds>(steady_clock::now() - start));
        const auto released = manager.ask(Release{session->id, grant->id});
        if (!released) return released.error();
    } while (!over);
    std::ignore = manager.ask(CloseSession{session->id});
    return waits;
}

Result<int> whole_number(const Arguments& arguments, std::string_view option, int otherwise,
                         int largest) {
    const auto text = arguments.get(option);
    if (!text) return otherwise;
    const bool digits = !text->empty() && text->size() < 8 &&
                        text->find_first_not_of("0123456789") == std::string::npos;
    const int value = digits ? std::stoi(*text) : 0;
    if (value >= 1 && value <= largest) return value;
    return Error(
        ErrorCode::invalid_argument,
        dashed(option) + " is '" + *text + "'; give a number from 1 to " + std::to_string(largest));
}

Result<Plan> plan_of(const Arguments& arguments) {
    Plan plan;
    const auto clients = whole_number(arguments, "clients", plan.clients, max_clients);
    if (!clients) return clients.error();
    plan.clients = *clients;
    if (const auto text = arguments.get("duration")) {
        const auto duration = parse_duration(*text);
        if (!duration || *duration <= milliseconds{0} || *duration > longest) {
            return Error(ErrorCode::invalid_argument,
                         "--duration is '" + *text + "'; give up to 10m, as in 3s");
        }
        plan.duration = *duration;
    }
    plan.same = arguments.has("same");
    return plan;
}

// The lock managers of the clients: with --db the same one for all, otherwise a connection of the
// client library for each.
class Managers {
public:
    static Result<Managers> open(const Arguments& arguments, int clients);
    LockService& of(int client) {
        auto* const embedded = first_->service();
        return embedded != nullptr ? *embedded
                                   : connections_[static_cast<std::size_t>(client)].service();
    }
    // Returns the request that opens the session of a client. The session ends with this process.
    OpenSession opening() const;

private:
    explicit Managers(std::unique_ptr<LockConnection> first) : first_(std::move(first)) {}

    std::unique_ptr<LockConnection> first_;
    std::vector<Database> connections_;
};

// The process is not named to a daemon. The daemon gets it from the kernel, because the pid of this
// process can be a different one in the daemon's namespace.
OpenSession Managers::opening() const {
    OpenSession open;
    open.principal = "rocklock bench";
    open.bound = Bound::process;
    if (first_->service() == nullptr) return open;
    open.uid = ::geteuid();
    open.pid = ::getpid();
    if (const auto self = find_process(::getpid())) open.processes = {*self};
    return open;
}

// Raises the limit of file descriptors as far as the clients need it: a connection with shared
// memory uses five. Returns limit_exceeded if the hard limit is too low.
Result<void> allow_descriptors(int clients) {
    const rlim_t needed = static_cast<rlim_t>(clients) * 5 + 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return {};
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == needed) return {};
    return Error(ErrorCode::limit_exceeded,
                 std::to_string(clients) + " clients need " + std::to_string(needed) +
                     " file descriptors, and this process may open " +
                     std::to_string(limit.rlim_max) +
                     ": give fewer clients, or raise the limit (`ulimit -Hn`)");
}

Result<Managers> Managers::open(const Arguments& arguments, int clients) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    auto first = open_manager(arguments, *settings, milliseconds{0});
    if (!first) return std::move(first).error();
    Managers managers(*std::move(first));
    if (managers.first_->service() != nullptr) return managers;
    // Starts the daemon if necessary, and reports the usual errors.
    const auto pong = managers.first_->ask<Pong>(Call{Ping{}, {}, {}});
    if (!pong) return pong.error();
    if (auto allowed = allow_descriptors(clients); !allowed) return std::move(allowed).error();
    ConnectOptions options;
    options.background = false;
    for (int i = 0; i < clients; ++i) {
        auto connection = Database::connect(managers.first_->socket(), options);
        if (!connection) return std::move(connection).error();
        managers.connections_.push_back(*std::move(connection));
    }
    return managers;
}

std::string per_second(std::size_t count, steady_clock::duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    return std::to_string(static_cast<std::uint64_t>(static_cast<double>(count) / seconds));
}

std::string two_digits(double value) {
    char text[16];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

void print_result(const Plan& plan, const Tally& tally, steady_clock::duration took,
                  const Arguments& arguments) {
    const auto rate = per_second(tally.count(), took);
    const auto micros = [&](std::size_t thousandth) { return tally.within(thousandth).count(); };
    if (arguments.has("json")) {
        JsonWriter json;
        json.begin_object();
        json.key("Clients");
        json.number(plan.clients);
        json.key("Same");
        json.boolean(plan.same);
        json.key("Pairs");
        json.number(tally.count());
        json.key("PairsPerSecond");
        json.number(std::stoull(rate));
        for (const auto& [key, thousandth] : {std::pair("P50Us", 500), std::pair("P99Us", 990),
                                              std::pair("P999Us", 999), std::pair("MaxUs", 1000)}) {
            json.key(key);
            json.number(micros(static_cast<std::size_t>(thousandth)));
        }
        json.key("Fairness");
        json.number(tally.fairness());
        json.end_object();
        return print(json.take());
    }
    TextTable table({"CLIENTS", "LOCKS", "PAIRS", "PAIRS/S", "P50 US", "P99 US", "P99.9 US",
                     "MAX US", "FAIRNESS"});
    table.add({std::to_string(plan.clients), plan.same ? "the same" : "one each",
               std::to_string(tally.count()), rate, std::to_string(micros(500)),
               std::to_string(micros(990)), std::to_string(micros(999)),
               std::to_string(micros(1000)), two_digits(tally.fairness())});
    print_table(table, arguments);
}

}  // namespace

int bench_verb(const Arguments& arguments) {
    const auto plan = plan_of(arguments);
    if (!plan) return fail(plan.error());
    auto managers = Managers::open(arguments, plan->clients);
    if (!managers) return fail(managers.error());
    // A name that only this process uses, so that the benchmark does not block other locks.
    const auto base = "rocklock-bench/" + std::to_string(::getpid());
    Tally tally;
    std::atomic<bool> over{false};
    std::latch ready(plan->clients + 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < plan->clients; ++i) {
        threads.emplace_back([&, i] {
            const auto resource = plan->same ? base : base + "/" + std::to_string(i);
            auto waits = work(managers->of(i), managers->opening(), resource, ready, over);
            if (waits) {
                tally.add(*std::move(waits));
            } else {
                tally.fail(waits.error());
            }
        });
    }
    ready.arrive_and_wait();
    const auto start = steady_clock::now();
    tally.wait_for(plan->duration);
    over = true;
    for (auto& thread : threads) thread.join();
    const auto took = steady_clock::now() - start;
    if (tally.error()) return fail(*tally.error());
    tally.sort();
    print_result(*plan, tally, took, arguments);
    return exit_status::done;
}

}  // namespace rocklock
