// Contenders that take locks and give them back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/lock_work.hpp"
#include "scenarios/scenario.hpp"

namespace rocklock::bench {

// How the clients of a server speak to it.
enum class Speech : std::uint8_t {
    // As bench_daemon's do: Rocklock's in frames.
    its_own,
    // Rocklock's as JSON over HTTP, on the same socket.
    http,
};

struct Locking {
    Wanted wanted = Wanted::own;
    std::size_t clients = 1;
    Speech speech = Speech::its_own;
};

// Adds the clients of a server, where it can be started. One thread drives all of them.
void add_clients(std::vector<Contender>& contenders, Setting& setting, const std::string& name,
                 const Locking& locking);

// A store of this process's: so many threads, each of which has a session, and takes names of its
// own or all the same one.
class EmbeddedLocker {
public:
    EmbeddedLocker(Setting& setting, Store store) : store_(store), database_(setting.open(store)) {}

    Contender contender(Wanted wanted, std::size_t threads, std::chrono::milliseconds duration);

private:
    Store store_;
    Database database_;
};

// RocksDB's own locks: a pessimistic transaction that puts the owner, and one that removes it.
class TransactionDb {
public:
    TransactionDb(const std::string& folder, bool synced);
    ~TransactionDb();
    TransactionDb(const TransactionDb&) = delete;
    TransactionDb& operator=(const TransactionDb&) = delete;

    Contender contender(std::size_t threads, std::chrono::milliseconds duration);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Threads without sessions, each doing it over and over; each time is waited for as a whole.
Sample work_without(std::size_t threads, std::chrono::milliseconds duration,
                    const std::function<void(std::size_t thread)>& once);
// The same, where looking at the clock would take longer than what is done: its waits are unknown.
Sample count_without(std::size_t threads, std::chrono::milliseconds duration,
                     const std::function<void(std::size_t thread)>& once);

}  // namespace rocklock::bench
