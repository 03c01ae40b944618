// The space that the files of a store occupy.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Returns the space that the files in `directory` and in its subdirectories occupy, or nullopt if
// the directory cannot be read. A file that is deleted during the call does not count.
std::optional<std::uint64_t> occupied_bytes(const std::string& directory);

// Threads: thread-safe.
class DiskUse {
public:
    // Sets the sizes in `statistics`. Examines the files at most once in `period`, because a large
    // store has thousands of them.
    void add_to(StorageStatistics& statistics, const std::string& directory,
                std::chrono::steady_clock::time_point now) const;

    static constexpr std::chrono::seconds period{10};

private:
    // Held while the files are examined, so that concurrent callers do not examine them as well.
    mutable Mutex mutex_;
    mutable std::optional<std::uint64_t> bytes_ ROCKLOCK_GUARDED_BY(mutex_);
    mutable std::optional<std::chrono::steady_clock::time_point> examined_
        ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
