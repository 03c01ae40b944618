// The versions of items, which one counter for the whole store generates. No two writes have the
// same version, and each write of an item increases the version of the item.
//
// Versions are reserved on disk in large blocks. When the store is opened, the counter continues at
// least at a value that is computed from the wall clock (seconds times 2^21). Therefore, a store
// that is restored from a copy does not repeat versions that were used after the copy was made. All
// versions are below 2^53, the limit of exact integers in JSON.
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

    // Returns a version that is greater than all previous ones. When a block is used up, once in
    // 2^20 calls, waits for the disk.
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
