// The tables with which the cost of guards is measured. One table is bound to resources, and the
// other is not. Both contain the same items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/database.hpp>

namespace rocklock::bench {

// The targets, as ratios of rates. A guarded write may take at most 1.3 times as long as an
// unguarded write. A read of a bound table may take at most 1.2 times as long as a read of an
// unbound table.
inline constexpr double guarded_write_target = 1 / 1.3;
inline constexpr double bound_read_target = 1 / 1.2;

enum class Table : std::uint8_t { bound, unbound };

// Each thread has 64 items in each table, and holds the locks of its items in the bound table.
//
// Threads: thread-safe if each thread passes its own number.
class GuardedTables {
public:
    // Opens a store in `folder`, or in memory if `folder` is empty.
    GuardedTables(const std::string& folder, Durability durability, std::size_t threads);

    // Writes the thread's next item to the unbound table.
    void put(std::size_t thread) { put(thread, thread_states_[thread].next()); }
    // Writes the next item to the bound table and presents its lock.
    void put_guarded(std::size_t thread) { put_guarded(thread, thread_states_[thread].next()); }
    // Writes the next item to the unbound table, with the condition that the item still has the
    // version that this thread has seen last.
    void put_on_version(std::size_t thread);
    // Writes the next sixteen items in one commit. In the bound table, each write presents its
    // lock.
    void transact(Table table, std::size_t thread);
    void get(Table table, std::size_t thread);
    // Queries all items of a thread.
    void query(Table table, std::size_t thread);

private:
    // The state of a thread: its session, the locks of its items in the bound table, the versions
    // of its items in the unbound table, and the index of its next item.
    struct ThreadState {
        Session session;
        std::vector<Guard> guards;
        std::vector<std::uint64_t> versions;
        std::size_t count = 0;

        std::size_t next();
    };

    void fill_items(std::size_t thread);
    void put(std::size_t thread, std::size_t item);
    void put_guarded(std::size_t thread, std::size_t item);

    Database database_;
    TableService& tables_;
    std::vector<ThreadState> thread_states_;
};

}  // namespace rocklock::bench
