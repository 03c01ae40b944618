// The directory of a store: whose it is, whether it is one, and what its last run left behind.
//
//     <directory>/rocklock.pid   locked by the process that has the store open; holds its pid
//                 SYNCED         there unless a write or a sync failed; holds the boot id of the
//                                last open
//                 db/            RocksDB's
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocklock/result.hpp>

#include "base/fork.hpp"

namespace rocklock {

// `what` failed, with errno `number`. Code: read_only, no_space, not_a_store or io_error.
Error system_error(const std::string& what, int number);

// Threads:  one thread, but for remove_marker().
// Lifetime: the store is this process's until it ends. What prepare() made in vain is removed then,
//           unless keep() was called. In a child of the process it does nothing.
class StoreDirectory {
public:
    // Who takes the lock: one who writes; one who looks, and needs no permission to write there; or
    // one who goes without when another process has it.
    enum class Use : std::uint8_t { write, look, beside };

    // Looks at the directory, makes it if it may, and takes the lock.
    // Errors: store_in_use, not_a_store, read_only, corrupt, no_space, io_error.
    static Result<std::unique_ptr<StoreDirectory>> prepare(const std::string& directory,
                                                           bool create_if_missing,
                                                           Use use = Use::write);
    StoreDirectory(const StoreDirectory&) = delete;
    StoreDirectory& operator=(const StoreDirectory&) = delete;
    ~StoreDirectory();

    std::string database() const { return path_ + "/db"; }
    // Whether RocksDB has been here before.
    bool existing() const { return existing_; }
    void keep() { kept_ = true; }

    // The boot id in SYNCED; nothing without the file.
    const std::optional<std::string>& marker() const { return marker_; }
    // Makes the file anew, and its entry in the directory durable.
    Result<void> write_marker(const std::string& boot_id);
    void remove_marker() noexcept;
    // From now on remove_marker() does nothing: whoever only looks changes nothing.
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
    MadeHere made_here_;
    int lock_ = -1;
    bool made_directory_ = false;
    bool made_pid_file_ = false;
    bool existing_ = false;
    bool kept_ = false;
    bool leaves_marker_ = false;
    std::optional<std::string> marker_;
};

// The process that holds RocksDB's own lock on `database`, if there is one.
std::optional<std::int64_t> holder_of_database(const std::string& database);

}  // namespace rocklock
