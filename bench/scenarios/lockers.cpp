#include "scenarios/lockers.hpp"

#include <utility>

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include "lock/contestants.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t names_per_worker = 1024;

std::vector<Names> names_of_all(std::size_t workers) {
    std::vector<Names> all;
    for (std::size_t i = 0; i < workers; ++i) all.emplace_back(i, names_per_worker);
    return all;
}

void check(const rocksdb::Status& status) {
    if (!status.ok()) give_up("TransactionDB", status.ToString());
}

}  // namespace

std::string threads_of(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

void add_clients(std::vector<Contender>& contenders, Setting& setting, const std::string& name,
                 const Locking& locking) {
    const bool ours = name.starts_with("Rocklock");
    const Server* const server = setting.server(name);
    // Rocklock cannot be left out, because the comparisons find its rounds by their index.
    if (server == nullptr && ours) give_up("measure", name + " cannot be started");
    if (server == nullptr) return;
    const bool over_http = locking.speech == Speech::http;
    const bool without_memory = locking.speech == Speech::socket;
    const auto connect = [server, over_http, without_memory] {
        if (over_http) return rocklock_http_client(server->connect_soon(Way::socket));
        if (without_memory) return rocklock_socket_client(server->connect_soon(Way::socket));
        return server->connect();
    };
    const auto round = [=, duration = setting.duration()] {
        const double used = processor_seconds();
        LockRun run = measure_locks(connect, locking.wanted, locking.clients, 1, duration);
        Sample sample;
        sample.seconds = run.seconds;
        sample.done = std::move(run.pairs);
        sample.waits = run.waits;
        sample.processor_seconds = processor_seconds() - used;
        return sample;
    };
    const std::string way = over_http        ? " over HTTP"
                            : without_memory ? " over the socket"
                                             : " daemon";
    contenders.push_back({ours ? "Rocklock" + way : name, round, server});
}

Contender EmbeddedLocker::contender(Wanted wanted, std::size_t threads,
                                    std::chrono::milliseconds duration) {
    return {"Rocklock embedded", [this, wanted, threads, duration] {
                if (store_ == Store::memory) {
                    // A new store for each round, because a store in memory keeps its history.
                    database_ = must(Database::in_memory(), "open in memory");
                }
                auto names = names_of_all(threads);
                return work(database_, threads, duration, [&](Worker& worker) {
                    static const std::string one = "one";
                    Guard guard =
                        take(worker, wanted == Wanted::the_same ? one : names[worker.index].next());
                    must(guard.release(), "release");
                    ++worker.done;
                });
            }};
}

struct TransactionDb::State {
    std::unique_ptr<rocksdb::TransactionDB> database;
    rocksdb::WriteOptions acquire;

    void take(const std::string& name, const std::string& owner) {
        const std::unique_ptr<rocksdb::Transaction> transaction(
            database->BeginTransaction(acquire));
        std::string found;
        if (!transaction->GetForUpdate(rocksdb::ReadOptions(), name, &found).IsNotFound()) {
            give_up("TransactionDB", "a name is not free");
        }
        check(transaction->Put(name, owner));
        check(transaction->Commit());
    }
    void give_back(const std::string& name) {
        const std::unique_ptr<rocksdb::Transaction> transaction(
            database->BeginTransaction(rocksdb::WriteOptions()));
        check(transaction->Delete(name));
        check(transaction->Commit());
    }
};

TransactionDb::TransactionDb(const std::string& folder, bool synced)
    : state_(std::make_unique<State>()) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::TransactionDB* opened = nullptr;
    check(rocksdb::TransactionDB::Open(options, rocksdb::TransactionDBOptions(), folder, &opened));
    state_->database.reset(opened);
    state_->acquire.sync = synced;
}

TransactionDb::~TransactionDb() = default;

Contender TransactionDb::contender(std::size_t threads, std::chrono::milliseconds duration) {
    return {"RocksDB TransactionDB", [this, threads, duration] {
                auto names = names_of_all(threads);
                std::vector<Latencies> waits(threads);
                Sample sample = count_without(threads, duration, [&](std::size_t thread) {
                    const std::string& name = names[thread].next();
                    const auto start = std::chrono::steady_clock::now();
                    state_->take(name, "worker-" + std::to_string(thread));
                    waits[thread].record(std::chrono::steady_clock::now() - start);
                    state_->give_back(name);
                });
                for (const Latencies& each : waits) sample.waits.add(each);
                return sample;
            }};
}

Contender TransactionDb::locks_only(std::size_t threads, std::chrono::milliseconds duration) {
    return {
        "RocksDB TransactionDB, nothing written", [this, threads, duration] {
            auto names = names_of_all(threads);
            // A thread uses the same transaction object for all its transactions, which saves
            // allocations.
            std::vector<std::unique_ptr<rocksdb::Transaction>> reused(threads);
            return count_without(threads, duration, [&](std::size_t thread) {
                auto& transaction = reused[thread];
                transaction.reset(state_->database->BeginTransaction(
                    rocksdb::WriteOptions(), rocksdb::TransactionOptions(), transaction.release()));
                // Without a value to return, GetForUpdate() only locks.
                check(transaction->GetForUpdate(rocksdb::ReadOptions(), names[thread].next(),
                                                static_cast<std::string*>(nullptr)));
                check(transaction->Rollback());
            });
        }};
}

Sample count_without(std::size_t threads, std::chrono::milliseconds duration,
                     const std::function<void(std::size_t thread)>& once) {
    Sample sample;
    const double used = processor_seconds();
    sample.seconds = std::chrono::duration<double>(duration).count();
    sample.done = {static_cast<std::uint64_t>(rate(threads, duration, once) * sample.seconds)};
    sample.processor_seconds = processor_seconds() - used;
    return sample;
}

Sample work_without(std::size_t threads, std::chrono::milliseconds duration,
                    const std::function<void(std::size_t thread)>& once) {
    Sample sample;
    const double used = processor_seconds();
    std::vector<Latencies> waits(threads);
    const double rate_found = rate(threads, duration, [&](std::size_t thread) {
        const auto start = std::chrono::steady_clock::now();
        once(thread);
        waits[thread].record(std::chrono::steady_clock::now() - start);
    });
    for (const Latencies& each : waits) {
        sample.waits.add(each);
        sample.done.push_back(each.count());
    }
    sample.seconds = static_cast<double>(sample.all_done()) / rate_found;
    sample.processor_seconds = processor_seconds() - used;
    return sample;
}

}  // namespace rocklock::bench
