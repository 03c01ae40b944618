// The reserve of disk space of a store. It is a preallocated file. This class also decides whether
// the store accepts more data.
//
// The state depends on three numbers: R, the size of the reserve; `file`, the allocated size of the
// file; and `free`, the free space of the file system, not counting the file.
//
//     ample ──free + file < 3/2 R──► low: requests that add data are refused
//       ▲                             │ if the disk is full, give() shortens the file
//       └──file is whole again, ◄─────┘
//          and free >= 3/4 R
//
// The thread that writes commits checks the space before a write, if `check_bytes` bytes were
// written or `check_period` has passed since the last check. Therefore, the space of an idle store,
// which does not grow, is not checked. Each write of a compaction also checks the space. While the
// state is `low`, a thread of the reserve checks the space as well. When there is enough space,
// this thread extends the file and ends the state. reserved_files.hpp takes space from the reserve.
//
// If the file system cannot preallocate a file, or the process may not create a file of this size,
// there is no file. In this case, `free` alone is compared with 3/2 R.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "storage/store_thread.hpp"

namespace rocklock {

// Returns the space of the file system that contains `path`, or nullopt if it cannot be determined.
std::optional<FileSystemSpace> file_system_space(const std::string& path);

// Threads:  thread-safe, except for prepare(), which is called by one thread at a time.
// Lifetime: in a forked child of the process, only the destructor may be called, and it has no
//           effect.
class SpaceReserve {
public:
    explicit SpaceReserve(const std::string& directory)
        : directory_(directory), path_(directory + "/RESERVE") {}
    SpaceReserve(const SpaceReserve&) = delete;
    SpaceReserve& operator=(const SpaceReserve&) = delete;
    ~SpaceReserve();

    // Called before the database is opened. Determines the state, so that the recovery of the log
    // can take space from the reserve. If almost no space is free, shortens the file, so that small
    // files can be written while the store is opened.
    void make_room(const RocksdbOptions& options);
    // Called when the database is open. Creates or deletes the file, and starts the thread.
    void start(const RocksdbOptions& options);
    void set_bytes(std::uint64_t bytes);

    // Called before `size` bytes are committed.
    void prepare(std::uint64_t size, std::chrono::steady_clock::time_point now) {
        unchecked_bytes_ += size;
        if (unchecked_bytes_ >= check_bytes || now >= next_check_) check_before_write(now);
    }
    // Checks the space, unless the state is already `low`.
    void check();
    // Shortens the file to make room for `size` more bytes of another file. Returns false if the
    // file of the reserve is empty.
    bool give(std::uint64_t size);
    // Called while the state is `low`, after another file of `size` bytes was deleted. Extends the
    // file of the reserve by the freed space before another program takes this space.
    void take_back(std::uint64_t size);
    bool accepts_growth() const { return !low_.load(std::memory_order_relaxed); }
    Error refusal() const;
    // Returns the space of the file system now, or nullopt if it cannot be determined.
    std::optional<FileSystemSpace> space() const;
    // Returns nullopt if there is no reserve.
    std::optional<SpaceReserveState> state() const;
    // Called after a write has failed. Deletes the file, so that there is enough space to open the
    // store again.
    void abandon() noexcept;

    // The space is checked before a write if this number of bytes was written, or this time has
    // passed, since the last check.
    static constexpr std::uint64_t check_bytes = 1U << 20;
    static constexpr std::chrono::milliseconds check_period{100};
    // The interval between the checks of the reserve's thread while the state is `low`.
    static constexpr std::chrono::milliseconds recheck_period{100};

private:
    void check_before_write(std::chrono::steady_clock::time_point now);
    // Determines the state for a thread that is about to write.
    void judge_for_writer() ROCKLOCK_EXCLUDES(mutex_);
    // Determines the state. `may_extend` states whether the file may be extended to the size of the
    // reserve.
    void judge(bool may_extend) ROCKLOCK_REQUIRES(mutex_);
    bool shorten(std::uint64_t size) ROCKLOCK_REQUIRES(mutex_);
    void extend(std::uint64_t size) ROCKLOCK_REQUIRES(mutex_);
    void remove_file() noexcept ROCKLOCK_REQUIRES(mutex_);
    void run();

    const std::string directory_;
    const std::string path_;
    std::function<void(const SpaceReserveState&)> on_changed_;
    std::function<std::optional<FileSystemSpace>()> given_space_;
    std::atomic<bool> low_{false};
    // The numbers that refusal() uses. They are atomic because refusal() is called while the lock
    // manager's mutex is held.
    std::atomic<std::uint64_t> free_bytes_{0};
    std::atomic<std::uint64_t> needed_bytes_{0};
    // Used by the thread that writes.
    std::uint64_t unchecked_bytes_ = 0;
    std::chrono::steady_clock::time_point next_check_{};
    mutable Mutex mutex_;
    CondVar changed_;
    // The value of the option. 0 means no reserve.
    std::uint64_t wanted_bytes_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    SpaceReserveState state_ ROCKLOCK_GUARDED_BY(mutex_);
    // Whether a file of the size of the reserve cannot be preallocated.
    bool without_file_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool abandoned_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // The state for which on_changed_ was called last.
    bool reported_low_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool stopping_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    StoreThread thread_;
};

}  // namespace rocklock
