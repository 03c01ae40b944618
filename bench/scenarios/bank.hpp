// A bank whose clerks transfer money between accounts, with and without locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <rocklock/database.hpp>

#include "scenarios/work.hpp"

namespace rocklock::bench {

// The same accounts in a table that is bound to locks and in one that is not.
//
// Threads: thread-safe. Lifetime: borrows the database.
class Bank {
public:
    Bank(Database& database, std::size_t accounts);

    // Of the first so many accounts two, and a sum from one to the other; between reading and
    // saving the clerk thinks. Repeated until it is done; what is repeated is counted as in vain.
    //
    // Reads, and saves if nobody has changed either account since.
    void transfer_optimistically(Worker& worker, std::size_t among,
                                 std::chrono::microseconds thinks);
    // Locks both, reads, saves, and gives them back with the save.
    void transfer_under_locks(Worker& worker, std::size_t among, std::chrono::microseconds thinks);

    // Money that is gone, or came from nowhere, ends the program.
    void audit();

private:
    void create(const std::string& table);
    void audit(const std::string& table);

    Database& database_;
    TableService& tables_;
    const std::size_t accounts_;
};

}  // namespace rocklock::bench
