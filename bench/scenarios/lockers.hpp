// Contenders (the implementations that a scenario compares) that acquire and release locks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/lock_work.hpp"
#include "scenarios/scenario.hpp"

namespace rocklock::bench {

// The protocol that the clients of a server use.
enum class Speech : std::uint8_t {
    // The protocol that bench_daemon uses; for Rocklock, frames in shared memory.
    its_own,
    // For Rocklock: frames over the socket, without shared memory.
    socket,
    // For Rocklock: JSON over HTTP, on the same socket.
    http,
};

struct Locking {
    Wanted wanted = Wanted::own;
    std::size_t clients = 1;
    Speech speech = Speech::its_own;
};

// Returns "1 thread" or "N threads".
std::string threads_of(std::size_t count);

// Adds a contender with clients of the server `name`, if the server can be started. One thread
// drives all clients. If the server is Rocklock and cannot be started, ends the program.
void add_clients(std::vector<Contender>& contenders, Setting& setting, const std::string& name,
                 const Locking& locking);

// Rocklock with a store in this process. Each thread has a session. Either each thread acquires its
// own names, or all threads acquire the same name.
class EmbeddedLocker {
public:
    EmbeddedLocker(Setting& setting, Store store) : store_(store), database_(setting.open(store)) {}

    Contender contender(Wanted wanted, std::size_t threads, std::chrono::milliseconds duration);

private:
    Store store_;
    Database database_;
};

// RocksDB's own locks: a pessimistic transaction puts the owner of the lock, and another one
// removes it.
class TransactionDb {
public:
    TransactionDb(const std::string& folder, bool synced);
    ~TransactionDb();
    TransactionDb(const TransactionDb&) = delete;
    TransactionDb& operator=(const TransactionDb&) = delete;

    Contender contender(std::size_t threads, std::chrono::milliseconds duration);
    // Each transaction locks a name, writes nothing, and is rolled back.
    Contender locks_only(std::size_t threads, std::chrono::milliseconds duration);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// `threads` threads repeat `once` for `duration`. Unlike work(), opens no sessions. The sample
// contains the duration of each call.
Sample work_without(std::size_t threads, std::chrono::milliseconds duration,
                    const std::function<void(std::size_t thread)>& once);
// As work_without(), but without the durations, because reading the clock would take longer than
// the operation.
Sample count_without(std::size_t threads, std::chrono::milliseconds duration,
                     const std::function<void(std::size_t thread)>& once);

}  // namespace rocklock::bench
