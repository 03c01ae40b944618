// The versions of items: one counter for the whole store. No two writes have the same version, and
// each write of an item increases its version.
//
// Numbers are reserved on disk in large blocks. They begin at least at a value computed from the
// wall clock (seconds times 2^21): a store that is restored from a copy does not repeat versions
// that were used after the copy was made. All versions are below 2^53, the limit of exact integers
// in JSON.
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

    // Returns a version greater than all previous ones. Waits for the disk when a block is used up,
    // once in 2^20 calls.
    //
    // Errors: those of Storage::commit()
    Result<std::uint64_t> next();

private:
    static constexpr std::uint64_t block = 1U << 20;

    Storage& storage_;
    Mutex mutex_;
    std::uint64_t next_ ROCKLOCK_GUARDED_BY(mutex_) = 1;
    // The first version that is not reserved on disk.
    std::uint64_t reserved_ ROCKLOCK_GUARDED_BY(mutex_) = 1;
};

}  // namespace rocklock::table
