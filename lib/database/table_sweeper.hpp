// Calls TableService::sweep_expired() repeatedly on a thread of its own.
#pragma once

#include <thread>

#include <rocklock/items/table.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the tables.
class TableSweeper {
public:
    explicit TableSweeper(TableService& tables) : tables_(tables) {}
    TableSweeper(const TableSweeper&) = delete;
    TableSweeper& operator=(const TableSweeper&) = delete;
    ~TableSweeper() { stop(); }

    // Starts the thread. Later calls have no effect.
    void start() ROCKLOCK_EXCLUDES(mutex_);
    // Stops the thread after the current step.
    void stop() ROCKLOCK_EXCLUDES(mutex_);

private:
    void run() ROCKLOCK_EXCLUDES(mutex_);

    TableService& tables_;
    Mutex mutex_;
    CondVar wake_;
    bool started_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool ending_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::thread thread_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
