// The versions of items: one counter for the whole store, so that no two writes ever have the same,
// and whoever saw an item with some version sees a greater one after each write of it.
//
// Numbers are taken from the disk in large blocks. They begin no lower than the wall clock says
// (seconds times 2^21), so that a store that was put back from a copy does not give those again
// that it gave after the copy was made. All stay below 2^53, as JSON wants it.
#pragma once

#include <cstdint>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"

namespace rocklock::table {

// Threads: thread-safe. Lifetime: borrows the storage.
class Versions {
public:
    explicit Versions(Storage& storage) : storage_(storage) {}

    // Errors: corrupt; those of Storage::get()
    Result<void> open(WallTime now);

    // One that is greater than all that were ever given. Once in a million it waits for the disk.
    //
    // Errors: those of Storage::commit()
    Result<std::uint64_t> next();

private:
    static constexpr std::uint64_t block = 1U << 20;

    Storage& storage_;
    Mutex mutex_;
    std::uint64_t next_ ROCKLOCK_GUARDED_BY(mutex_) = 1;
    // The first one that nobody has put down as taken.
    std::uint64_t reserved_ ROCKLOCK_GUARDED_BY(mutex_) = 1;
};

}  // namespace rocklock::table
