// Syncs the files of a commit log in another thread while a store is opened.
#pragma once

#include <string>
#include <thread>

#include <rocklock/result.hpp>

namespace rocklock {

// Syncs a file or a directory. Errors: as system_error().
Result<void> sync_file(const std::string& path);

// Syncs a directory and the files of the commit log in it. The caller must hold the lock of the
// store, so that no other process appends to the files.
//
// Threads: one at a time. The destructor waits for the end of the sync.
class LogSync {
public:
    // Starts the sync. If no thread can be started, finish() makes it.
    explicit LogSync(std::string directory);
    LogSync(const LogSync&) = delete;
    LogSync& operator=(const LogSync&) = delete;
    ~LogSync();

    // Waits for the end of the sync. Must be called, because the operating system reports a failed
    // sync only once: a later sync of the same file can succeed although data was lost. Errors: as
    // system_error().
    Result<void> finish();

private:
    void sync();

    const std::string directory_;
    bool done_ = false;
    Result<void> result_;
    std::thread thread_;
};

}  // namespace rocklock
