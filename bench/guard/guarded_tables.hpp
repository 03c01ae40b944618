// What guards are measured on: the same items in a table that is bound to resources and in one that
// is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/database.hpp>

namespace rocklock::bench {

// Ratios of rates: a guarded write costs at most 1.3 times the other, a read of a bound table 1.2.
inline constexpr double guarded_write_target = 1 / 1.3;
inline constexpr double bound_read_target = 1 / 1.2;

// Which of the two tables.
enum class Table : std::uint8_t { bound, unbound };

// Sixty-four items a thread in each table. Of those in the bound one each thread holds the locks.
//
// Threads: thread-safe, where each names itself.
class GuardedTables {
public:
    // In a folder; in memory, where that is empty.
    GuardedTables(const std::string& folder, Durability durability, std::size_t threads);

    // The next of the thread's items, into the unbound table.
    void put(std::size_t thread) { put(thread, places_[thread].next()); }
    // Into the bound one, showing its lock.
    void put_guarded(std::size_t thread) { put_guarded(thread, places_[thread].next()); }
    // Into the unbound one, if it has the version that it is known to have.
    void put_on_version(std::size_t thread);
    // The next sixteen in one commit, which show their locks in the bound table.
    void transact(Table table, std::size_t thread);
    void get(Table table, std::size_t thread);
    // All of a thread's items.
    void query(Table table, std::size_t thread);

private:
    // What a thread has: a session, the locks of all its items in the bound table, the versions of
    // those in the other, and which item is next.
    struct Place {
        Session session;
        std::vector<Guard> guards;
        std::vector<std::uint64_t> versions;
        std::size_t count = 0;

        std::size_t next();
    };

    void fill_place(std::size_t thread);
    void put(std::size_t thread, std::size_t item);
    void put_guarded(std::size_t thread, std::size_t item);

    Database database_;
    TableService& tables_;
    std::vector<Place> places_;
};

}  // namespace rocklock::bench
