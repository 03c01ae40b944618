// Transfers money between the accounts of a bank, with optimistic or with pessimistic locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <rocklock/database.hpp>

#include "scenarios/work.hpp"

namespace rocklock::bench {

// Stores the same accounts in two tables. One table is bound to locks, and the other is not.
//
// Threads: thread-safe. Lifetime: borrows the database.
class Bank {
public:
    Bank(Database& database, std::size_t accounts);

    // The two functions below transfer a random sum between two of the first `among` accounts. They
    // wait for the duration `thinks` between reading and saving the accounts.
    //
    // transfer_optimistically() saves the accounts only if neither has changed since it was read.
    // If one has changed, the function counts the attempt in Worker::wasted and retries.
    void transfer_optimistically(Worker& worker, std::size_t among,
                                 std::chrono::microseconds thinks);
    // transfer_under_locks() locks both accounts, reads them, saves them, and releases the locks in
    // the same commit.
    void transfer_under_locks(Worker& worker, std::size_t among, std::chrono::microseconds thinks);

    // Ends the program if the sum of all accounts has changed.
    void audit();

private:
    void create(const std::string& table);
    void audit(const std::string& table);

    Database& database_;
    TableService& tables_;
    const std::size_t accounts_;
};

}  // namespace rocklock::bench
