// The directory of a store: which process has it open, whether it contains a store, and how its
// last run ended.
//
//     <directory>/rocklock.pid   locked by the process that has the store open; contains its pid
//                 SYNCED         exists unless a write or a sync has failed; contains the
//                                boot id of the last open
//                 db/            the files of RocksDB
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocklock/result.hpp>

#include "base/fork.hpp"

namespace rocklock {

// Returns an error for the failure of `what` with the given errno. Code: read_only, no_space,
// not_a_store or io_error.
Error system_error(const std::string& what, int number);

// Threads:  one thread, except for remove_marker().
// Lifetime: locks the store until it is destroyed. The destructor removes the files that prepare()
//           has created, unless keep() was called. In a child of the process, it does nothing.
class StoreDirectory {
public:
    // write:       locks the store; fails if the directory is not writable.
    // read_only:   locks the store; needs no permission to write.
    // read_shared: as `read_only`, but continues without the lock if another process has it.
    enum class Use : std::uint8_t { write, read_only, read_shared };

    // Checks the directory, creates it if `create_if_missing` is true, and locks it.
    // Errors: store_in_use, not_a_store, read_only, corrupt, no_space, io_error.
    static Result<std::unique_ptr<StoreDirectory>> prepare(const std::string& directory,
                                                           bool create_if_missing,
                                                           Use use = Use::write);
    StoreDirectory(const StoreDirectory&) = delete;
    StoreDirectory& operator=(const StoreDirectory&) = delete;
    ~StoreDirectory();

    std::string database() const { return path_ + "/db"; }
    // Returns whether the directory contained a database when prepare() was called.
    bool existing() const { return existing_; }
    // The destructor does not remove the created files.
    void keep() { kept_ = true; }

    // Returns the boot id in SYNCED, or none if the file does not exist.
    const std::optional<std::string>& marker() const { return marker_; }
    // Writes SYNCED and makes it and its directory entry durable.
    Result<void> write_marker(const std::string& boot_id);
    void remove_marker() noexcept;
    // Disables remove_marker(), for a reader that must not change the store.
    void leave_marker() { leaves_marker_ = true; }

private:
    explicit StoreDirectory(std::string path) : path_(std::move(path)) {}

    Result<void> find_or_make(bool create_if_missing);
    Result<void> inspect(bool create_if_missing);
    bool has_database() const;
    Result<void> inspect_database();
    Result<void> require_writable() const;
    Result<void> take_lock();
    Result<void> lock_for_reading(Use use);
    Result<void> lock_file(int number);
    Error in_use() const;
    std::string pid_file() const { return path_ + "/rocklock.pid"; }
    std::string marker_file() const { return path_ + "/SYNCED"; }

    std::string path_;
    ForkCheck fork_check_;
    int lock_ = -1;
    bool made_directory_ = false;
    bool made_pid_file_ = false;
    bool existing_ = false;
    bool kept_ = false;
    bool leaves_marker_ = false;
    std::optional<std::string> marker_;
};

// Returns the process that holds RocksDB's own lock on `database`, if there is one.
std::optional<std::int64_t> holder_of_database(const std::string& database);

}  // namespace rocklock
