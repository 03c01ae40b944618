// The directory of a store. StoreDirectory determines which process has the store open, whether the
// directory contains a store, and how the last run ended.
//
//     <directory>/rocklock.pid   locked by the process that has the store open; contains its pid
//                 SYNCED         contains the boot id of the machine at the last open. A failed
//                                write or sync deletes the file, and copy_to() does not create it.
//                                In both cases, it is absent until a call of mark_sound() succeeds
//                 db/            the files of RocksDB
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocklock/result.hpp>

#include "base/fork.hpp"

namespace rocklock {

// Returns an error for a failed system call. The message begins with `what`, such as "cannot open
// PATH"; `number` is the errno. The code is read_only, no_space, not_a_store or io_error.
Error system_error(const std::string& what, int number);

// Threads:  one thread, except for remove_marker().
// Lifetime: the store is locked until this object is destroyed. Unless keep() was called, the
//           destructor removes the files that prepare() has created. If there was no database
//           before, it also removes the database. In a forked child of the process, the destructor
//           does nothing.
class StoreDirectory {
public:
    // write:       locks the store. Fails if the directory is not writable.
    // read_only:   locks the store. Needs no permission to write.
    // read_shared: as `read_only`. If another process has the lock, or if rocklock.pid cannot be
    //              opened, continues without the lock.
    enum class Use : std::uint8_t { write, read_only, read_shared };

    // Checks the directory, creates it if `create_if_missing` is true, and locks it.
    // Errors: store_in_use, not_a_store, read_only, corrupt, no_space, io_error.
    static Result<std::unique_ptr<StoreDirectory>> prepare(const std::string& directory,
                                                           bool create_if_missing,
                                                           Use use = Use::write);
    StoreDirectory(const StoreDirectory&) = delete;
    StoreDirectory& operator=(const StoreDirectory&) = delete;
    ~StoreDirectory();

    const std::string& path() const { return path_; }
    std::string database() const { return path_ + "/db"; }
    // Returns whether the directory contained a database when prepare() was called.
    bool existing() const { return existing_; }
    // After this call, the destructor removes no files.
    void keep() { kept_ = true; }

    // Returns the boot id that SYNCED contained when prepare() was called, or that write_marker()
    // has written since then. Returns nullopt if the file did not exist.
    const std::optional<std::string>& marker() const { return marker_; }
    // Writes SYNCED, and syncs the file and its directory entry. Errors: as system_error().
    Result<void> write_marker(const std::string& boot_id);
    // Deletes SYNCED. marker() does not change.
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

// Returns the pid of the process that holds RocksDB's own lock on the directory `database`. Returns
// nullopt if there is no such process, or if it is unknown.
std::optional<std::int64_t> holder_of_database(const std::string& database);

}  // namespace rocklock
